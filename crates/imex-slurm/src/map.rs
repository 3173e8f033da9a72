//! The two files of the service, as the prolog changes them: whole, or not at all.
//!
//! In `config.cfg` single keys are set and everything else stays as its administrator wrote it. A file that says already
//! what it should is not written again.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use imex_config::keys;
use imex_config::operator::{Port, Provider, ServicePolicy};
use imex_config::replace::ReplaceError;
use imex_config::service::{ServiceFile, SetError};
use imex_config::text::TextError;
use imex_core::{NodeMap, map::NodeMapError};
use serde::Serialize;
use thiserror::Error;

use crate::peers::Peer;
use crate::port::rotated;

/// A key of `config.cfg` and what it is to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The key.
    pub key: &'static str,
    /// Its value.
    pub value: String,
}

/// Whether a file had to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Written {
    /// It was.
    Now,
    /// It said so already.
    Before,
}

/// Why a file is not as it should be.
#[derive(Debug, Error)]
pub enum FilesError {
    /// It cannot be read.
    #[error("{} cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is no text.
    #[error("{} cannot be used", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: TextError,
    },
    /// A value cannot stand in it.
    #[error("{} cannot be changed", path.display())]
    Set {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: SetError,
    },
    /// The list of nodes is none.
    #[error("the job's nodes are no node map")]
    Map(#[from] NodeMapError),
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] ReplaceError),
}

/// The node map of some peers.
///
/// # Errors
///
/// If there are none, too many, or two are the same.
pub fn node_map(peers: &[Peer]) -> Result<NodeMap, FilesError> {
    Ok(NodeMap::new(peers.iter().map(|peer| peer.address.to_string()))?)
}

/// The text of a node map's file.
pub fn text(map: &NodeMap) -> String {
    map.iter().map(|(_, entry)| format!("{entry}\n")).collect()
}

/// What the keys of `config.cfg` are to be for a job. `token` is what tells its domain from others.
pub fn settings(policy: &ServicePolicy, job: u32, token: &str, file: &ServiceFile) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut set = |key: &keys::Key, value: String| settings.push(Setting { key: key.name, value });
    if let Some(path) = &policy.node_map {
        set(&keys::table::IMEX_NODE_CONFIG_FILE, path.display().to_string());
    }
    if policy.port == Port::Rotate {
        set(&keys::table::SERVER_PORT, rotated(job).to_string());
    }
    match policy.provider {
        Provider::Imexd => {
            set(&keys::table::OPENIMEX_DOMAIN_TOKEN, token.to_owned());
            if policy.munge {
                set(&keys::table::OPENIMEX_AUTH, "munge".to_owned());
            }
        }
        // The control tool asks every node on its command port; what is set already is another's choice.
        Provider::NvidiaImex => {
            set(&keys::table::IMEX_CMD_ENABLED, "1".to_owned());
            let port = &keys::table::IMEX_CMD_PORT;
            if file.get(port.name).is_none_or(|set| set.value.is_empty()) {
                set(port, port.default.to_owned());
            }
        }
    }
    settings
}

/// What keys of the job's were before they are set: by name, none if they are not there. Where the node map is and how the tool
/// asks are the site's, and stay.
pub fn before(file: &ServiceFile, settings: &[Setting]) -> BTreeMap<String, Option<String>> {
    let value = |key: &str| file.get(key).map(|set| set.value.to_owned());
    let of_job = [keys::table::SERVER_PORT.name, keys::table::OPENIMEX_AUTH.name];
    let set = settings.iter().map(|setting| setting.key).filter(|key| of_job.contains(key));
    set.map(|key| (key.to_owned(), value(key))).collect()
}

/// What the keys are to be when no job has the node: no token, and what the prolog has set as it was before. A key that was
/// not there gets its default.
pub fn settings_without_job(
    policy: &ServicePolicy,
    before: &BTreeMap<String, Option<String>>,
) -> Vec<Setting> {
    let token = &keys::table::OPENIMEX_DOMAIN_TOKEN;
    let restored = before.iter().filter_map(|(key, value)| {
        let key = keys::find(key)?;
        Some(Setting { key: key.name, value: value.clone().unwrap_or_else(|| key.default.to_owned()) })
    });
    let own = match policy.provider {
        Provider::Imexd => Some(Setting { key: token.name, value: String::new() }),
        Provider::NvidiaImex => None,
    };
    own.into_iter().chain(restored).collect()
}

/// Reads a configuration file; one that is not there is empty.
///
/// # Errors
///
/// If it cannot be read or is no text.
pub fn read_config(path: &Path) -> Result<ServiceFile, FilesError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(source) => return Err(FilesError::Read { path: path.to_owned(), source }),
    };
    ServiceFile::parse(&bytes).map_err(|source| FilesError::Text { path: path.to_owned(), source })
}

