//! The one place of this crate that reads clocks.

use std::time::{Duration, Instant};

use imex_core::Moment;
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

    /// The same, as the point that decisions are made by.
    pub(crate) fn now(self) -> Moment {
        Moment::after(self.elapsed())
    }

    /// How long it is until `moment`; nothing if that has passed.
    pub(crate) fn until(self, moment: Moment) -> Duration {
        moment.since(self.now())
    }

    /// How long ago that was.
    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
