//! `imex slurm`: domains of jobs, and Slurm's settings for them.
//!
//! Each command is a file: it reads, asks [`imex_slurm`], and writes what it found.

pub(crate) mod args;
mod check;
mod settings;

use std::io::Write;

pub(crate) use args::{SlurmArgs, SlurmCommand};

use crate::exit::Exit;
use crate::failure::Stop;

/// Runs a command. What is not part of its answer goes to `err`.
pub(crate) fn run(command: &SlurmCommand, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Stop> {
    match command {
        SlurmCommand::Settings(args) => settings::run(args, out, err),
        SlurmCommand::Check(args) => check::run(args, out),
    }
}
