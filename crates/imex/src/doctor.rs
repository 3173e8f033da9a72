//! `imex doctor`: what is wrong with this node, by numbered checks.
//!
//! Gathering ([`gather`]) asks files, systemd, the GPUs, the daemon and Slurm, each within a deadline; what could not be
//! asked is a fact as well. Every check ([`checks`]) is a function of the [`facts`] alone. `docs/doctor.md` is the table
//! of checks.

pub(crate) mod args;
mod bundle;
pub(crate) mod checks;
mod codes;
mod explain;
pub(crate) mod facts;
pub(crate) mod gather;
mod redact;
mod report;

use std::io::Write;

pub(crate) use args::DoctorArgs;
use args::DoctorCommand;

use crate::cli::format;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format};
use crate::run::block_on;
use report::{Examined, Shown};

/// Runs the command.
pub(crate) fn run(args: &DoctorArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    if let Some(DoctorCommand::Explain(explain)) = &args.command {
        return explain::run(explain, out);
    }
    let checks = args.checks();
    if checks.is_empty() {
        let failure = Failure::because(Exit::Usage, "--skip leaves none of the checks that --only names");
        return Err(failure.hint("leave one of the two options out").into());
    }
    let facts = block_on(gather::gather(&args.look))?;
    let examined = Examined::of(&facts, &checks);
    if let Some(path) = &args.bundle {
        bundle::write(path, &facts, &examined, &args.look)?;
    }
    match format(args.json) {
        Format::Json => output::json(&examined, out)?,
        Format::Text => {
            examined.write(if args.quiet { Shown::NotOk } else { Shown::All }, out)?;
            if let Some(path) = &args.bundle {
                writeln!(out, "written: {}", path.display())?;
            }
        }
    }
    Ok(examined.exit_code)
}
