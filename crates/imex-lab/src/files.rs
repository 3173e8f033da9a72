//! What is written before a node starts: the two files that every IMEX daemon reads.

use std::fs;
use std::net::Ipv4Addr;

use crate::layout::{LayoutError, NodePaths, io_error};

/// A key of `config.cfg` with its value.
pub(crate) type Setting = (String, String);

/// Writes a node's files into its new directory: the example configuration with the lab's keys, then `extra`, set in
/// place, and the node map.
pub(crate) fn write(
    paths: &NodePaths,
    lab: &[Setting],
    extra: &[Setting],
    map: &str,
) -> Result<(), LayoutError> {
    fs::create_dir_all(&paths.dir).map_err(io_error(&paths.dir))?;
    let mut text = String::new();
    for (key, value) in lab.iter().chain(extra) {
        text.push_str(&format!("{key}={value}\n"));
    }
    fs::write(&paths.config, text).map_err(io_error(&paths.config))?;
    fs::write(&paths.nodes_config, map).map_err(io_error(&paths.nodes_config))
}

/// The keys that make a daemon a node of a lab.
pub(crate) fn settings(paths: &NodePaths, address: Ipv4Addr, port: u16) -> Vec<Setting> {
    let path = |path: &std::path::Path| path.display().to_string();
    [
        ("DAEMONIZE", "0".to_owned()),
        ("LOG_FILE_NAME", path(&paths.log)),
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
