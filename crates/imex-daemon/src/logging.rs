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
//! count is written when writing works again. Line format: reference, chapter on logs.

mod file;
mod line;
mod verbose;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use imex_config::settings::{Log, LogDestination, LogLevel, LogStart};
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

pub(crate) use file::{RotatingFile, Rotation};

use crate::clock::WallTime;
use line::Grade;
use verbose::VerboseBuffer;

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
    output: Output,
    verbose: Mutex<VerboseBuffer>,
    verbose_file: PathBuf,
}

enum Output {
    File(Mutex<RotatingFile>),
    Journal(Box<tracing_journald::Layer>),
    Stderr,
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Output::File(_) => "File",
            Output::Journal(_) => "Journal",
            Output::Stderr => "Stderr",
        })
    }
}

impl Logging {
    /// Opens the log, writes its first line, and makes it the process's log.
    pub(crate) fn start(log: &Log) -> Self {
        let logging = Logging(Arc::new(Shared {
            shown: Grade::shown_by(log.level),
            output: Output::open(log),
            verbose: Mutex::new(VerboseBuffer::default()),
            verbose_file: log.verbose_file.clone(),
        }));
        let subscriber =
            tracing_subscriber::registry().with(Records(Arc::clone(&logging.0))).with(OwnRecordsOnly);
        // Fails only if the process has a log already, as in tests that start two daemons in one process.
        let _ = tracing::subscriber::set_global_default(subscriber);
        if log.level > LogLevel::Off {
            logging.write_raw(&format!("IMEX Log initializing at: {}\n", WallTime::now().banner()));
        }
        logging
    }

    /// Writes text that is no record, such as a block of statistics, to where the records go. The journal knows only
    /// records, so there it is one.
    pub(crate) fn write_raw(&self, text: &str) {
        self.0.output.write(text);
    }

    /// Whether records go to standard error, which must then stay open.
    pub(crate) fn uses_stderr(&self) -> bool {
        matches!(self.0.output, Output::Stderr)
    }

    /// Moves the verbose buffer to its file. A failure is a record of its own, and loses nothing.
    pub(crate) fn flush_verbose(&self) {
        let path = &self.0.verbose_file;
        let flushed = lock(&self.0.verbose).flush_to(path);
        match flushed {
            Ok(records) => {
                tracing::info!(records, file = %path.display(), "Wrote the verbose buffer to its file")
            }
            Err(error) => {
                tracing::warn!(%error, file = %path.display(), "The verbose buffer could not be written to its file");
            }
        }
    }
}

impl Output {
    fn open(log: &Log) -> Self {
        match &log.destination {
            LogDestination::Stderr => Output::Stderr,
            LogDestination::File(path) => match RotatingFile::open(&FilePlan::of(path, log)) {
                Ok(file) => Output::File(Mutex::new(file)),
                Err(error) => Output::instead("open IMEX log file", &error),
            },
            LogDestination::Syslog => match tracing_journald::layer() {
                Ok(layer) => Output::Journal(Box::new(
                    layer
                        .with_field_prefix(Some("IMEX".to_owned()))
                        .with_syslog_identifier("imexd".to_owned()),
                )),
                Err(error) => Output::instead("reach the journal", &error),
            },
        }
    }

    /// These two lines stand before any log, in the form that the original gives them.
    fn instead(failed_to: &str, error: &io::Error) -> Self {
        let reason = nix::errno::Errno::from_raw(error.raw_os_error().unwrap_or(0)).desc();
        let text = format!(
            "WARNING: failed to {failed_to}  errno = {reason}\nINFO: using stderr for IMEX logging\n"
        );
        Output::Stderr.write(&text);
        Output::Stderr
    }

    fn write(&self, text: &str) {
        match self {
            Output::File(file) => lock(file).write(text),
            Output::Journal(_) => tracing::info!("{}", text.trim_end()),
            // A closed standard error leaves nowhere to report to.
            Output::Stderr => _ = io::stderr().write_all(text.as_bytes()),
        }
    }
}

/// Turns tracing's events into records.
struct Records(Arc<Shared>);

impl<S> Layer<S> for Records
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let grade = Grade::of(event.metadata());
        let shown = grade <= self.0.shown;
        match (&self.0.output, shown) {
            (Output::Journal(journal), true) => journal.on_event(event, context),
            (output, true) => output.write(&line::render(grade, event)),
            (_, false) => lock(&self.0.verbose).push(line::render(grade, event)),
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
