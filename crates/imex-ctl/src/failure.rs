//! Why `imexctl` fails, with which exit code, and how it says so.

use std::io;

use imex_config::{ClientError as SettingsError, chain};
use imex_core::DomainTable;
use imex_wire::{ClientError, Endpoint};
use thiserror::Error;

use crate::args;
use crate::exit::Exit;

/// Why what was asked for could not be printed.
#[derive(Debug, Error)]
pub enum Failure {
    /// There are no settings. The text is what monitors look for.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The node map is longer than any whose table could be shown.
    #[error(
        "failed to make a table: the node map has {nodes} entries, at most {} are shown",
        DomainTable::MOST_NODES
    )]
    TooLarge {
        /// How many nodes it has.
        nodes: usize,
    },
    /// The daemon does not answer.
    #[error("failed to ask the daemon")]
    Unreachable(#[from] ClientError),
    /// The output cannot be written.
    #[error("failed to write the output")]
    Output(#[source] io::Error),
    /// The system gave this program no event queue, timer or signal.
    #[error("failed to start")]
    System(#[source] io::Error),
}

impl Failure {
    /// The exit code.
    pub fn exit(&self) -> Exit {
        match self {
            Failure::Settings(SettingsError::Config { .. }) => Exit::Config,
            Failure::Settings(SettingsError::NodeMap { .. }) | Failure::TooLarge { .. } => Exit::NodeMap,
            Failure::Unreachable(ClientError::NoCredentials { .. }) => Exit::NoCredentials,
            Failure::Unreachable(ClientError::Untrusted { .. }) => Exit::Untrusted,
            Failure::Unreachable(_) => Exit::Unreachable,
            // Whoever closed the pipe has what it wanted.
            Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Success,
            Failure::Output(_) => Exit::Output,
            Failure::System(_) => Exit::System,
        }
    }

    /// What standard error gets: the chain of causes, what to do about it, and the usage if there is no configuration.
    /// Empty if there is nothing to say.
    pub(crate) fn text(&self) -> String {
        match (self, self.exit()) {
            (_, Exit::Success) => String::new(),
            (Failure::Settings(SettingsError::Config { .. }), _) => {
                format!("{}\n\n{}", chain(self), args::usage())
            }
            (Failure::Unreachable(error), _) => format!("imexctl: {}\n{}", chain(self), hint(error)),
            _ => format!("imexctl: {}\n", chain(self)),
        }
    }
}

/// What to do about a daemon that does not answer: a line, or nothing.
fn hint(error: &ClientError) -> &'static str {
    match error {
        ClientError::NoSocket { .. } | ClientError::Refused { .. } => {
            "  hint: the daemon is not running, or its command service is elsewhere\n"
        }
        ClientError::NotPermitted { endpoint: Endpoint::Tcp(_) } => {
            "  hint: a firewall, or another rule of this machine, forbids it\n"
        }
        ClientError::NotPermitted { endpoint: Endpoint::Unix(_) } => {
            "  hint: ask as the daemon's user or group; OPENIMEX_CMD_SOCKET_MODE says who else may\n"
        }
        ClientError::NoCredentials { .. } => {
            "  hint: ask on the daemon's machine, or as a user who can read what the configuration names\n"
        }
        ClientError::Untrusted { .. } => {
            "  hint: imex pki show tells what a certificate is good for, and until when\n"
        }
        ClientError::Protocol { endpoint: Endpoint::Tcp(_), .. }
        | ClientError::Broken { endpoint: Endpoint::Tcp(_) } => {
            "  hint: what listens there may want security, which this configuration does not ask for\n"
        }
        ClientError::Unreachable { .. }
        | ClientError::Deadline { .. }
        | ClientError::Declined { .. }
        | ClientError::Broken { .. }
        | ClientError::Protocol { .. } => "",
    }
}
