//! How a command fails: with a number, a reason, and what to do about it.

use std::error::Error;
use std::io::{self, Write};

use imex_config::chain;
use imex_lab::{ControlError, LayoutError, NodeError, Refused, RefusedWhy, StartError};
use serde::{Deserialize, Serialize};

use crate::exit::Exit;

/// How a command ended early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It failed.
    Failed(Failure),
    /// Nobody takes its output.
    Output(io::Error),
}

/// A command's failure, ready for the edge of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    #[serde(rename = "exit_code")]
    exit: Exit,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Failure {
    /// A failure because of `error`, whose sources are told along.
    pub(crate) fn new(exit: Exit, error: &dyn Error) -> Self {
        Failure { exit, message: chain(error), hint: None }
    }

    /// A failure with a reason of its own.
    pub(crate) fn because(exit: Exit, message: impl Into<String>) -> Self {
        Failure { exit, message: message.into(), hint: None }
    }

    /// The same, about something with this name.
    pub(crate) fn about(mut self, name: &str) -> Self {
        self.message = format!("{name}: {}", self.message);
        self
    }

    /// With what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Why it is.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Its number.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// Writes it for people as one line of many, about `name`, its hint below.
    pub(crate) fn write_about(&self, name: &str, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{name}: {}", self.message)?;
        match &self.hint {
            Some(hint) => writeln!(out, "  hint: {hint}"),
            None => Ok(()),
        }
    }

    /// Writes it for people.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_about("imex", out)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Stop::Output(error)
    }
}

impl<E: Into<Failure>> From<E> for Stop {
    fn from(error: E) -> Self {
        Stop::Failed(error.into())
    }
}

impl From<LayoutError> for Failure {
    fn from(error: LayoutError) -> Self {
        let exit = match &error {
            LayoutError::Runs { .. } => Exit::LabRuns,
            LayoutError::NotALab { .. } | LayoutError::Ended { .. } => Exit::NoLab,
            LayoutError::NotEmpty { .. } | LayoutError::SocketPathTooLong { .. } | LayoutError::Io { .. } => {
                Exit::LabFailed
            }
        };
        Failure::new(exit, &error).hint(error.hint())
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Layout(error) => error.into(),
            StartError::Node(error) => error.into(),
            StartError::Nodes { .. } => Failure::new(Exit::Usage, &error).hint(error.hint()),
            StartError::Program { .. } | StartError::Files(_) | StartError::Address(_) => {
                Failure::new(Exit::LabFailed, &error).hint(error.hint())
            }
        }
    }
}

impl From<NodeError> for Failure {
    fn from(error: NodeError) -> Self {
        let exit = match &error {
            NodeError::OutOfRange { .. } => Exit::NoSuchNode,
            NodeError::Runs { .. } | NodeError::Dead { .. } => Exit::NodeState,
            NodeError::Start { .. } | NodeError::Signal { .. } => Exit::LabFailed,
        };
        Failure::new(exit, &error).hint(error.hint())
    }
}

impl From<ControlError> for Failure {
    fn from(error: ControlError) -> Self {
        let exit = match error {
            ControlError::Layout(error) => return error.into(),
            ControlError::Refused(Refused { why, .. }) => match why {
                RefusedWhy::NoSuchNode => Exit::NoSuchNode,
                RefusedWhy::NodeRuns | RefusedWhy::NodeDead => Exit::NodeState,
                RefusedWhy::System | RefusedWhy::Malformed => Exit::Failed,
            },
            ControlError::NoAnswer { .. }
            | ControlError::Deadline { .. }
            | ControlError::Malformed { .. } => Exit::Failed,
        };
        Failure::new(exit, &error).hint(error.hint())
    }
}
