//! All of CI: every step that must hold before a change is merged, in the order in which a failure is cheapest.

mod advisories;
mod cargo;
mod readme;
mod tidy;
mod tools;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::clock::Stopwatch;
use crate::error::TaskError;
use crate::report::{self, Report};
use crate::{check, differential, e2e, fuzz, generate, lifecycle, lint_differential};

pub(crate) use self::tools::{has, has_cxx};

/// How long each target is fuzzed in the long form.
const LONG: Duration = Duration::from_secs(60);

#[derive(Args)]
pub(crate) struct Options {
    /// Fuzz each target for a minute instead of trying the same few thousand inputs
    #[arg(long)]
    long: bool,
    /// A folder with the published prologs that the jobs on a real Slurm are also tried with
    #[arg(long, value_name = "DIR")]
    seeds: Option<PathBuf>,
    /// Run the remaining steps after one has failed
    #[arg(long)]
    keep_going: bool,
    /// Run these steps only
    #[arg(long, value_name = "STEP", value_delimiter = ',')]
    only: Vec<String>,
}

/// A step: its name, and what it does.
struct Step {
    name: &'static str,
    run: fn(&Options, &mut Report) -> Result<(), TaskError>,
}

const STEPS: [Step; 14] = [
    Step { name: "format", run: |_, _| cargo::format() },
    Step { name: "repository", run: |_, report| check::run(report) },
    Step { name: "lints", run: |_, _| cargo::lints() },
    Step { name: "docs", run: |_, _| cargo::docs() },
    Step { name: "build", run: |_, _| cargo::build() },
    Step {
        name: "tests",
        run: |_, report| {
            let authentication = tools::authentication(report);
            tidy::unchanged_by(report, || cargo::tests(authentication))
        },
    },
    Step { name: "generated", run: |_, report| generate::check(report) },
    Step {
        name: "licences",
        run: |_, report| {
            tools::cargo_deny(report)?.words("check --hide-inclusion-graph licenses bans sources").run()
        },
    },
    Step { name: "advisories", run: |_, report| advisories::run(report) },
    Step { name: "readme", run: |_, report| readme::run(report) },
    Step {
        name: "slurm",
        run: |_, report| {
            lint_differential::smoke(report)?;
            differential::smoke(report)
        },
    },
    Step { name: "slurm-life-cycle", run: |_, report| lifecycle::smoke(report) },
    Step { name: "slurm-e2e", run: |options, report| e2e::smoke(options.seeds.as_deref(), report) },
    Step { name: "fuzz", run: |options, report| fuzz::run(&options.fuzz(), report) },
];

/// What became of a step.
struct Outcome {
    name: &'static str,
    took: Duration,
    result: &'static str,
}

/// Runs the steps and prints how long each took.
pub(crate) fn run(options: &Options, report: &mut Report) -> Result<(), TaskError> {
    let mut outcomes = Vec::new();
    for step in options.steps()? {
        report.heading(step.name);
        let running = Stopwatch::start();
        let result = (step.run)(options, report);
        let failed = result.as_ref().err().inspect(|error| report.failure(error)).is_some();
        let result = if failed { "FAILED" } else { "ok" };
        outcomes.push(Outcome { name: step.name, took: running.elapsed(), result });
        if failed && !options.keep_going {
            break;
        }
    }
    summarise(&outcomes, report)
}

impl Options {
    fn steps(&self) -> Result<Vec<&'static Step>, TaskError> {
        let known = || STEPS.iter().map(|step| step.name);
        if let Some(name) = self.only.iter().find(|name| !known().any(|known| known == *name)) {
            let known = known().map(str::to_owned).collect();
            return Err(TaskError::Unknown { kind: "step", name: name.clone(), known });
        }
        let wanted = |step: &&Step| self.only.is_empty() || self.only.iter().any(|name| name == step.name);
        Ok(STEPS.iter().filter(wanted).collect())
    }

    fn fuzz(&self) -> fuzz::Options {
        if self.long { fuzz::Options::all_for(LONG) } else { fuzz::Options::smoke() }
    }
}

fn summarise(outcomes: &[Outcome], report: &mut Report) -> Result<(), TaskError> {
    let mut rows: Vec<Vec<String>> = outcomes
        .iter()
        .map(|outcome| {
            vec![outcome.name.to_owned(), report::seconds(outcome.took), outcome.result.to_owned()]
        })
        .collect();
    let total = outcomes.iter().map(|outcome| outcome.took).sum();
    rows.push(vec!["all".to_owned(), report::seconds(total), String::new()]);
    report.heading("summary");
    report.table(&["step", "took", "result"], &rows);
    let failed: Vec<_> =
        outcomes.iter().filter(|outcome| outcome.result != "ok").map(|outcome| outcome.name).collect();
    if failed.is_empty() { Ok(()) } else { Err(TaskError::Steps(failed)) }
}
