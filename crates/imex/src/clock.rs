//! The one place of this crate that reads clocks.

use std::time::{Duration, Instant};

use jiff::Timestamp;

/// The wall clock, for what people and scripts see.
pub(crate) fn timestamp() -> Timestamp {
    Timestamp::now()
}

/// Measures how long something takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts now.
    #[expect(clippy::disallowed_methods, reason = "measured times of this program start here")]
    pub(crate) fn start() -> Self {
        Stopwatch(Instant::now())
    }

    /// How long ago that was.
    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
