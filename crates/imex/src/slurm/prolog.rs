//! `imex slurm prolog`.

use std::io::Write;
use std::path::Path;

use imex_config::{Operator, chain};
use imex_slurm::clock::Clock;
use imex_slurm::context::JobContext;
use imex_slurm::joblog::{JOURNAL, JobLog, Origin};
use imex_slurm::outcome::Ending;
use imex_slurm::prolog::{Ended, Prolog, Site, Step};
use imex_slurm::record::{Kind, Record, Result as Outcome};
use serde::Serialize;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::args::ScriptArgs;
use super::eyes::NodeEyes;
use super::machine::ThisMachine;
use super::{configuration, environment, exit, manager};
use crate::cli::format;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::fault;
use crate::output::{self, Format};
use crate::run::block_on;

/// What a prolog came to.
#[derive(Debug, Serialize)]
struct Done<'d> {
    exit_code: Exit,
    ending: Ending,
    job: u32,
    message: &'d str,
    record: Option<&'d Path>,
}

/// Runs the command.
pub(super) fn run(args: &ScriptArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let clock = Clock::start();
    let operator = configuration(&args.config)?;
    let environment = environment::read();
    let context = JobContext::read(&environment, environment::cpus(&environment));
    let context = context.map_err(|error| Failure::new(Exit::JobContext, &error))?;
    let (job, run) = (context.job, context.run.to_string());
    let files = &operator.files;
    let origin = Origin { identifier: "imex-prolog", job, run: Some(run.clone()), pid: std::process::id() };
    let log = JobLog::open(origin, &files.logs, files.keep, Path::new(JOURNAL));
    let record = Record::begin(Kind::Prolog, clock.wall());
    let site = Site {
        operator: &operator,
        machine: ThisMachine::new(&operator.tools),
        manager: manager(&operator)?,
        eyes: |own: &str| NodeEyes::new(&operator, own),
        after: &|step: Step| fault::point(step.word()),
    };
    let mut prolog = Prolog::new(site, context, clock, log, record);
    let ended = block_on(async {
        let mut terminated = terminated()?;
        tokio::select! {
            // Slurm kills ten milliseconds after it has asked: nothing comes first.
            biased;
            _ = terminated.recv() => Ok(overdue()),
            ended = prolog.run() => Ok::<_, Failure>(ended),
        }
    })??;
    let record = prolog.finish(&ended);
    let code = exit(ended.ending);
    let path = keep(&record, &operator, &ended, clock, &format!("{job}.{run}-prolog"));
    tell(
        args,
        &Done {
            exit_code: code,
            ending: ended.ending,
            job,
            message: &ended.message,
            record: path.as_deref(),
        },
        out,
    )
}

fn tell(args: &ScriptArgs, done: &Done<'_>, out: &mut dyn Write) -> Result<Exit, Stop> {
    match (format(args.json), done.ending.is_success()) {
        (Format::Json, _) => output::json(done, out)?,
        (Format::Text, true) => writeln!(out, "{}", done.message)?,
        // slurmd logs what a failing script says.
        (Format::Text, false) => {
            let failure = Failure::because(done.exit_code, done.message);
            return Err(match done.record {
                Some(path) => failure.hint(format!("the record is {}", path.display())).into(),
                None => failure.into(),
            });
        }
    }
    Ok(done.exit_code)
}

fn keep(
    record: &Record,
    operator: &Operator,
    ended: &Ended,
    clock: Clock,
    name: &str,
) -> Option<std::path::PathBuf> {
    let word = serde_json::to_value(ended.ending).ok().and_then(|word| word.as_str().map(str::to_owned));
    let outcome = Outcome {
        ending: word.as_deref().unwrap_or_default(),
        exit_code: exit(ended.ending).code(),
        message: &ended.message,
    };
    let boot = imex_host::boot::id(Path::new(imex_host::boot::DEFAULT_ID_PATH)).ok();
    let text = record.text(&outcome, boot.as_ref(), clock.wall());
    record.write(&operator.files.state, name, &text, operator.files.keep)
}

fn terminated() -> Result<Signal, Failure> {
    signal(SignalKind::terminate()).map_err(|error| Failure::because(Exit::Failed, chain(&error)))
}

fn overdue() -> Ended {
    let message =
        "Slurm ended the prolog: its PrologTimeout is below prolog.budget in openimex.toml".to_owned();
    Ended { ending: Ending::Terminated, message }
}
