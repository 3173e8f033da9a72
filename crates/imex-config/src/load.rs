//! From the path of a configuration file to settings, or to every reason why not.

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::client::ClientSettings;
use crate::file::FileError;
use crate::machine::Machine;
use crate::problem::{Problem, Problems, Severity};
use crate::settings::{Overrides, Settings};

/// Where the configuration file is unless something else is said.
pub const DEFAULT_CONFIG: &str = "/etc/nvidia-imex/config.cfg";

/// What loading gives to a daemon.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The settings, unless a problem is an error.
    pub settings: Option<Settings>,
    /// All problems of both files.
    pub problems: Problems,
}

/// What loading gives to a control tool.
#[derive(Clone, Debug)]
pub struct ClientLoaded {
    /// The settings.
    pub settings: ClientSettings,
    /// All problems of both files as far as they were looked at; errors among them did not stand in the way.
    pub problems: Problems,
}

/// Why a control tool has no settings.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The configuration file cannot be read.
    #[error("Unable to open configuration file at {}", path.display())]
    Config {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: FileError,
    },
    /// The node map cannot be read: `imexctl` ends with 255.
    #[error("Failed to read node configuration file {}", path.display())]
    NodeMap {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: NodeMapUnreadable,
    },
}

/// Why there is no node map.
#[derive(Debug, Error)]
pub enum NodeMapUnreadable {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It was read, but its lines make no map.
    #[error("{problems}")]
    Faults {
        /// What is wrong with it.
        problems: Problems,
    },
}

/// Loads everything for a daemon: reads both files, judges them, and looks at the machine.
///
/// Nothing is opened, bound or created. May take as long as the resolver does if the node map holds host names.
pub fn load(config: &Path, overrides: &Overrides, machine: &impl Machine) -> Loaded {
    let _ = (overrides, machine);
    let mut problems = Problems::default();
    problems.push(Problem::new(Severity::Error, config, "cannot be resolved yet"));
    Loaded {
        settings: None,
        problems,
    }
}

/// Loads what a control tool needs. Looks up no name, so it never waits.
pub fn load_client(config: &Path, machine: &impl Machine) -> Result<ClientLoaded, ClientError> {
    let _ = machine;
    Err(ClientError::Config {
        path: config.to_owned(),
        source: FileError::Missing,
    })
}
