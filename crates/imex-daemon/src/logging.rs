//! Where the daemon's records go, and which of them.
//!
//! | level | word in the file | `LOG_LEVEL` that shows it | what belongs there |
//! |---|---|---|---|
//! | `error!` with target [`CRITICAL`] | CRITICAL | 1 and more | the daemon ends because of this |
//! | `error!` | ERROR | 2 and more | memory exchange with a node is void, or a promise to an operator is broken |
//! | `warn!` | WARNING | 3 and more | an operator should look, the service goes on |
//! | `info!` | INFO | 4 (the default) | start, stop, and each change of a link, of this node, of the domain |
//! | `debug!` | DEBUG | never; verbose buffer | each attempt, each ignored message |
//! | `trace!` | – | never; compiled in, switched off | each message |
//!
//! Records above `LOG_LEVEL` stay in a bounded buffer in memory, the *verbose buffer*; signal HUP and a stop write it to
//! a file. A full or read-only directory never stops the service: records that cannot be written are counted, and the
//! count is written when writing works again. Nor does a file system or a journal that hangs: one thread does all the
//! writing ([`writer`]), and nobody waits for it but the end of the process, for a moment. Line format: reference,
//! chapter on logs.

mod file;
mod journal;
mod line;
mod sink;
mod verbose;
mod writer;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use imex_config::settings::{Log, LogDestination, LogLevel, LogStart};
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

pub(crate) use writer::Place;

use crate::clock::{Clock, WallTime};
use file::{RotatingFile, Rotation};
use journal::Journal;
use line::Grade;
use sink::Sink;
use verbose::{Flush, VerboseBuffer};
use writer::Writer;

/// The target of records that say why the daemon ends.
pub(crate) const CRITICAL: &str = "imexd::critical";

/// How a file is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FilePlan {
    /// Its path.
    pub(crate) path: PathBuf,
    /// Whether what is in it stays.
    pub(crate) append: bool,
    /// When the next one is begun.
    pub(crate) rotation: Rotation,
}

impl FilePlan {
    /// A file at `path` under the rules that the configuration gives for all log files.
    pub(crate) fn of(path: &Path, log: &Log) -> Self {
        FilePlan {
            path: path.to_owned(),
            append: log.start == LogStart::Append,
            rotation: Rotation { max_bytes: log.max_size, keep: log.rotate_count },
        }
    }
}

/// The running log: held by the program for what records cannot do.
#[derive(Clone, Debug)]
pub(crate) struct Logging(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    shown: Grade,
    form: Form,
    writer: Writer,
    verbose: Arc<Mutex<VerboseBuffer>>,
    verbose_file: PathBuf,
}

/// What a record becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A line in a file.
    Line,
    /// A line on standard error.
    StderrLine,
    /// An entry of the journal.
    Entry,
}

/// How long the end of the process waits for what is still to be written: a disk that works takes it in a millisecond,
/// and scripts that stop the service allow 15 s.
const FINISH: Duration = Duration::from_secs(1);

impl Logging {
    /// Opens the log, writes its first line, and makes it the process's log. Fails if there can be no thread for it.
    pub(crate) fn start(log: &Log, clock: Clock) -> io::Result<Self> {
        let sink = open(log);
        let form = match &sink {
            Sink::File(_) => Form::Line,
            Sink::Stderr => Form::StderrLine,
            Sink::Journal(_) => Form::Entry,
        };
        let logging = Logging(Arc::new(Shared {
            shown: Grade::shown_by(log.level),
            form,
            writer: Writer::start(sink, clock)?,
            verbose: Arc::default(),
            verbose_file: log.verbose_file.clone(),
        }));
        let subscriber =
            tracing_subscriber::registry().with(Records(Arc::clone(&logging.0))).with(OwnRecordsOnly);
        // Fails only if the process has a log already, as in tests that start two daemons in one process.
        let _ = tracing::subscriber::set_global_default(subscriber);
        if log.level > LogLevel::Off {
            let banner = WallTime::now().banner();
            logging.write_raw(Place::Log, &format!("IMEX Log initializing at: {banner}\n"));
        }
        Ok(logging)
    }

