//! `imex slurm prolog`.

use std::io::Write;
use std::path::Path;

use imex_config::operator::{OperatorError, salvage};
use imex_config::{Operator, chain};
use imex_slurm::clock::Clock;
use imex_slurm::context::{Environment, JobContext};
use imex_slurm::joblog::{JobLog, Level};
use imex_slurm::outcome::Ending;
use imex_slurm::prolog::{Ended, Prolog, Site, Step};
use imex_slurm::record::{Kind, Record};
use imex_slurm::service::OverBus;
use serde::Serialize;

use super::account::{Account, Outcome, Subject};
use super::args::ScriptArgs;
use super::eyes::NodeEyes;
use super::machine::ThisMachine;
use super::watchdog::Watchdog;
use super::{EVERY_KEY, environment, exit, manager};
use crate::cli::format;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::fault;
use crate::output::{self, Format};

/// What a prolog came to.
#[derive(Debug, Serialize)]
struct Done<'d> {
    exit_code: Exit,
    ending: Ending,
    job: Option<u32>,
    message: &'d str,
    record: Option<&'d Path>,
}

/// Runs the command.
pub(super) fn run(args: &ScriptArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let clock = Clock::start();
    let bare = Operator::default();
    let watchdog = Watchdog::start(Kind::Prolog, clock, bare.prolog.budget, bare.files);
    watchdog.doing(format!("reading {}", args.config.display()));
    let (operator, wrong) = salvage(&args.config);
    let environment = environment::read();
    let subject = Subject::of(&environment);
    watchdog.know(operator.prolog.budget, &operator.files, &subject);
    let account = Account { kind: Kind::Prolog, clock, files: &operator.files, subject };
    watchdog.doing(format!("opening its log in {}", operator.files.logs.display()));
    let mut log = account.log();
    watchdog.doing("its first step");
    let at_hand = job(wrong.as_ref(), &environment).and_then(|job| Ok((job, bus(&operator)?)));
    let (ended, record) = match at_hand {
        Ok(at_hand) => form(at_hand, &account, (&operator, &watchdog), log),
        Err(ended) => {
            log.line(clock.wall(), Level::Error, &ended.message);
            (ended, account.record())
        }
    };
    watchdog.doing(format!("writing its record in {}", operator.files.state.display()));
    let (ending, message) = (ended.ending, ended.message.as_str());
    let exit_code = exit(ending);
    let outcome = Outcome { ending: ending.word(), exit: exit_code, message };
    let record = account.keep(&record, &outcome);
    watchdog.ends();
    let done = Done { exit_code, ending, job: account.subject.job, message, record: record.as_deref() };
    tell(args, &done, out)
}

/// The job, if configuration and environment are as they should be.
fn job(wrong: Option<&OperatorError>, environment: &Environment) -> Result<JobContext, Ended> {
    let ended = |ending, error: &dyn std::error::Error| Ended { ending, message: chain(error) };
    if let Some(error) = wrong {
        return Err(ended(Ending::Misconfigured, error));
    }
    JobContext::read(environment, environment::cpus(environment))
        .map_err(|error| ended(Ending::Context, &error))
}

/// Who stops and starts the service.
fn bus(operator: &Operator) -> Result<OverBus, Ended> {
    manager(operator)
        .map_err(|failure| Ended { ending: Ending::Misconfigured, message: failure.message().to_owned() })
}

fn form(
    (context, manager): (JobContext, OverBus),
    account: &Account<'_>,
    (operator, watchdog): (&Operator, &Watchdog),
    log: JobLog,
) -> (Ended, Record) {
    let site = Site {
        operator,
        machine: ThisMachine::new(&operator.tools),
        manager,
        eyes: |own: &str| NodeEyes::new(operator, own),
        after: &|step: Step| {
            watchdog.after(step.word());
            fault::point(step.word());
        },
    };
    let mut prolog = Prolog::new(site, context, account.clock, log, account.record());
    let ended = watchdog.run(prolog.run());
    let ended = ended.unwrap_or_else(|cut| Ended { ending: cut.ending(), message: chain(&cut) });
    let record = prolog.finish(&ended);
    (ended, record)
}

fn tell(args: &ScriptArgs, done: &Done<'_>, out: &mut dyn Write) -> Result<Exit, Stop> {
    match (format(args.json), done.ending.is_success()) {
        (Format::Json, _) => output::json(done, out)?,
        (Format::Text, true) => writeln!(out, "{}", done.message)?,
        // slurmd logs what a failing script says.
        (Format::Text, false) => {
            let failure = Failure::because(done.exit_code, done.message);
            return Err(match (done.ending, done.record) {
                (Ending::Misconfigured, _) => failure.hint(EVERY_KEY).into(),
                (_, Some(path)) => failure.hint(format!("the record is {}", path.display())).into(),
                (_, None) => failure.into(),
            });
        }
    }
    Ok(done.exit_code)
}
