//! `imex slurm epilog`.

use std::io::Write;
use std::path::Path;

use imex_config::chain;
use imex_config::operator::salvage;
use imex_slurm::clock::Clock;
use imex_slurm::context::JobName;
use imex_slurm::epilog::{self, Did, Hands, Report};
use imex_slurm::joblog::{JOURNAL, JobLog, Level, Origin};
use imex_slurm::record::{Kind, Record, Result as Outcome};
use serde::Serialize;

use super::args::ScriptArgs;
use super::{environment, manager, misconfigured};
use crate::cli::format;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::fault;
use crate::output::{self, Format};
use crate::run::block_on;

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
    // A configuration that is wrong must not keep what a job left from being taken away.
    let (operator, wrong) = salvage(&args.config);
    let me = JobName::read(&environment::read()).map_err(|error| Failure::new(Exit::JobContext, &error))?;
    let run = me.run.as_ref().map(ToString::to_string);
    let origin = Origin { identifier: "imex-epilog", job: me.job, run: run.clone(), pid: std::process::id() };
    let mut log = JobLog::open(origin, &operator.files.logs, operator.files.keep, Path::new(JOURNAL));
    let mut say = |level, text: &str| log.line(clock.wall(), level, text);
    say(Level::Info, &format!("EPILOG Start JobId={}", me.job));
    let hands = Hands { operator: &operator, manager: manager(&operator)?, after: &fault::point };
    let report = block_on(epilog::run(&me, hands, clock))?;
    for did in &report.did {
        say(Level::Info, &did.to_string());
    }
    let problems: Vec<String> = report.problems.iter().map(|problem| chain(problem)).collect();
    for problem in &problems {
        say(Level::Error, problem);
    }
    let code = if problems.is_empty() { Exit::Done } else { Exit::NotTakenAway };
    let message = message(&report, &problems);
    let spent = output::millis(clock.now().since_origin());
    say(Level::Info, &format!("EPILOG End JobId={} after {spent} ms", me.job));
    let mut record = Record::begin(Kind::Epilog, clock.wall());
    record.note("job", &me.job);
    record.note("run", &run);
    record.note("plan", &report.plan);
    record.note("did", &report.did);
    record.note("problems", &problems);
    record.note("spent_ms", &spent);
    let ending = if problems.is_empty() { "done" } else { "not_taken_away" };
    let boot = imex_host::boot::id(Path::new(imex_host::boot::DEFAULT_ID_PATH)).ok();
    let text = record.text(
        &Outcome { ending, exit_code: code.code(), message: &message },
        boot.as_ref(),
        clock.wall(),
    );
    let name = format!("{}.{}-epilog", me.job, run.unwrap_or_default());
    record.write(&operator.files.state, &name, &text, operator.files.keep);
    if let Some(error) = wrong {
        return Err(misconfigured(error).into());
    }
    match (format(args.json), problems.is_empty()) {
        (Format::Json, _) => {
            output::json(&Done { exit_code: code, job: me.job, did: &report.did, problems: &problems }, out)?;
            Ok(code)
        }
        (Format::Text, true) => {
            writeln!(out, "{message}")?;
            Ok(code)
        }
        (Format::Text, false) => {
            let hint = "the rest was done; `imex slurm sweep`, or the next prolog, goes on from here";
            Err(Failure::because(code, message).hint(hint).into())
        }
    }
}

fn message(report: &Report, problems: &[String]) -> String {
    match (problems.is_empty(), report.did.is_empty()) {
        (false, _) => problems.join("; "),
        (true, true) => "there was nothing of this job on the node".to_owned(),
        (true, false) => report.did.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    }
}
