//! The one place where errors of this project become gRPC statuses, and back.

use thiserror::Error;

/// Why a daemon does not answer a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CommandError {
    /// Too many askers at once.
    #[error("the daemon is answering too many others")]
    Busy,
    /// It is shutting down.
    #[error("the daemon is shutting down")]
    Leaving,
}
