//! The two clocks: the only place of this program that reads them.

use std::time::{Duration, Instant};

use imex_core::Moment;
use jiff::fmt::strtime;
use jiff::{Timestamp, Zoned};

/// The monotonic clock that all decisions are made by. A step of the wall clock does not touch it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: Instant,
}

impl Clock {
    /// A clock whose origin is now.
    #[expect(clippy::disallowed_methods, reason = "this is the place that reads the clock")]
    pub(crate) fn start() -> Self {
        Clock { origin: Instant::now() }
    }

    /// The time since the origin.
    pub(crate) fn now(&self) -> Moment {
        Moment::after(self.origin.elapsed())
    }

    /// The same point on the clock that tokio's timers use.
    pub(crate) fn instant(&self, moment: Moment) -> tokio::time::Instant {
        // Far enough for every purpose, near enough not to overflow.
        const FAR: Duration = Duration::from_secs(365 * 86_400);
        (self.origin + moment.since_origin().min(FAR)).into()
    }
}

/// A point of wall time, for people.
#[derive(Clone, Debug)]
pub(crate) struct WallTime(Zoned);

impl WallTime {
    /// The wall time now, in the machine's zone.
    pub(crate) fn now() -> Self {
        WallTime(Zoned::now())
    }

    /// The same for calculating.
    pub(crate) fn timestamp(&self) -> Timestamp {
        self.0.timestamp()
    }

    /// Milliseconds since 1970, UTC.
    pub(crate) fn unix_millis(&self) -> i64 {
        self.0.timestamp().as_millisecond()
    }

    /// As the first line of a log has it: `9/18/2026 06:40:33.561`.
    pub(crate) fn banner(&self) -> String {
        strtime::format("%-m/%-d/%Y %H:%M:%S%.3f", &self.0).unwrap_or_default()
    }

    /// As every other line of a log has it: `Sep 18 2026 06:40:33`.
    pub(crate) fn stamp(&self) -> String {
        strtime::format("%b %d %Y %H:%M:%S", &self.0).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_time_is_written_as_the_original_writes_it() {
        let civil = jiff::civil::date(2026, 9, 8).at(6, 40, 33, 61_000_000);
        let time = WallTime(civil.to_zoned(jiff::tz::TimeZone::UTC).unwrap());
        assert_eq!(time.banner(), "9/8/2026 06:40:33.061");
        assert_eq!(time.stamp(), "Sep 08 2026 06:40:33");
        assert_eq!(time.unix_millis(), 1_788_849_633_061);
    }

    #[test]
    fn tokio_and_the_core_see_the_same_clock() {
        let clock = Clock::start();
        let now = clock.now();
        let later = now + Duration::from_secs(2);
        assert_eq!(clock.instant(later) - clock.instant(now), Duration::from_secs(2));
    }
}
