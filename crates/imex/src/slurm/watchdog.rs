//! The last resort of a script: a thread that ends the process when the script itself cannot.
//!
//! A read from a dead network file system does not come back, and the thread that reads sees neither a deadline nor a signal
//! any more. This one waits beside it from the first moment on and touches no file itself: it says on standard error what
//! is wrong, lets yet another thread try to write the record, and ends the process with the code of a run whose time was over.
//! So the budget holds for the whole, and Slurm's SIGTERM is always answered.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use imex_config::operator::Files;
use imex_core::Moment;
use imex_slurm::budget::BEYOND;
use imex_slurm::clock::Clock;
use imex_slurm::joblog::Level;
use imex_slurm::outcome::Ending;
use imex_slurm::record::Kind;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use tokio::time::sleep;

use super::account::{Account, Outcome, Subject};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::block_on;

/// How long the script has to answer SIGTERM itself, with all that it knows. Slurm kills ten milliseconds after it.
const OWN_ANSWER: Duration = Duration::from_millis(4);

/// How long writing the record may take after SIGTERM, and after the budget. The folder may be what hangs.
const RECORD: (Duration, Duration) = (Duration::from_millis(3), Duration::from_millis(250));

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
    /// The script has what it ends with, and writes it down.
    ending: AtomicBool,
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
}

/// Why the process is ended.
enum End {
    Terminated,
    Overdue,
}

impl Watchdog {
    /// Watches from now on. Until the configuration is read, `budget` and `files` are those that hold without one.
    pub(super) fn start(kind: Kind, clock: Clock, budget: Duration, files: Files) -> Self {
        let watched =
            Watched { doing: "its beginning".to_owned(), budget, files, subject: Subject::default() };
        let shared = Arc::new(Shared {
            clock,
            kind,
            watched: Mutex::new(watched),
            moved: Notify::new(),
            ending: AtomicBool::new(false),
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

    /// The script has come to its end by itself, and tells it: whatever comes now, it has not hung before.
    pub(super) fn ends(&self) {
        self.shared.ending.store(true, Ordering::Release);
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

    fn watch(self: Arc<Self>) {
        let end = block_on(async {
            let Ok(mut terminated) = signal(SignalKind::terminate()) else { return None };
            loop {
                let until = Moment::ZERO + self.watched().budget + BEYOND;
                tokio::select! {
                    biased;
                    _ = terminated.recv() => {
                        sleep(OWN_ANSWER).await;
                        return Some(End::Terminated);
                    }
                    () = self.moved.notified() => {}
                    () = sleep(until.since(self.clock.now())) => return Some(End::Overdue),
                }
            }
        });
        if let Ok(Some(end)) = end {
            self.end(&end);
        }
    }

    fn end(self: Arc<Self>, end: &End) -> ! {
        if self.ending.load(Ordering::Acquire) {
            // Its own words are on their way; a second record would count the run twice.
            let patience = match end {
                End::Terminated => RECORD.0,
                End::Overdue => RECORD.1,
            };
            thread::sleep(patience);
            std::process::exit(Exit::Terminated.code().into())
        }
        let (message, patience) = self.told(end);
        let failure = Failure::because(Exit::Terminated, &message);
        let mut line = Vec::new();
        // In one piece and past the lock of standard error, which whatever hangs may hold. Nobody can be told of a failure.
        let _ = failure.write(&mut line);
        let _ = nix::unistd::write(io::stderr(), &line);
        let (done, written) = mpsc::sync_channel(1);
        let keep = move || {
            self.keep(&message);
            let _ = done.send(());
        };
        if thread::Builder::new().spawn(keep).is_ok() {
            let _ = written.recv_timeout(patience);
        }
        std::process::exit(Exit::Terminated.code().into())
    }

    fn told(&self, end: &End) -> (String, Duration) {
        let (watched, spent) = (self.watched(), self.clock.now().since(Moment::ZERO).as_millis());
        let Watched { doing, budget, .. } = &*watched;
        let kind = self.kind.word();
        match end {
            End::Terminated => {
                let message = format!(
                    "the {kind} was told to end after {spent} ms and hung: {doing} did not come back"
                );
                (message, RECORD.0)
            }
            End::Overdue => {
                let budget = budget.as_millis();
                let message = format!(
                    "the {kind} was over its budget of {budget} ms and hung: {doing} did not come back, as from a file system \
                     that is dead"
                );
                (message, RECORD.1)
            }
        }
    }

    fn keep(&self, message: &str) {
        let (files, subject) = {
            let watched = self.watched();
            (watched.files.clone(), watched.subject.clone())
        };
        let account = Account { kind: self.kind, clock: self.clock, files: &files, subject };
        let mut record = account.record();
        record.note("hung", &true);
        let ending = Ending::Terminated.word();
        account.keep(&record, &Outcome { ending, exit: Exit::Terminated, message });
        account.log().line(self.clock.wall(), Level::Error, message);
    }
}
