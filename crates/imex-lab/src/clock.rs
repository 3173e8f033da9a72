//! The one place of this crate that reads a clock.

use tokio::time::Instant;

/// Now, for deadlines and for measuring how long something took.
pub(crate) fn now() -> Instant {
    Instant::now()
}
