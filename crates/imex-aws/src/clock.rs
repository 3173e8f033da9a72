//! The one place of this crate that reads clocks and draws random numbers.

use jiff::Timestamp;
use tokio::time::Instant;

/// The wall clock: signatures carry it, credentials expire by it.
pub(crate) fn timestamp() -> Timestamp {
    Timestamp::now()
}

/// The clock that deadlines are measured with.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// A random number for jitter. Without a source of randomness there is no jitter.
pub(crate) fn draw() -> u32 {
    getrandom::u32().unwrap_or(u32::MAX)
}
