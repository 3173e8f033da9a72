//! What `imex lab up` starts in the background: the process that owns a lab.
//!
//! It tells its parent on standard output, in one line of JSON, whether the lab was made; what it says afterwards
//! goes to the lab's log. It is single-threaded, and starts all daemons from its only thread, so that they end with
//! it even if it is killed.

use std::fs::File;
use std::io::{self, Write};

use imex_lab::{ControlSocket, Ending, Lab};
use nix::unistd::{dup2_stderr, dup2_stdout, setsid};
use serde::{Deserialize, Serialize};

use super::builder;
use super::foreground::Signals;
use crate::cli::OwnArgs;
use crate::clock;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::run::block_on;

/// The line for the parent.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// The lab was made and all daemons are started.
    Made,
    /// It was not.
    Failed(Failure),
}

/// Runs the command.
pub(crate) fn run(args: &OwnArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    block_on(own(args, out))?
}

async fn own(args: &OwnArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let mut signals = Signals::listen()?;
    let made = make(args);
    let verdict = match &made {
        Ok(_) => Verdict::Made,
        Err(failure) => Verdict::Failed(failure.clone()),
    };
    writeln!(out, "{}", serde_json::to_string(&verdict).map_err(io::Error::from)?)?;
    out.flush()?;
    let (mut lab, control, log) = match made {
        Ok(made) => made,
        Err(failure) => return Ok(failure.exit()),
    };
    turn_away(&log)?;
    let ending = control.serve(&mut lab, signals.next()).await?;
    let why = match ending {
        Ending::Asked => "it was asked to",
        Ending::Stopped => "it was stopped by a signal",
        Ending::DirectoryGone => "its directory has gone",
    };
    writeln!(&log, "{:.3} the lab ended because {why}", clock::timestamp())?;
    Ok(Exit::Done)
}

fn make(args: &OwnArgs) -> Result<(Lab, ControlSocket, File), Failure> {
    let mut lab = builder(&args.rack)?.dir(&args.lab.dir).prepare()?;
    let path = lab.layout().log();
    let log = File::options().create(true).append(true).open(&path);
    let log = log.map_err(|error| {
        Failure::because(Exit::LabFailed, format!("{} could not be opened: {error}", path.display()))
    })?;
    let control = ControlSocket::open(&lab)?;
    // Fails only for a process that leads a group already, and then no terminal ends it either.
    let _leads_already = setsid();
    lab.start_all()?;
    Ok((lab, control, log))
}

/// From now on nobody listens: what is said goes to the log, and the parent sees the end of the line.
fn turn_away(log: &File) -> io::Result<()> {
    dup2_stdout(log)?;
    dup2_stderr(log)?;
    Ok(())
}
