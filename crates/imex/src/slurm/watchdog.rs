//! The last resort of a script: a thread that ends the process when the script itself cannot.
//!
//! A read from a dead network file system does not come back, and the thread that reads sees neither a deadline nor a signal
//! any more. This one waits beside it from the first moment on and touches no file itself: it says on standard error what
//! is wrong, lets yet another thread try to write the record, and ends the process with the code of a run whose time was over.
//! So the budget holds for the whole, and Slurm's SIGTERM is always answered.
//!
//! A script that is at work answers SIGTERM itself, with all that it knows: [`Watchdog::run`]. One of the two tells how the
//! run ended; only where time runs out between the script's record and its last word may the record say one thing and the
//! exit code, 81, another.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use imex_config::operator::Files;
use imex_core::Moment;
use imex_slurm::budget::BEYOND;
use imex_slurm::clock::Clock;
use imex_slurm::outcome::Ending;
use imex_slurm::record::Kind;
use thiserror::Error;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use tokio::time::sleep;

use super::account::Subject;
use crate::run::block_on;

mod last_words;

/// How long the script has to answer SIGTERM itself, with all that it knows. Slurm kills ten milliseconds after it.
const OWN_ANSWER: Duration = Duration::from_millis(4);

/// How long a script may take to tell how it ended, once it is at that. Slurm kills whoever takes longer than ten milliseconds
/// after SIGTERM; nobody else is in such a hurry.
const TELLING: Duration = Duration::from_secs(1);

/// A thread that ends this process. It goes with the process.
pub(super) struct Watchdog {
    shared: Arc<Shared>,
}

struct Shared {
    clock: Clock,
    kind: Kind,
    watched: Mutex<Watched>,
    /// The deadline is another one.
    moved: Notify,
    /// The script waits for something that wakes it, and does not hang.
    waits: AtomicBool,
}

/// What is known of the script.
struct Watched {
    /// What it is at, as a sentence's subject.
    doing: String,
    /// How long it may take in all.
    budget: Duration,
    /// Where it keeps its files.
    files: Files,
    /// Whose script it is.
    subject: Subject,
    /// Who tells how the run ends: whoever says first that it will.
    teller: Option<Teller>,
}

/// Who can tell how a run ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Teller {
    Script,
    Watchdog,
}

/// Why the process is ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// Slurm has sent SIGTERM.
    Terminated,
    /// Its time is over.
    Overdue,
}

