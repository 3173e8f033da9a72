//! What is written before a node starts: the two files that every IMEX daemon reads.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use imex_config::ServiceFile;
use imex_config::service::SetError;
use thiserror::Error;

use crate::layout::{LayoutError, NodePaths, io_error};

/// A key of `config.cfg` with its value.
pub(crate) type Setting = (String, String);

/// Why a node's files could not be written.
#[derive(Debug, Error)]
pub enum FilesError {
    /// A key or value cannot stand in a configuration file.
    #[error("{key} could not be set in the configuration")]
    Setting {
        /// The key.
        key: String,
        /// Why.
        source: SetError,
    },
    /// A file could not be written.
    #[error(transparent)]
    Layout(#[from] LayoutError),
}

/// Writes a node's files into its new directory: the example configuration with `settings` set in place, and the
/// node map.
pub(crate) fn write<'a>(
    paths: &NodePaths,
    settings: impl Iterator<Item = &'a Setting>,
    map: &str,
) -> Result<(), FilesError> {
    let mut config = example();
    for (key, value) in settings {
        config.set(key, value).map_err(|source| FilesError::Setting { key: key.clone(), source })?;
    }
    fs::create_dir_all(&paths.dir).map_err(io_error(&paths.dir))?;
    fs::write(&paths.config, config.to_string()).map_err(io_error(&paths.config))?;
    fs::write(&paths.nodes_config, map).map_err(io_error(&paths.nodes_config))?;
    Ok(())
}

fn example() -> ServiceFile {
    ServiceFile::parse(imex_config::example().as_bytes()).expect("the example is a configuration file")
}

/// The keys that make a daemon a node of a lab.
pub(crate) fn settings(paths: &NodePaths, address: Ipv4Addr, port: u16) -> Vec<Setting> {
    let path = |path: &Path| path.display().to_string();
    [
        ("DAEMONIZE", "0".to_owned()),
        ("LOG_FILE_NAME", path(&paths.log)),
        ("OPENIMEX_VERBOSE_LOG_FILE_NAME", path(&paths.verbose_log)),
        ("STATS_FILE_NAME", path(&paths.stats)),
        ("BIND_INTERFACE_IP", address.to_string()),
        ("SERVER_PORT", port.to_string()),
        ("IMEX_NODE_CONFIG_FILE", path(&paths.nodes_config)),
        ("IMEX_CMD_ENABLED", "0".to_owned()),
        ("IMEX_CMD_UNIX_DOMAIN_PATH", path(&paths.socket)),
        ("OPENIMEX_PERSIST_FILE", path(&paths.persist)),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into()
}

/// A node map of these addresses.
pub(crate) fn map(addresses: impl Iterator<Item = Ipv4Addr>) -> String {
    addresses.map(|address| format!("{address}\n")).collect()
}
