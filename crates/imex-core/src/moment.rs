//! Points in time, as the core sees them.

use std::fmt;
use std::time::Duration;

/// A point on the driver's monotonic clock: the time since an origin that the driver chose at start.
///
/// It never goes backwards and has nothing to do with the wall clock, so a stepped clock changes no decision.
/// Resolution: nanoseconds; range: 584 years.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(u64);

impl Moment {
    /// The origin.
    pub const ZERO: Moment = Moment(0);

    /// The point `since_origin` after the origin; saturates after 584 years.
    pub fn after(since_origin: Duration) -> Self {
        Moment(nanos(since_origin))
    }

    /// The time since the origin.
    pub fn since_origin(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    /// The time from `earlier` to this point; zero if `earlier` is later.
    pub fn since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl std::ops::Add<Duration> for Moment {
    type Output = Moment;

    fn add(self, wait: Duration) -> Moment {
        Moment(self.0.saturating_add(nanos(wait)))
    }
}

impl fmt::Debug for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.since_origin())
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
