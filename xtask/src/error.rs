//! Why a task failed.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

/// Why a task failed.
#[derive(Debug, Error)]
pub(crate) enum TaskError {
    /// A check found what it looks for. Each finding is a line of its own.
    #[error("{} found:\n{}", plural(.0.len(), "problem"), .0.join("\n"))]
    Findings(Vec<String>),
    /// A program ended with something other than success.
    #[error("`{line}` ended with {status}")]
    Program {
        /// The command line.
        line: String,
        /// Exit code or signal.
        status: String,
    },
    /// A program did not end in time.
    #[error("`{line}` was still running after {} s and was killed", limit.as_secs())]
    Overdue {
        /// The command line.
        line: String,
        /// The limit.
        limit: Duration,
    },
    /// A program could not be started.
    #[error("start `{line}`")]
    Start {
        /// The command line.
        line: String,
        /// Why.
        source: io::Error,
    },
    /// A file could not be read or written.
    #[error("{what} {}", path.display())]
    File {
        /// The attempted operation, a verb.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A program's output is not what it is known to print.
    #[error("understand what `{line}` printed: {why}")]
    Output {
        /// The command line.
        line: String,
        /// What is wrong with it.
        why: String,
    },
    /// A claim about what was tried does not hold.
    #[error("not so: {0}")]
    NotSo(String),
    /// This machine lacks something, or is not in the state for it.
    #[error("{0}")]
    NotHere(String),
    /// Some steps failed; each was reported when it did.
    #[error("{} failed: {}", plural(.0.len(), "step"), .0.join(", "))]
    Steps(Vec<&'static str>),
    /// There is nothing of that name.
    #[error("there is no {kind} called {name:?}; there are: {}", known.join(", "))]
    Unknown {
        /// What was looked for.
        kind: &'static str,
        /// The name.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
}

impl TaskError {
    /// Success if there are no findings.
    pub(crate) fn from_findings(findings: Vec<String>) -> Result<(), TaskError> {
        if findings.is_empty() { Ok(()) } else { Err(TaskError::Findings(findings)) }
    }

    /// Success if a claim holds; `otherwise` says what was seen instead.
    pub(crate) fn unless(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), TaskError> {
        if holds { Ok(()) } else { Err(TaskError::NotSo(otherwise())) }
    }

    /// The same about one of several things that are tried.
    pub(crate) fn on(self, what: &str) -> TaskError {
        if let TaskError::NotSo(claim) = self { TaskError::NotSo(format!("{what}: {claim}")) } else { self }
    }

    /// For `map_err`: adds to an I/O error what was tried on which file.
    pub(crate) fn file(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> TaskError {
        let path = path.into();
        move |source| TaskError::File { what, path, source }
    }
}

/// `1 step`, `2 steps`.
pub(crate) fn plural(count: usize, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}
