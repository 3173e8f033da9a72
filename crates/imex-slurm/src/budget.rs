//! One deadline for the whole, split downwards: no step may take what the steps after it need.

use std::time::Duration;

use imex_core::Moment;

/// What is kept for naming who is at fault and writing it down, after the last wait. A daemon gives its peers one second for
/// their rows; only one that has fallen silent takes so long, and then the whole may take a third of a second more.
pub const RESERVE: Duration = Duration::from_secs(1);

/// What a script may take beyond its budget at worst: the last look with a silent member (0.3 s), the service that is stopped
/// after a verdict (0.8 s), the state and the record. Whoever ends a script from outside, its own watchdog or Slurm, waits so
/// much longer: a verdict that comes late is better than none.
pub const BEYOND: Duration = Duration::from_secs(2);

/// A deadline, and what is left until it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    begin: Moment,
    total: Duration,
}

impl Budget {
    /// `total` from `begin` on.
    pub fn new(begin: Moment, total: Duration) -> Self {
        Budget { begin, total }
    }

    /// When everything has to be over.
    pub fn end(self) -> Moment {
        self.begin + self.total
    }

    /// When the last wait has to be over, so that the verdict is told in time. A budget that is too short for that has half
    /// of it.
    pub fn last_wait(self) -> Moment {
        self.begin + self.total.saturating_sub(RESERVE).max(self.total / 2)
    }

    /// How long a step may take that would like `wish`: never beyond the last wait.
    pub fn step(self, now: Moment, wish: Duration) -> Duration {
        wish.min(self.left(now))
    }

    /// How long waiting may go on.
    pub fn left(self, now: Moment) -> Duration {
        self.last_wait().since(now)
    }

    /// How much has passed.
    pub fn spent(self, now: Moment) -> Duration {
        now.since(self.begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_step_takes_what_the_verdict_needs() {
        let at = |millis| Moment::after(Duration::from_millis(millis));
        let budget = Budget::new(at(1_000), Duration::from_secs(10));
        let wish = Duration::from_secs(8);
        assert_eq!(budget.step(at(1_000), wish), wish);
        assert_eq!(budget.step(at(6_000), wish), Duration::from_secs(4));
        assert_eq!(budget.step(at(10_900), wish), Duration::ZERO);
        assert_eq!((budget.end(), budget.last_wait()), (at(11_000), at(10_000)));
        assert_eq!(budget.spent(at(1_200)), Duration::from_millis(200));
    }

    #[test]
    fn a_budget_below_the_reserve_is_halved() {
        let budget = Budget::new(Moment::ZERO, Duration::from_millis(300));
        assert_eq!(budget.left(Moment::ZERO), Duration::from_millis(150));
    }
}
