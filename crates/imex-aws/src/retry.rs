//! How long to be patient: deadlines, and the pauses between attempts.

use std::time::Duration;

/// How long calls may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For everything that a client does, pages and pauses included.
    pub total: Duration,
    /// For one attempt, from connecting to the last byte.
    pub attempt: Duration,
    /// The longest first pause after a failure; doubled with each further one.
    pub pause: Duration,
    /// The longest pause.
    pub longest_pause: Duration,
}

impl Default for Patience {
    /// A poll of a topology must end within the minute that watchers poll in. A page takes EC2 well below a second; the
    /// token buckets of its throttle fill in seconds, so pauses grow from a fifth of one to a few.
    fn default() -> Self {
        Patience {
            total: Duration::from_secs(60),
            attempt: Duration::from_secs(10),
            pause: Duration::from_millis(200),
            longest_pause: Duration::from_secs(5),
        }
    }
}

/// What a failed attempt means for the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Another attempt may succeed.
    Again,
    /// Another attempt may succeed with new credentials.
    Renew,
    /// Another attempt would end the same way.
    Final,
    /// The time for everything is up.
    Over,
}

/// Codes of both services that say "slow down" or "not now".
const PASSING: [&str; 17] = [
    "BandwidthLimitExceeded",
    "EC2ThrottledException",
    "InternalError",
    "InternalFailure",
    "InternalServerException",
    "PriorRequestNotComplete",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "RequestTimeout",
    "RequestTimeoutException",
    "ServiceUnavailable",
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
    "Unavailable",
];

/// Codes that say that the credentials are too old.
const EXPIRED: [&str; 3] = ["ExpiredToken", "ExpiredTokenException", "RequestExpired"];

/// What an answer other than success means; `code` is the service's word, if it gave one.
pub(crate) fn judge(status: u16, code: Option<&str>) -> Verdict {
    match code {
        Some(code) if EXPIRED.contains(&code) => Verdict::Renew,
        Some(code) if PASSING.contains(&code) => Verdict::Again,
        Some(_) | None if matches!(status, 429 | 500 | 502 | 503 | 504) => Verdict::Again,
        Some(_) | None => Verdict::Final,
    }
}

impl Patience {
    /// The pause after the `failed`th failure, from 1: a random share of a bound that doubles, so that clients which
    /// were throttled together do not come back together. `draw` is random.
    pub(crate) fn pause(&self, failed: u32, draw: u32) -> Duration {
        let doubled = self.pause.saturating_mul(1 << (failed.saturating_sub(1)).min(16));
        doubled.min(self.longest_pause).mul_f64(f64::from(draw) / f64::from(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_are_drawn_below_it() {
        let patience = Patience::default();
        let longest = |failed| patience.pause(failed, u32::MAX).as_millis();
        assert_eq!([1, 2, 3, 4, 5, 6, u32::MAX].map(longest), [200, 400, 800, 1600, 3200, 5000, 5000]);
        assert_eq!(patience.pause(3, 0), Duration::ZERO);
        assert_eq!(patience.pause(1, u32::MAX / 2).as_millis(), 100);
    }

    #[test]
    fn the_code_decides_before_the_status() {
        let cases = [
            (503, Some("RequestLimitExceeded"), Verdict::Again),
            (400, Some("ThrottlingException"), Verdict::Again),
            (429, None, Verdict::Again),
            (500, Some("SomethingNew"), Verdict::Again),
            (400, Some("RequestExpired"), Verdict::Renew),
            (403, Some("UnauthorizedOperation"), Verdict::Final),
            (404, None, Verdict::Final),
        ];
        for (status, code, verdict) in cases {
            assert_eq!(judge(status, code), verdict, "{status} {code:?}");
        }
    }
}
