//! Chance from a seed, so that retries of many daemons spread out and a simulated run can be repeated.

use std::time::Duration;

/// A small generator (SplitMix64; Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). Not for
/// secrets.
#[derive(Clone, Debug)]
pub(crate) struct Jitter(u64);

impl Jitter {
    pub(crate) fn new(seed: u64) -> Self {
        Jitter(seed)
    }

    /// A duration between three quarters of `wait` and `wait`: enough to pull apart what started together, and never
    /// longer than what was promised.
    pub(crate) fn shorten(&mut self, wait: Duration) -> Duration {
        let quarter = wait / 4;
        wait - quarter.mul_f64(self.fraction())
    }

    fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        f64::from(u32::try_from((z ^ (z >> 31)) >> 32).unwrap_or(0)) / f64::from(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_stay_between_three_quarters_and_the_whole() {
        let mut jitter = Jitter::new(7);
        let wait = Duration::from_secs(1);
        let found: Vec<Duration> = (0..1000).map(|_| jitter.shorten(wait)).collect();
        assert!(found.iter().all(|w| *w >= wait * 3 / 4 && *w <= wait));
        let spread = found.iter().max().unwrap().saturating_sub(*found.iter().min().unwrap());
        assert!(spread > wait / 5, "{spread:?}");
    }
}
