//! The one place where errors of this project become gRPC statuses, and back.

use thiserror::Error;
use tonic::{Code, Status};

/// Why a daemon does not answer a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CommandError {
    /// Too many askers at once.
    #[error("the daemon is answering too many others")]
    Busy,
    /// It is shutting down.
    #[error("the daemon is shutting down")]
    Leaving,
    /// The domain has more nodes than [`DomainTable::MOST_NODES`](imex_core::DomainTable::MOST_NODES).
    #[error("the domain has too many nodes for a table")]
    TooLarge,
}

impl CommandError {
    const ALL: [CommandError; 3] = [CommandError::Busy, CommandError::Leaving, CommandError::TooLarge];

    fn code(self) -> Code {
        match self {
            CommandError::Busy => Code::ResourceExhausted,
            CommandError::Leaving => Code::Unavailable,
            CommandError::TooLarge => Code::FailedPrecondition,
        }
    }

    /// What a daemon meant by a status, or `None` if no daemon of this project says it.
    pub(crate) fn from_status(status: &Status) -> Option<Self> {
        Self::ALL.into_iter().find(|error| error.code() == status.code())
    }
}

impl From<CommandError> for Status {
    fn from(error: CommandError) -> Self {
        Status::new(error.code(), error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_comes_back_as_itself() {
        for error in CommandError::ALL {
            assert_eq!(CommandError::from_status(&error.into()), Some(error));
        }
    }
}