/// What kept a script from coming to its own end.
#[derive(Debug, Error)]
pub(super) enum Cut {
    /// SIGTERM.
    #[error(
        "the {} was told to end after {spent_ms} ms of its budget of {budget_ms} ms: Slurm's time-out is too short for it, or \
         slurmd was stopped", kind.word()
    )]
    Terminated { kind: Kind, spent_ms: u128, budget_ms: u128 },
    /// It cannot wait for anything.
    #[error("this machine has no means to wait left")]
    NoRuntime(#[source] io::Error),
    /// It could not answer SIGTERM.
    #[error("SIGTERM cannot be caught on this machine")]
    NoSignals(#[source] io::Error),
}

impl Cut {
    /// The same as the ending of a run.
    pub(super) const fn ending(&self) -> Ending {
        match self {
            Cut::Terminated { .. } => Ending::Terminated,
            Cut::NoRuntime(_) | Cut::NoSignals(_) => Ending::Unfit,
        }
    }
}

impl Watchdog {
    /// Watches from now on. Until the configuration is read, `budget` and `files` are those that hold without one.
    pub(super) fn start(kind: Kind, clock: Clock, budget: Duration, files: Files) -> Self {
        let doing = "its beginning".to_owned();
        let watched = Watched { doing, budget, files, subject: Subject::default(), teller: None };
        let shared = Arc::new(Shared {
            clock,
            kind,
            watched: Mutex::new(watched),
            moved: Notify::new(),
            waits: AtomicBool::new(false),
        });
        let theirs = Arc::clone(&shared);
        // Without a thread there is no watchdog; the script's own deadlines are there still.
        let _ = thread::Builder::new().name("watchdog".to_owned()).spawn(move || theirs.watch());
        Watchdog { shared }
    }

    /// What the script is at: a sentence's subject, "reading /etc/openimex/openimex.toml".
    pub(super) fn doing(&self, what: impl Into<String>) {
        self.shared.watched().doing = what.into();
    }

    /// A step of the script is over.
    pub(super) fn after(&self, step: &str) {
        self.doing(format!("what follows its step {step:?}"));
    }

    /// The script tells how it ends, from now on: the watchdog says nothing any more. Where the watchdog has been quicker this
    /// does not return, and the process ends.
    pub(super) fn ends(&self) {
        while !self.shared.is_told_by(Teller::Script) {
            thread::park();
        }
    }

    /// Does the waiting part of a script on this thread, until it is done or Slurm asks for the end.
    ///
    /// # Errors
    ///
    /// If it did not come to its own end. After SIGTERM the telling is the script's: [`Watchdog::ends`].
    pub(super) fn run<F: Future>(&self, work: F) -> Result<F::Output, Cut> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Cut::NoRuntime)?;
        runtime.block_on(async {
            let mut terminated = signal(SignalKind::terminate()).map_err(Cut::NoSignals)?;
            tokio::select! {
                // Slurm kills ten milliseconds after it has asked: nothing comes first.
                biased;
                _ = terminated.recv() => {
                    self.ends();
                    Err(self.shared.terminated())
                }
                done = self.shared.noting(work) => Ok(done),
            }
        })
    }

    /// What the configuration and the environment say.
    pub(super) fn know(&self, budget: Duration, files: &Files, subject: &Subject) {
        let mut watched = self.shared.watched();
        watched.budget = budget;
        watched.files = files.clone();
        watched.subject = subject.clone();
        drop(watched);
        self.shared.moved.notify_one();
    }
}

impl Shared {
    /// Nothing can panic while it is held; if something does, what it holds is whole all the same.
    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does the work, and notes whether it waits. What wakes it does not count as work: SIGTERM is answered before the work
    /// has its next turn.
    async fn noting<F: Future>(&self, work: F) -> F::Output {
        let mut work = pin!(work);
        poll_fn(|context| {
            self.waits.store(false, Ordering::Release);
            let done = work.as_mut().poll(context);
            self.waits.store(done.is_pending(), Ordering::Release);
            done
        })
        .await
    }

    /// Whether the script waits for something that wakes it.
    fn waits(&self) -> bool {
        self.waits.load(Ordering::Acquire)
    }

    /// Whether this one tells how the run ends.
    fn is_told_by(&self, who: Teller) -> bool {
        *self.watched().teller.get_or_insert(who) == who
    }

    fn watch(self: Arc<Self>) {
        let end = block_on(async {
            let Ok(mut terminated) = signal(SignalKind::terminate()) else { return None };
            loop {
                let until = Moment::ZERO + self.watched().budget + BEYOND;
                tokio::select! {
                    biased;
                    _ = terminated.recv() => {
                        let waited = self.waits();
                        sleep(OWN_ANSWER).await;
                        // It has not hung, and answers as soon as the machine lets it.
                        if waited || self.waits() {
                            sleep(TELLING).await;
                        }
                        return Some(End::Terminated);
                    }
                    () = self.moved.notified() => {}
                    () = sleep(until.since(self.clock.now())) => return Some(End::Overdue),
                }
            }
        });
        if let Ok(Some(end)) = end {
            last_words::say(&self, end);
        }
    }

    fn terminated(&self) -> Cut {
        let budget_ms = self.watched().budget.as_millis();
        Cut::Terminated { kind: self.kind, spent_ms: self.spent_ms(), budget_ms }
    }

    fn spent_ms(&self) -> u128 {
        self.clock.now().since(Moment::ZERO).as_millis()
    }
}
