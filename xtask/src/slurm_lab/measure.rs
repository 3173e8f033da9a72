//! What a hook of Slurm's costs: it is started as Slurm would start it, and its costs are noted when it has ended.

use std::fmt;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use crate::clock::Stopwatch;
use crate::error::TaskError;

#[derive(Args)]
pub(super) struct Options {
    /// Where a line is added
    #[arg(long)]
    to: PathBuf,
    /// The hook
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

/// The costs of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Usage {
    /// From start to end, in milliseconds.
    pub(crate) wall: f64,
    /// User and system time of it and of what it waited for, in milliseconds.
    pub(crate) processor: f64,
    /// The most that one of these processes had in memory, in mebibytes.
    pub(crate) memory: f64,
}

/// Runs it, notes its costs, and fails as it does.
pub(super) fn run(options: &Options) -> Result<(), TaskError> {
    let line = options.command.join(" ");
    let (program, arguments) = options.command.split_first().unwrap_or((&line, &[]));
    let running = Stopwatch::start();
    let status = Command::new(program).args(arguments).status();
    let status = status.map_err(|source| TaskError::Start { line: line.clone(), source })?;
    let wall = running.elapsed();
    let used = getrusage(UsageWho::RUSAGE_CHILDREN)
        .map_err(|error| TaskError::NotHere(format!("the costs of `{line}` cannot be had: {error}")))?;
    let processor = used.user_time().num_microseconds() + used.system_time().num_microseconds();
    let usage = Usage {
        wall: wall.as_secs_f64() * 1e3,
        processor: f64::from(i32::try_from(processor).unwrap_or(i32::MAX)) / 1e3,
        memory: f64::from(i32::try_from(used.max_rss()).unwrap_or(i32::MAX)) / 1024.0,
    };
    let file = fs::OpenOptions::new().create(true).append(true).open(&options.to);
    file.and_then(|mut file| writeln!(file, "{usage}")).map_err(TaskError::file("write", &options.to))?;
    if status.success() { Ok(()) } else { Err(TaskError::Program { line, status: status.to_string() }) }
}

/// As in the file.
impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.wall, self.processor, self.memory)
    }
}

impl Usage {
    /// A line of the file.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut numbers = line.split(' ').map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Usage { wall: next()?, processor: next()?, memory: next()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_read_as_they_were_written() {
        let usage = Usage { wall: 120.5, processor: 8.25, memory: 12.0 };
        assert_eq!(Usage::parse(&usage.to_string()), Some(usage));
        assert_eq!(Usage::parse("1 2"), None);
    }
}
