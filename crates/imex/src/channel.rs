//! `imex channel`: the device nodes without which no program can share GPU memory between machines.
//!
//! Each command is a file: it looks by [`place`], asks [`imex_host::channel`], and writes what it found.

pub(crate) mod args;
mod check;
mod create;
mod list;
mod place;
mod remove;

use std::io::Write;

use imex_host::channel::{BeyondLimit, ChannelError, Fault};

pub(crate) use args::{ChannelArgs, ChannelCommand};

use crate::exit::Exit;
use crate::failure::{Failure, Stop};

/// Runs a command.
pub(crate) fn run(command: &ChannelCommand, out: &mut dyn Write) -> Result<Exit, Stop> {
    match command {
        ChannelCommand::List(args) => list::run(args, out),
        ChannelCommand::Create(args) => create::run(args, out),
        ChannelCommand::Remove(args) => remove::run(args, out),
        ChannelCommand::Check(args) => check::run(args, out),
    }
}

/// What a channel that cannot be worked on means for the exit code.
fn failure(error: &ChannelError) -> Failure {
    match error {
        ChannelError::NotAFolder { .. } | ChannelError::NotADevice { .. } => {
            Failure::new(Exit::NotADevice, error).hint("look at what it is, and move it away")
        }
        ChannelError::Contended { .. } => Failure::new(Exit::Failed, error),
        ChannelError::Io { source, .. } => {
            let failure = Failure::new(Exit::Failed, error);
            if source.kind() == std::io::ErrorKind::PermissionDenied {
                return failure.hint("channels are made and removed by root");
            }
            failure
        }
    }
}

fn beyond(error: &BeyondLimit) -> Exit {
    match error {
        BeyondLimit::SwitchedOff => Exit::NoChannels,
        BeyondLimit::TooHigh { .. } => Exit::BeyondChannels,
    }
}

/// The gravest of a channel's faults, as an exit code.
fn gravest(faults: &[Fault]) -> Exit {
    let missing = |fault: &Fault| matches!(fault, Fault::Missing | Fault::FolderMissing);
    let no_device = |fault: &Fault| matches!(fault, Fault::Kind { found } if !found.is_device());
    match faults {
        [] => Exit::Done,
        faults if faults.iter().any(missing) => Exit::ChannelMissing,
        faults if faults.iter().any(no_device) => Exit::NotADevice,
        _ => Exit::ChannelWrong,
    }
}

/// Faults as people read them.
fn told(faults: &[Fault]) -> String {
    faults.iter().map(Fault::to_string).collect::<Vec<_>>().join("; ")
}
