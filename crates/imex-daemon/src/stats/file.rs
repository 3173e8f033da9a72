//! Where the blocks of statistics go.

use std::time::Duration;

use imex_config::settings::{Log, Stats, StatsDestination};

use crate::logging::{FilePlan, Logging, Place};

/// Where the blocks of statistics go, and how often.
#[derive(Debug)]
pub(crate) struct StatsFile {
    interval: Duration,
    place: Place,
    logging: Logging,
}

impl StatsFile {
    /// Opens it. A file of its own follows the rules of the log file; if it cannot be opened, standard error takes its
    /// place.
    pub(crate) fn open(stats: &Stats, log: &Log, logging: &Logging) -> Self {
        let place = match &stats.destination {
            StatsDestination::Log => Place::Log,
            StatsDestination::Stderr => Place::Stderr,
            StatsDestination::File(path) => match logging.open_stats(&FilePlan::of(path, log)) {
                Ok(()) => Place::Stats,
                Err(error) => {
                    tracing::warn!(%error, file = %path.display(), "Statistics go to standard error: their file cannot be opened");
                    Place::Stderr
                }
            },
        };
        StatsFile { interval: stats.interval, place, logging: logging.clone() }
    }

    /// Time between two blocks.
    pub(crate) fn interval(&self) -> Duration {
        self.interval
    }

    /// Whether blocks go to standard error, which must then stay open.
    pub(crate) fn uses_stderr(&self) -> bool {
        self.place == Place::Stderr
    }

    /// Has a block written. Never waits.
    pub(crate) fn write(&self, block: &str) {
        self.logging.write_raw(self.place, block);
    }
}
