//! `imex topology apply`: a topology into use, or nothing at all.

use std::io::{self, Write};
use std::time::Duration;

use imex_config::chain;
use imex_topology::diff::diff;
use imex_topology::lint::{Context, Severity, lint};
use imex_topology::{Diff, Topologies};
use serde::Serialize;

use super::controller::{Controller, all_held};
use super::lifecycle_args::ApplyArgs;
use super::transaction::{Outcome, Recovered, Target};
use super::{diff as changes, files};
use crate::cli::format;
use crate::clock::Stopwatch;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format, duration};
use crate::run::block_on;

/// What was done.
#[derive(Debug, Serialize)]
struct Report {
    /// The exit code.
    exit_code: Exit,
    /// The file that the controller reads.
    file: String,
    /// What became of an earlier run's change.
    #[serde(flatten)]
    recovered: Option<Recovered>,
    /// What the change came to.
    #[serde(flatten)]
    done: Done,
    /// What changes.
    diff: Diff,
    /// Where the file before is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<String>,
    /// How long it took.
    took_ms: u64,
    #[serde(skip)]
    took: Duration,
}

/// What became of the change.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Done {
    /// It was tried.
    Tried(Outcome),
    /// There was nothing to write.
    Nothing(Nothing),
}

/// Why nothing was written.
#[derive(Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
enum Nothing {
    /// It was only asked what would change.
    Planned,
    /// The file says the same, and the controller holds it.
    Unchanged,
    /// The file says the same; the controller held something else until it was told to load.
    Reloaded,
}

/// Runs the command.
pub(crate) fn run(args: &ApplyArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let new = files::read(&args.new)?;
    let wanted = judged(args, &new)?;
    let target = Target::take(&args.to)?;
    let report = block_on(apply(args, (&new, &wanted), &target, out))??;
    match format(args.json) {
        Format::Json => output::json(&report, out)?,
        Format::Text => report.write(out)?,
    }
    Ok(report.exit_code)
}

/// What the new text means, if it has no errors.
fn judged(args: &ApplyArgs, text: &str) -> Result<Topologies, Failure> {
    let form = files::form(&args.to, text);
    let report = lint(text, form, &Context::default());
    if let Some(worst) = report.findings.iter().find(|finding| finding.rule.severity == Severity::Error) {
        let line = worst.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        let what = format!("{} has errors: {line}{}", args.new.display(), worst.what);
        return Err(Failure::because(Exit::TopologyErrors, what)
            .hint("`imex topology lint` tells everything that is wrong with it"));
    }
    files::parse(&args.to, text).map_err(|error| files::unreadable(&args.new, &error))
}

async fn apply(
    args: &ApplyArgs,
    (new, wanted): (&str, &Topologies),
    target: &Target,
    out: &mut dyn Write,
) -> Result<Report, Stop> {
    let started = Stopwatch::start();
    let controller = Controller::new(&args.slurm);
    let recovered = if args.dry_run { None } else { target.recover(&controller).await? };
    let old = target.text()?;
    // A file that Slurm would refuse holds nothing.
    let in_use = old.as_deref().and_then(|text| files::parse(&args.to, text).ok()).unwrap_or_default();
    let diff = diff(&in_use, wanted);
    if format(args.json) == Format::Text {
        plan(args, &diff, out)?;
    }
    let (done, exit_code) = if args.dry_run {
        (Done::Nothing(Nothing::Planned), Exit::Done)
    } else if diff.is_empty() {
        (Done::Nothing(same(&controller, wanted).await?), Exit::Done)
    } else {
        controller.answers().await.map_err(|error| error.failure())?;
        let outcome = target.put(&controller, new).await?;
        let exit_code = match outcome {
            Outcome::Held => Exit::Done,
            Outcome::RolledBack { .. } => Exit::RolledBack,
            Outcome::RollbackUnconfirmed { .. } => Exit::RollbackUnconfirmed,
        };
        (Done::Tried(outcome), exit_code)
    };
    let backup = matches!(done, Done::Tried(_)).then(|| target.backup()).filter(|path| path.exists());
    let took = started.elapsed();
    Ok(Report {
        exit_code,
        file: args.to.display().to_string(),
        recovered,
        done,
        diff,
        backup: backup.map(|path| path.display().to_string()),
        took_ms: output::millis(took),
        took,
    })
}

/// The file says what is wanted; the controller may not have loaded it, or was told otherwise since.
async fn same(controller: &Controller, wanted: &Topologies) -> Result<Nothing, Failure> {
    let held = controller.holds(wanted).await.map_err(|error| error.failure())?;
    if all_held(&held) {
        return Ok(Nothing::Unchanged);
    }
    let loaded = controller.load(wanted).await;
    loaded.map(|()| Nothing::Reloaded).map_err(|error| {
        Failure::because(Exit::ControllerDiffers, chain(&error))
            .hint("the file is as wanted; slurmctld's log says why it is not taken")
    })
}

/// Shows what will change before anything does.
fn plan(args: &ApplyArgs, diff: &Diff, out: &mut dyn Write) -> io::Result<()> {
    if diff.is_empty() {
        writeln!(out, "{} says the same already", args.to.display())?;
    } else {
        writeln!(out, "{} changes:", args.to.display())?;
        changes::write(diff, out)?;
    }
    out.flush()
}

impl Report {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(recovered) = &self.recovered {
            let what = match recovered {
                Recovered::NothingWritten => "it had written nothing",
                Recovered::Finished => "what it had written is in use",
                Recovered::Undone => "the file before it is in use again",
                Recovered::ChangedSince => "the file was changed since and stayed",
            };
            writeln!(out, "an earlier run was cut short: {what}")?;
        }
        let took = duration(self.took);
        match &self.done {
            Done::Nothing(Nothing::Planned) => writeln!(out, "nothing was changed: this is a dry run"),
            Done::Nothing(Nothing::Unchanged) => writeln!(out, "the controller holds it"),
            Done::Nothing(Nothing::Reloaded) => {
                writeln!(out, "the controller held another topology and has loaded it after {took}")
            }
            Done::Tried(Outcome::Held) => writeln!(out, "written, loaded and verified after {took}"),
            Done::Tried(Outcome::RolledBack { why }) => {
                writeln!(out, "not taken: {why}")?;
                writeln!(out, "the file before is in use again after {took}")
            }
            Done::Tried(Outcome::RollbackUnconfirmed { why, then }) => {
                writeln!(out, "not taken: {why}")?;
                writeln!(out, "the file before is back, but not confirmed: {then}")?;
                writeln!(out, "start slurmctld; the next run looks again")
            }
        }?;
        match &self.backup {
            Some(backup) => writeln!(out, "the file before is kept in {backup}"),
            None => Ok(()),
        }
    }
}
