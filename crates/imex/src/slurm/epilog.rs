//! `imex slurm epilog`.

use std::io::Write;

use imex_config::operator::salvage;
use imex_config::{Operator, chain};
use imex_slurm::clock::Clock;
use imex_slurm::context::JobName;
use imex_slurm::epilog::{self, Did, Hands, Report};
use imex_slurm::joblog::Level;
use imex_slurm::outcome::Ending;
use imex_slurm::record::Kind;
use serde::Serialize;

use super::account::{Account, Outcome, Subject};
use super::args::ScriptArgs;
use super::watchdog::Watchdog;
use super::{environment, exit, manager, misconfigured};
use crate::cli::format;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::fault;
use crate::output::{self, Format};

/// What to do about an epilog that has not done all: nothing, as a rule.
const GOES_ON: &str = "`imex slurm sweep`, or the next prolog, goes on from here";

/// What an epilog came to.
#[derive(Debug, Serialize)]
struct Done<'d> {
    exit_code: Exit,
    job: u32,
    did: &'d [Did],
    problems: &'d [String],
}

/// Runs the command.
pub(super) fn run(args: &ScriptArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let clock = Clock::start();
    let bare = Operator::default();
    let watchdog = Watchdog::start(Kind::Epilog, clock, bare.epilog_budget, bare.files);
    watchdog.doing(format!("reading {}", args.config.display()));
    // A configuration that is wrong must not keep what a job left from being taken away.
    let (operator, wrong) = salvage(&args.config);
    let environment = environment::read();
    let subject = Subject::of(&environment);
    watchdog.know(operator.epilog_budget, &operator.files, &subject);
    let account = Account { kind: Kind::Epilog, clock, files: &operator.files, subject };
    let wrong = wrong.map(misconfigured);
    let done = match JobName::read(&environment) {
        Ok(me) => clean(&me, &account, (&operator, &watchdog)).map(|report| (me.job, report)),
        Err(error) => Err(NotDone { ending: Ending::Context, message: chain(&error) }),
    };
    watchdog.doing(format!("writing its record in {}", operator.files.state.display()));
    match (done, wrong) {
        (Ok((job, report)), wrong) => {
            let problems: Vec<String> = report.problems.iter().map(|problem| chain(problem)).collect();
            keep(&account, &report, &problems, wrong.as_ref());
            watchdog.ends();
            match wrong {
                Some(failure) => Err(failure.into()),
                None => tell(args, job, (&report, &problems), out),
            }
        }
        (Err(mut not_done), wrong) => {
            if let Some(wrong) = wrong {
                not_done.message = format!("{}; and {}", not_done.message, wrong.message());
            }
            let failure = not_done.kept(&account);
            watchdog.ends();
            Err(failure.into())
        }
    }
}

/// Why there is no report of what was taken away.
struct NotDone {
    ending: Ending,
    message: String,
}

impl NotDone {
    /// Writes it into the record.
    fn kept(self, account: &Account<'_>) -> Failure {
        let NotDone { ending, message } = self;
        let outcome = Outcome { ending: ending.word(), exit: exit(ending), message: &message };
        account.keep(&account.record(), &outcome);
        let failure = Failure::because(exit(ending), message);
        failure.hint(match ending == Ending::Context {
            true => "by hand it needs SLURM_JOB_ID, and SLURM_JOB_SLUID where the job's lease has it: docs/prolog.md",
            false => GOES_ON,
        })
    }
}

/// Cleans up, and says so in the job's log.
fn clean(
    me: &JobName,
    account: &Account<'_>,
    (operator, watchdog): (&Operator, &Watchdog),
) -> Result<Report, NotDone> {
    watchdog.doing(format!("opening its log in {}", operator.files.logs.display()));
    let mut log = account.log();
    let mut say = |level, text: &str| log.line(account.clock.wall(), level, text);
    say(Level::Info, &format!("EPILOG Start JobId={}", me.job));
    let after = |step: &str| {
        watchdog.after(step);
        fault::point(step);
    };
    watchdog.doing(format!("looking for the state of its job in {}", operator.files.state.display()));
    let report = manager(operator)
        .map_err(|failure| NotDone { ending: Ending::Misconfigured, message: failure.message().to_owned() })
        .and_then(|manager| {
            let hands = Hands { operator, manager, after: &after };
            let cleaned = watchdog.run(epilog::run(me, hands, account.clock));
            cleaned.map_err(|cut| NotDone { ending: cut.ending(), message: chain(&cut) })
        });
    let report = match report {
        Ok(report) => report,
        Err(not_done) => {
            say(Level::Error, &not_done.message);
            return Err(not_done);
        }
    };
    for did in &report.did {
        say(Level::Info, &did.to_string());
    }
    for problem in &report.problems {
        say(Level::Error, &chain(problem));
    }
    let spent = output::millis(account.clock.now().since_origin());
    say(Level::Info, &format!("EPILOG End JobId={} after {spent} ms", me.job));
    Ok(report)
}

fn keep(account: &Account<'_>, report: &Report, problems: &[String], wrong: Option<&Failure>) {
    let mut record = account.record();
    record.note("plan", &report.plan);
    record.note("did", &report.did);
    record.note("problems", &problems);
    record.note("spent_ms", &output::millis(account.clock.now().since_origin()));
    let told = message(report, problems);
    let (ending, exit, message) = match (wrong, problems.is_empty()) {
        (Some(failure), _) => (Ending::Misconfigured.word(), failure.exit(), failure.message()),
        (None, true) => ("done", Exit::Done, told.as_str()),
        (None, false) => ("not_taken_away", Exit::NotTakenAway, told.as_str()),
    };
    account.keep(&record, &Outcome { ending, exit, message });
}

fn tell(
    args: &ScriptArgs,
    job: u32,
    (report, problems): (&Report, &[String]),
    out: &mut dyn Write,
) -> Result<Exit, Stop> {
    let exit_code = if problems.is_empty() { Exit::Done } else { Exit::NotTakenAway };
    match (format(args.json), problems.is_empty()) {
        (Format::Json, _) => output::json(&Done { exit_code, job, did: &report.did, problems }, out)?,
        (Format::Text, true) => writeln!(out, "{}", message(report, problems))?,
        (Format::Text, false) => {
            let hint = format!("the rest was done; {GOES_ON}");
            return Err(Failure::because(exit_code, message(report, problems)).hint(hint).into());
        }
    }
    Ok(exit_code)
}

fn message(report: &Report, problems: &[String]) -> String {
    match (problems.is_empty(), report.did.is_empty()) {
        (false, _) => problems.join("; "),
        (true, true) => "there was nothing of this job on the node".to_owned(),
        (true, false) => report.did.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    }
}
