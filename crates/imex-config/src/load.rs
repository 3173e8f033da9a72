//! From the path of a configuration file to settings, or to every reason why not.

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::chain::chain;
use crate::client::{ClientSettings, SecurityUnusable};
use crate::file::{self, FileError};
use crate::machine::Machine;
use crate::nodes::{self, NodeFile, parse_nodes};
use crate::problem::{Problem, Problems, Severity};
use crate::resolve::{self, Written, resolve, resolve_client, resolve_client_security};
use crate::security::Security;
use crate::service::ServiceFile;
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
///
/// The texts begin as those of NVIDIA's tool do, because monitors look for them (DCGM takes the second for "not
/// configured").
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
/// Nothing is opened for writing, bound or created. May take as long as the resolver does if the node map holds host
/// names.
pub fn load(config: &Path, overrides: &Overrides, machine: &impl Machine) -> Loaded {
    let service = match read_service(config) {
        Ok(service) => service,
        Err(error) => {
            let mut problems = Problems::default();
            problems.push(unread(config, &error, Role::Service));
            return Loaded { settings: None, problems };
        }
    };
    let nodes_path = resolve::nodes_path(&service);
    let (nodes, unread) = match read_nodes(&nodes_path) {
        Ok(nodes) => (Some(nodes), None),
        Err(error) => (None, Some(unread(&nodes_path, &error, Role::Nodes))),
    };
    let written = Written { service_path: config.to_owned(), service, nodes_path, nodes };
    let (settings, mut problems) = resolve(&written, overrides, machine);
    if let Some(problem) = unread {
        problems.push(problem);
    }
    Loaded { settings, problems }
}

/// Loads what a control tool needs. Looks up no name, so it never waits.
pub fn load_client(config: &Path, machine: &impl Machine) -> Result<ClientLoaded, ClientError> {
    let service =
        read_service(config).map_err(|source| ClientError::Config { path: config.to_owned(), source })?;
    let nodes_path = resolve::nodes_path(&service);
    let unreadable = |source| ClientError::NodeMap { path: nodes_path.clone(), source };
    let nodes = read_nodes(&nodes_path).map_err(|error| unreadable(error.into()))?;
    let Some(map) = nodes.map().cloned() else {
        let mut problems = Problems::default();
        nodes.report(&nodes_path, &mut problems);
        return Err(unreadable(NodeMapUnreadable::Faults { problems }));
    };
    let written = Written { service_path: config.to_owned(), service, nodes_path, nodes: Some(nodes) };
    let (settings, problems) = resolve_client(&written, &map, machine);
    Ok(ClientLoaded { settings, problems })
}

/// How to ask daemons of other machines securely, as a configuration file of this machine says. Without the file nothing
/// is known of any security.
pub fn load_client_security(config: &Path, machine: &impl Machine) -> Result<Security, SecurityUnusable> {
    match read_service(config) {
        Ok(service) => resolve_client_security(&service, config, machine),
        Err(FileError::Missing) => Ok(Security::Off),
        Err(error) => Err(SecurityUnusable { what: format!("{}: {}", config.display(), chain(&error)) }),
    }
}

/// Reads a configuration file without judging it: for tools that set a key.
pub fn read_service(path: &Path) -> Result<ServiceFile, FileError> {
    Ok(ServiceFile::parse(&file::read(path, ServiceFile::MAX_BYTES)?)?)
}

/// Reads a node file; faults in its lines are kept in the result.
pub fn read_nodes(path: &Path) -> Result<NodeFile, FileError> {
    Ok(parse_nodes(&file::read(path, nodes::MAX_BYTES)?)?)
}

/// What a file is for, which decides the advice when it cannot be read.
#[derive(Clone, Copy, Debug)]
enum Role {
    Service,
    Nodes,
}

fn unread(path: &Path, error: &FileError, role: Role) -> Problem {
    let what = match error {
        FileError::Io(source) => format!("{error}: {source}"),
        FileError::Missing
        | FileError::Denied
        | FileError::Directory
        | FileError::Special
        | FileError::Text(_) => error.to_string(),
    };
    let hint = match (error, role) {
        (FileError::Missing, Role::Service) => {
            "copy the example config.cfg there, or name another file with -c"
        }
        (FileError::Missing, Role::Nodes) => {
            "write it, one node per line, or name another file in IMEX_NODE_CONFIG_FILE"
        }
        (FileError::Denied, _) => "run as the user that owns it, usually root, or make it readable",
        (FileError::Directory | FileError::Special, Role::Service) => "name the file itself with -c",
        (FileError::Directory | FileError::Special, Role::Nodes) => {
            "name the file itself in IMEX_NODE_CONFIG_FILE"
        }
        (FileError::Io(_), _) => "the system's log may say more",
        (FileError::Text(error), _) => error.hint(),
    };
    Problem::new(Severity::Error, path, what).at(error.line()).hint(hint.to_owned())
}
