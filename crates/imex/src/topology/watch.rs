//! `imex topology watch`: keeps the topology in use true to the sources.
//!
//! What to do is decided by [`imex_topology::reconcile`]; here are its hands: polling, applying, asking the controller now
//! and then if it still holds the file, and telling about it. Every decision is a line of JSON on standard output.

mod metrics;
mod poll;

use std::io::Write;
use std::time::Duration;

use imex_core::Moment;
use imex_topology::Topologies;
use imex_topology::reconcile::{Applied, Decision, Policy, Poll, Reconciler, Shrink};
use serde::Serialize;
use tokio::time::sleep;

use self::metrics::Metrics;
use self::poll::{Found, Looked, Read};
use super::controller::{Controller, Held, all_held};
use super::journal::Journal;
use super::lifecycle_args::WatchArgs;
use super::transaction::{Outcome, Recovered, Target};
use crate::clock::Stopwatch;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::notify::Notifier;
use crate::output;
use crate::run::block_on;
use crate::signals::{Asked, Signals};

/// How long changes that keep changing hold back one another, in debounces.
const PATIENCE: u32 = 6;

/// The pauses before a topology that the controller did not take is tried again: first and longest. Slurm logs each try.
const RETRY: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(3600));

/// A line of the record.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event<'a> {
    /// A poll was judged.
    Decision {
        #[serde(flatten)]
        decision: &'a Decision,
        /// Nodes that no source knows and that stay because they are powered down.
        #[serde(skip_serializing_if = "Option::is_none")]
        kept: Option<String>,
    },
    /// The sources warn of something else than before; of nothing any more if it is empty.
    Warned { warnings: &'a [String] },
    /// A topology was applied.
    Applied(&'a Outcome),
    /// A topology could not be applied; the file is as the journal says.
    NotApplied { failure: &'a Failure },
    /// What an earlier run had left was finished or undone.
    Recovered(&'a Recovered),
    /// The controller was asked if it holds the file.
    Verified { in_sync: bool, controller: &'a [Held] },
    /// The controller could not be asked.
    NotVerified { failure: &'a Failure },
}

struct Watcher<'a> {
    args: &'a WatchArgs,
    controller: Controller,
    clock: Stopwatch,
    reconciler: Reconciler,
    metrics: Metrics,
    verified: Option<Moment>,
    quiet: Option<Quiet>,
    /// What the sources warned of when that was last told.
    warnings: Vec<String>,
    out: &'a mut dyn Write,
}

/// The last poll, if it found nothing to change: what was read, and the topologies that it means.
struct Quiet {
    read: Read,
    topologies: Topologies,
}

/// Runs the command.
pub(crate) fn run(args: &WatchArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    check_form(args)?;
    let policy = Policy {
        interval: args.interval,
        debounce: args.debounce,
        patience: args.debounce.saturating_mul(PATIENCE),
        max_loss: args.max_loss,
        shrink: if args.allow_shrink { Shrink::Allow } else { Shrink::Confirm },
        retry: RETRY,
    };
    let watcher = Watcher {
        args,
        controller: Controller::new(&args.slurm),
        clock: Stopwatch::start(),
        reconciler: Reconciler::new(policy),
        metrics: Metrics::default(),
        verified: None,
        quiet: None,
        warnings: Vec::new(),
        out,
    };
    block_on(watcher.watch())?
}

/// The version of Slurm decides what is written, and the file's name what is read.
fn check_form(args: &WatchArgs) -> Result<(), Failure> {
    let conf = args.to.extension().is_some_and(|ending| ending == "conf");
    if conf != args.shape.slurm_version.reads_yaml() {
        return Ok(());
    }
    let version = args.shape.slurm_version;
    let what = format!("Slurm {version} does not read its topology from {}", args.to.display());
    Err(Failure::because(Exit::Usage, what).hint("name the version with --slurm-version, the file with --to"))
}

impl Watcher<'_> {
    async fn watch(mut self) -> Result<Exit, Stop> {
        let notifier = Notifier::from_environment();
        let mut signals = Signals::take()?;
        loop {
            let end = self.turn().await?;
            notifier.ready(&self.metrics.status());
            if let Some(exit) = end.filter(|_| self.args.once) {
                return Ok(exit);
            }
            let woken = loop {
                notifier.alive();
                let wait = self.clock.until(self.reconciler.next_poll());
                let slice = notifier.watchdog_interval().map_or(wait, |most| wait.min(most));
                tokio::select! {
                    () = sleep(slice) => if slice == wait { break None },
                    asked = signals.next() => break Some(asked),
                }
            };
            match woken {
                // The wait is over by itself.
                None => {}
                Some(Asked::Look) => self.reconciler.nudge(self.clock.now()),
                Some(Asked::End) => {
                    notifier.stopping();
                    return Ok(if self.args.once { Exit::Interrupted } else { Exit::Done });
                }
            }
        }
    }

    /// One poll and what follows from it. The exit code if nothing is left to wait for.
    async fn turn(&mut self) -> Result<Option<Exit>, Stop> {
        if Journal::of(&self.args.to).exists() {
            self.recover().await?;
        }
        let end = match self.poll().await {
            Ok(Looked::Same) => self.same().await?,
            Ok(Looked::Found(found)) => self.found(*found).await?,
            Err(failure) => {
                let decision = self.judge(Poll::Failed { why: failure.message().to_owned() });
                self.tell(&decision, None)?;
                Some(Exit::SourceUnreadable)
            }
        };
        if let Some(path) = &self.args.metrics {
            imex_config::replace(path, self.metrics.text().as_bytes())
                .map_err(|error| Failure::new(Exit::Failed, &error))?;
        }
        Ok(end)
    }

    async fn same(&mut self) -> Result<Option<Exit>, Stop> {
        let decision = self.judge(Poll::Same);
        self.tell(&decision, None)?;
        // Taken and put back: asking the controller borrows the rest of the watcher.
        let quiet = self.quiet.take();
        let end = match &quiet {
            Some(quiet) => self.verify_if_due(&quiet.topologies).await,
            None => Ok(None),
        };
        self.quiet = quiet;
        end
    }

    async fn found(&mut self, found: Found) -> Result<Option<Exit>, Stop> {
        let Found { in_use, proposal, warnings, read } = found;
        self.warned(warnings)?;
        self.metrics.found(&proposal.topologies, &proposal.kept);
        let kept = (!proposal.kept.is_empty()).then(|| proposal.kept.to_list());
        let proposed = proposal.topologies;
        let decision = self.judge(Poll::Found { in_use, proposed: proposed.clone() });
        self.tell(&decision, kept)?;
        self.quiet = None;
        match decision {
            Decision::Apply { .. } => Ok(Some(self.apply(&proposed).await?)),
            Decision::Unchanged => {
                let end = self.verify_if_due(&proposed).await?;
                self.quiet = read.map(|read| Quiet { read, topologies: proposed });
                Ok(end)
            }
            Decision::Keep { .. } => Ok(Some(Exit::SourceUnreadable)),
            Decision::Wait { .. } => Ok(None),
        }
    }

    /// The same warnings are told once, not at each poll.
    fn warned(&mut self, warnings: Vec<String>) -> Result<(), Stop> {
        self.metrics.warned(warnings.len());
        if self.warnings != warnings {
            output::json_line(&Event::Warned { warnings: &warnings }, self.out)?;
            self.warnings = warnings;
        }
        Ok(())
    }

    fn judge(&mut self, poll: Poll) -> Decision {
        let decision = self.reconciler.poll(poll, self.clock.now());
        self.metrics.decided(&decision);
        decision
    }

    fn tell(&mut self, decision: &Decision, kept: Option<String>) -> Result<(), Stop> {
        Ok(output::json_line(&Event::Decision { decision, kept }, self.out)?)
    }

    async fn recover(&mut self) -> Result<(), Stop> {
        let recovered = match Target::take(&self.args.to) {
            Ok(target) => target.recover(&self.controller).await,
            Err(failure) => Err(failure),
        };
        match recovered {
            Ok(None) => {}
            Ok(Some(recovered)) => output::json_line(&Event::Recovered(&recovered), self.out)?,
            Err(failure) => output::json_line(&Event::NotApplied { failure: &failure }, self.out)?,
        }
        Ok(())
    }

    async fn apply(&mut self, proposed: &Topologies) -> Result<Exit, Stop> {
        let applied = self.put(proposed).await;
        let (exit, held) = match &applied {
            Ok(Outcome::Held) => (Exit::Done, Applied::Held),
            Ok(Outcome::RolledBack { .. }) => (Exit::RolledBack, Applied::Refused),
            Ok(Outcome::RollbackUnconfirmed { .. }) => (Exit::RollbackUnconfirmed, Applied::Refused),
            Err(failure) => (failure.exit(), Applied::Refused),
        };
        let now = self.clock.now();
        self.reconciler.applied(held, now);
        self.metrics.applied(&applied);
        self.verified = Some(now);
        match &applied {
            Ok(outcome) => output::json_line(&Event::Applied(outcome), self.out)?,
            Err(failure) => output::json_line(&Event::NotApplied { failure }, self.out)?,
        }
        Ok(exit)
    }

    async fn put(&self, proposed: &Topologies) -> Result<Outcome, Failure> {
        let target = Target::take(&self.args.to)?;
        self.controller.answers().await.map_err(|error| error.failure())?;
        let header = ["Written by imex topology watch; changes by hand do not last.".to_owned()];
        target.put(&self.controller, &self.args.shape.text(proposed, &header)?).await
    }

    /// Asks the controller if it holds the file, when the last time was long ago.
    async fn verify_if_due(&mut self, file: &Topologies) -> Result<Option<Exit>, Stop> {
        let now = self.clock.now();
        if self.verified.is_some_and(|last| now.since(last) < self.args.verify) {
            return Ok(Some(Exit::Done));
        }
        self.verified = Some(now);
        match self.controller.holds(file).await {
            Ok(held) => {
                let in_sync = all_held(&held);
                self.metrics.verified(Some(in_sync));
                output::json_line(&Event::Verified { in_sync, controller: &held }, self.out)?;
                Ok(Some(if in_sync { Exit::Done } else { Exit::ControllerDiffers }))
            }
            Err(error) => {
                let failure = error.failure();
                self.metrics.verified(None);
                output::json_line(&Event::NotVerified { failure: &failure }, self.out)?;
                Ok(Some(failure.exit()))
            }
        }
    }
}
