//! Why a measurement failed.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use imex_lab::{NodeError, StartError, WaitError};
use thiserror::Error;

use crate::error::TaskError;

/// Why a measurement failed.
#[derive(Debug, Error)]
pub(super) enum BenchError {
    #[error("start the lab")]
    Lab(#[from] StartError),
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error("wait for the domain")]
    Wait(#[from] WaitError),
    #[error(transparent)]
    Task(#[from] TaskError),
    /// Not every daemon said it in time.
    #[error("{missing} of {asked} daemons did not say within {} s that the domain is {awaited}", limit.as_secs())]
    Overdue { awaited: &'static str, missing: usize, asked: usize, limit: Duration },
    #[error("start an asynchronous runtime")]
    Runtime(#[source] io::Error),
    #[error("read {}", path.display())]
    Proc { path: PathBuf, source: io::Error },
    /// A program or the kernel wrote something that is not understood.
    #[error("understand {what}: {text:?}")]
    Text { what: &'static str, text: String },
    /// The measurement cannot be made on this machine.
    #[error("this machine does not allow it: {0}")]
    NotHere(String),
    /// There was no run to take a median of.
    #[error("no run was made")]
    NoRun,
}

impl BenchError {
    /// The word in the table.
    pub(super) fn verdict(&self) -> &'static str {
        match self {
            BenchError::NotHere(_) => "not measured",
            BenchError::Lab(_)
            | BenchError::Node(_)
            | BenchError::Wait(_)
            | BenchError::Task(_)
            | BenchError::Overdue { .. }
            | BenchError::Runtime(_)
            | BenchError::Proc { .. }
            | BenchError::Text { .. }
            | BenchError::NoRun => "FAILED",
        }
    }
}
