//! `imex slurm`: domains of jobs, and Slurm's settings for them.
//!
//! Each command is a file: it reads, asks [`imex_slurm`], and writes what it found.

mod account;
pub(crate) mod args;
mod check;
mod environment;
mod epilog;
mod eyes;
mod machine;
mod metrics;
mod prolog;
mod settings;
mod sweep;
mod task_prolog;
mod watchdog;

use std::io::Write;
use std::path::Path;

pub(crate) use args::{SlurmArgs, SlurmCommand};
pub(crate) use check::{Source, judged};
use imex_config::Operator;
use imex_config::operator::{self, OperatorError};
use imex_host::systemd::ServiceName;
use imex_slurm::outcome::Ending;
use imex_slurm::service::OverBus;

use crate::exit::Exit;
use crate::failure::{Failure, Stop};

/// Runs a command. What is not part of its answer goes to `err`.
pub(crate) fn run(command: &SlurmCommand, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Stop> {
    match command {
        SlurmCommand::Prolog(args) => prolog::run(args, out),
        SlurmCommand::Epilog(args) => epilog::run(args, out),
        SlurmCommand::Sweep(args) => sweep::run(args, out),
        SlurmCommand::TaskProlog(args) => task_prolog::run(args, out),
        SlurmCommand::Settings(args) => settings::run(args, out, err),
        SlurmCommand::Check(args) => check::run(args, out),
        SlurmCommand::Metrics(args) => metrics::run(args, out),
    }
}

/// What to do about a configuration that is wrong.
const EVERY_KEY: &str = "dist/conf/openimex.toml has every key with its default";

fn configuration(path: &Path) -> Result<Operator, Failure> {
    operator::load(path).map_err(misconfigured)
}

fn misconfigured(error: OperatorError) -> Failure {
    let failure = Failure::new(Exit::Config, &error);
    match error {
        OperatorError::Wrong { .. } => failure.hint(EVERY_KEY),
        OperatorError::Unreadable { .. } => failure,
    }
}

fn manager(operator: &Operator) -> Result<OverBus, Failure> {
    let name: ServiceName =
        operator.service.unit.parse().map_err(|error| Failure::new(Exit::Config, &error))?;
    Ok(OverBus::new(name))
}

/// The exit code of a prolog.
fn exit(ending: Ending) -> Exit {
    match ending {
        Ending::Up | Ending::Channel | Ending::Skipped | Ending::PassedInnocent | Ending::PassedTie => {
            Exit::Done
        }
        Ending::Misconfigured => Exit::Config,
        Ending::Context => Exit::JobContext,
        Ending::Unfit => Exit::NodeUnfit,
        Ending::InUse => Exit::DomainInUse,
        Ending::Channels => Exit::NoChannel,
        Ending::Members => Exit::MembersUnknown,
        Ending::Files => Exit::FilesUnwritable,
        Ending::Service => Exit::ServiceFailed,
        Ending::AtFault => Exit::AtFault,
        Ending::Tied => Exit::Tied,
        Ending::Innocent => Exit::OtherAtFault,
        Ending::Unexplained => Exit::Unexplained,
        Ending::Terminated => Exit::Terminated,
    }
}
