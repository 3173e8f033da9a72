//! Where the blocks of statistics go.

use std::io::{self, Write};
use std::time::Duration;

use imex_config::settings::{Log, Stats, StatsDestination};

use crate::logging::{FilePlan, Logging, RotatingFile};

/// Where the blocks of statistics go, and how often.
#[derive(Debug)]
pub(crate) struct StatsFile {
    interval: Duration,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Own(RotatingFile),
    Log(Logging),
    Stderr,
}

impl StatsFile {
    /// Opens it. A file of its own follows the rules of the log file; if it cannot be opened, standard error takes its
    /// place.
    pub(crate) fn open(stats: &Stats, log: &Log, logging: &Logging) -> Self {
        let place = match &stats.destination {
            StatsDestination::Log => Place::Log(logging.clone()),
            StatsDestination::Stderr => Place::Stderr,
            StatsDestination::File(path) => match RotatingFile::open(&FilePlan::of(path, log)) {
                Ok(file) => Place::Own(file),
                Err(error) => {
                    tracing::warn!(%error, file = %path.display(), "Statistics go to standard error: their file cannot be opened");
                    Place::Stderr
                }
            },
        };
        StatsFile { interval: stats.interval, place }
    }

    /// Time between two blocks.
    pub(crate) fn interval(&self) -> Duration {
        self.interval
    }

    /// Whether blocks go to standard error, which must then stay open.
    pub(crate) fn uses_stderr(&self) -> bool {
        matches!(self.place, Place::Stderr)
    }

    /// Writes a block.
    pub(crate) fn write(&mut self, block: &str) {
        match &mut self.place {
            Place::Own(file) => file.write(block),
            Place::Log(logging) => logging.write_raw(block),
            // A closed standard error leaves nowhere to report to.
            Place::Stderr => _ = io::stderr().write_all(block.as_bytes()),
        }
    }
}
