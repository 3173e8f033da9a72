//! The one place of this crate that reads clocks.

use std::time::{Duration, Instant};

use imex_core::Moment;
use jiff::Timestamp;

/// Time since it was made, and the wall clock for what people read.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Starts now.
    #[expect(clippy::disallowed_methods, reason = "what this crate waits for is measured from here")]
    pub fn start() -> Self {
        Clock(Instant::now())
    }

    /// How much has passed, as decisions are made by it.
    pub fn now(self) -> Moment {
        Moment::after(self.0.elapsed())
    }

    /// When it was made, by the wall clock.
    pub fn begun(self) -> Timestamp {
        let now = Timestamp::now();
        now.checked_sub(self.0.elapsed()).unwrap_or(now)
    }

    /// The wall clock.
    pub fn wall(self) -> Timestamp {
        Timestamp::now()
    }
}

/// Milliseconds, as JSON has them.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