/// Sets keys of a configuration file.
///
/// # Errors
///
/// If it cannot be changed; it is then as it was.
pub fn configure(path: &Path, file: &ServiceFile, settings: &[Setting]) -> Result<Written, FilesError> {
    let mut changed = file.clone();
    for Setting { key, value } in settings {
        // A key that is empty by default need not stand there for being empty.
        let is_default = value.is_empty() && file.get(key).is_none();
        if !is_default && file.get(key).is_none_or(|set| set.value != value) {
            changed.set(key, value).map_err(|source| FilesError::Set { path: path.to_owned(), source })?;
        }
    }
    if changed == *file {
        return Ok(Written::Before);
    }
    imex_config::replace(path, changed.to_string().as_bytes())?;
    Ok(Written::Now)
}

/// Writes a node map's file.
///
/// # Errors
///
/// If it cannot be written; it is then as it was.
pub fn write_map(path: &Path, text: &str) -> Result<Written, FilesError> {
    if fs::read(path).is_ok_and(|held| held == text.as_bytes()) {
        return Ok(Written::Before);
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|source| FilesError::Read { path: folder.to_owned(), source })?;
    }
    imex_config::replace(path, text.as_bytes())?;
    Ok(Written::Now)
}

/// Where the node map is: where policy says, or else the configuration file, or else by default.
pub fn map_path(policy: &ServicePolicy, file: &ServiceFile) -> PathBuf {
    let key = &keys::table::IMEX_NODE_CONFIG_FILE;
    let told = file.get(key.name).map(|set| set.value).filter(|value| !value.is_empty());
    policy.node_map.clone().unwrap_or_else(|| told.unwrap_or(key.default).into())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use imex_config::Operator;

    use super::*;

    const CONFIG: &str = "# site\nSERVER_PORT=50000\nLOG_LEVEL=4\n";

    #[test]
    fn a_job_changes_its_keys_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.cfg");
        fs::write(&path, CONFIG).unwrap();
        let policy = policy("service.port = \"rotate\"");
        let file = read_config(&path).unwrap();
        let settings = settings(&policy, 7, "lab/7/0", &file);
        assert_eq!(configure(&path, &file, &settings).unwrap(), Written::Now);
        let expected = "# site\nSERVER_PORT=33799\nLOG_LEVEL=4\nOPENIMEX_DOMAIN_TOKEN=lab/7/0\n";
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        let again = configure(&path, &read_config(&path).unwrap(), &settings).unwrap();
        assert_eq!(again, Written::Before);
        let reset = settings_without_job(&policy, &before(&file, &settings));
        assert_eq!(configure(&path, &read_config(&path).unwrap(), &reset).unwrap(), Written::Now);
        let expected = format!("{CONFIG}OPENIMEX_DOMAIN_TOKEN=\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    }

    #[test]
    fn nvidias_service_gets_none_of_our_keys() {
        let policy = policy("service.provider = \"nvidia-imex\"\nauth.munge = true");
        let keys = |config: &str| -> Vec<String> {
            let file = ServiceFile::parse(config.as_bytes()).unwrap();
            settings(&policy, 7, "lab/7/0", &file)
                .into_iter()
                .map(|s| format!("{}={}", s.key, s.value))
                .collect()
        };
        assert_eq!(keys(CONFIG), ["IMEX_CMD_ENABLED=1", "IMEX_CMD_PORT=50005"]);
        assert_eq!(keys("IMEX_CMD_PORT=5\n"), ["IMEX_CMD_ENABLED=1"]);
        assert_eq!(settings_without_job(&policy, &BTreeMap::new()), []);
    }

    #[test]
    fn munge_is_chosen_where_policy_says() {
        let policy = policy("auth.munge = true");
        let settings = settings(&policy, 7, "t", &ServiceFile::parse(b"").unwrap());
        assert_eq!(settings[1], Setting { key: "OPENIMEX_AUTH", value: "munge".to_owned() });
    }

    #[test]
    fn the_map_is_where_policy_or_the_configuration_says() {
        let file = ServiceFile::parse(b"IMEX_NODE_CONFIG_FILE=/a\n").unwrap();
        let empty = ServiceFile::parse(b"").unwrap();
        assert_eq!(map_path(&policy(""), &file), Path::new("/a"));
        assert_eq!(map_path(&policy(""), &empty), Path::new("/etc/nvidia-imex/nodes_config.cfg"));
        assert_eq!(map_path(&policy("service.node_map = \"/b\""), &file), Path::new("/b"));
    }

    #[test]
    fn the_map_has_an_address_a_line() {
        let peer =
            |node: &str, address: &str| Peer { node: node.to_owned(), address: address.parse().unwrap() };
        let map = node_map(&[peer("a", "10.0.0.1"), peer("b", "fd00::2")]).unwrap();
        assert_eq!(text(&map), "10.0.0.1\nfd00::2\n");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/nodes_config.cfg");
        assert_eq!(write_map(&path, &text(&map)).unwrap(), Written::Now);
        assert_eq!(write_map(&path, &text(&map)).unwrap(), Written::Before);
    }

    fn policy(text: &str) -> ServicePolicy {
        Operator::parse(text, Path::new("openimex.toml")).unwrap().service
    }
}