    /// Opens a file of its own for statistics.
    pub(crate) fn open_stats(&self, plan: &FilePlan) -> io::Result<()> {
        self.0.writer.open(Place::Stats, Sink::File(RotatingFile::open(plan)?));
        Ok(())
    }

    /// Has text written that is no record, such as a block of statistics. The journal knows only records, so there it
    /// is one. Never waits.
    pub(crate) fn write_raw(&self, place: Place, text: &str) {
        match (place, self.0.form) {
            (Place::Log, Form::Entry) => tracing::info!("{}", text.trim_end()),
            (Place::Log, Form::Line | Form::StderrLine) | (Place::Stats | Place::Stderr, _) => {
                self.0.writer.write(place, text.as_bytes().to_vec());
            }
        }
    }

    /// Whether records go to standard error, which must then stay open.
    pub(crate) fn uses_stderr(&self) -> bool {
        self.0.form == Form::StderrLine
    }

    /// Has the verbose buffer moved to its file. Never waits.
    pub(crate) fn flush_verbose(&self) {
        let file = &self.0.verbose_file;
        let flush = Flush::take(&self.0.verbose, file);
        let records = flush.len();
        match self.0.writer.flush(flush) {
            Ok(()) => {
                tracing::info!(records, file = %file.display(), "Writing the verbose buffer to its file")
            }
            Err(flush) => {
                flush.give_up();
                tracing::warn!(file = %file.display(), "The verbose buffer is still being written to its file");
            }
        }
    }

    /// Waits a moment for all that is still to be written. Whatever was recorded before is lost with the process if it
    /// is not written by then.
    pub(crate) fn finish(&self) {
        self.0.writer.finish(FINISH);
    }
}

fn open(log: &Log) -> Sink {
    match &log.destination {
        LogDestination::Stderr => Sink::Stderr,
        LogDestination::File(path) => match RotatingFile::open(&FilePlan::of(path, log)) {
            Ok(file) => Sink::File(file),
            Err(error) => instead("open IMEX log file", &error),
        },
        LogDestination::Syslog => match Journal::reach(Path::new(journal::SOCKET)) {
            Ok(journal) => Sink::Journal(journal),
            Err(error) => instead("reach the journal", &error),
        },
    }
}

/// These two lines stand before any log, in the form that the original gives them.
fn instead(failed_to: &str, error: &io::Error) -> Sink {
    let reason = nix::errno::Errno::from_raw(error.raw_os_error().unwrap_or(0)).desc();
    let text =
        format!("WARNING: failed to {failed_to}  errno = {reason}\nINFO: using stderr for IMEX logging\n");
    // A closed standard error leaves nowhere to report to.
    let _ = io::stderr().write_all(text.as_bytes());
    Sink::Stderr
}

/// Turns tracing's events into records.
struct Records(Arc<Shared>);

impl<S: Subscriber> Layer<S> for Records {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let Records(shared) = self;
        let grade = Grade::of(event.metadata());
        match shared.form {
            _ if grade > shared.shown => lock(&shared.verbose).push(line::render(grade, event)),
            Form::Entry => shared.writer.write(Place::Log, journal::entry(grade, event)),
            Form::Line | Form::StderrLine => {
                shared.writer.write(Place::Log, line::render(grade, event).into_bytes());
            }
        }
    }
}

/// Switches off the records of libraries, at no cost per record: some of them tell of every frame.
struct OwnRecordsOnly;

impl<S: Subscriber> Layer<S> for OwnRecordsOnly {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if Self::wanted(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        Self::wanted(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::DEBUG)
    }
}

impl OwnRecordsOnly {
    fn wanted(metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::DEBUG && metadata.target().starts_with("imex")
    }
}

/// A panic while a record was written leaves at worst half a line behind.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
