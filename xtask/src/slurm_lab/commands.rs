//! Running programs of the cluster's root, from inside of it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::TaskError;

/// Where programs are, there.
pub(super) const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Runs a program whose arguments have no blanks, and fails unless it succeeds.
pub(super) fn program(line: &str) -> Result<(), TaskError> {
    let mut words = line.split_whitespace();
    let mut command = command(words.next().unwrap_or_default());
    let status = command.args(words).status();
    let status = status.map_err(|source| TaskError::Start { line: line.to_owned(), source })?;
    if status.success() {
        return Ok(());
    }
    Err(TaskError::Program { line: line.to_owned(), status: status.to_string() })
}

/// A program of the root, to be run with its own environment: the outside's is not for it.
pub(super) fn command(name: &str) -> Command {
    let mut command = Command::new(name);
    command.stdin(Stdio::null()).env_clear().env("PATH", PATH).env("HOME", "/root");
    command
}

pub(super) fn write(path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> Result<(), TaskError> {
    let path = path.as_ref();
    fs::write(path, text).map_err(TaskError::file("write", path))
}
