//! Waiting for a lab's domain, and showing what came of it.

use std::io::Write;
use std::time::Duration;

use imex_ctl::render::{HostNames, text};
use imex_lab::{End, LabClient, WaitError, WatchError};
use serde::Serialize;

use super::snapshot::Snapshot;
use crate::clock::Stopwatch;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format, count, duration};
use crate::progress::Progress;

/// What became of a lab's domain.
#[derive(Debug, Serialize)]
pub(crate) struct Formation {
    /// The exit code.
    pub(crate) exit_code: Exit,
    /// How long it took from the start of the first process: to be UP, or to be given up.
    formation_ms: u64,
    #[serde(skip)]
    took: Duration,
    /// A node whose daemon ended before the domain was UP.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<Ended>,
    #[serde(flatten)]
    snapshot: Snapshot,
}

#[derive(Debug, Serialize)]
struct Ended {
    node: usize,
    #[serde(flatten)]
    end: End,
}

impl Formation {
    /// Waits until the domain is UP, a daemon has ended, or the time is over. `started` is when the first process was.
    pub(crate) async fn await_up(
        lab: &LabClient,
        timeout: Duration,
        started: Stopwatch,
    ) -> Result<Self, Failure> {
        let progress = Progress::start();
        let left = timeout.saturating_sub(started.elapsed());
        let outcome = lab.wait_up(left, |summary| progress.show(&summary)).await;
        progress.clear();
        let took = started.elapsed();
        let (verdict, ended) = match outcome {
            Ok(_) => (Some(Exit::Done), None),
            Err(WaitError::NodeDead { node, end }) => (Some(Exit::NodeEnded), Some(Ended { node, end })),
            Err(WaitError::Watch(WatchError::Overdue { .. })) => (None, None),
            Err(error) => return Err(Failure::new(Exit::Failed, &error)),
        };
        let snapshot = Snapshot::take(lab).await?;
        Ok(Formation {
            exit_code: verdict.unwrap_or_else(|| snapshot.exit()),
            formation_ms: output::millis(took),
            took,
            ended,
            snapshot,
        })
    }

    /// Writes it: the table as `imexctl -N` has it, how long it took, and what is wrong.
    pub(crate) fn show(&self, format: Format, out: &mut dyn Write) -> Result<(), Stop> {
        match format {
            Format::Json => output::json(self, out)?,
            Format::Text => self.write(out)?,
        }
        Ok(out.flush()?)
    }

    fn write(&self, mut out: &mut dyn Write) -> std::io::Result<()> {
        if let Some(report) = &self.snapshot.report {
            text::domain(report, HostNames::Hidden, &mut out)?;
            writeln!(out)?;
        }
        let took = duration(self.took);
        if self.exit_code == Exit::Done {
            return writeln!(out, "{} UP after {took}", count(self.snapshot.nodes.len(), "node"));
        }
        match &self.ended {
            Some(Ended { node, end }) => {
                writeln!(out, "not UP after {took}: the daemon of node {node} {end}")?
            }
            None => writeln!(out, "not UP after {took}")?,
        }
        self.snapshot.write_domain(out)
    }
}
