//! How long authentication with a peer may fail before that is final.

use std::collections::BTreeMap;
use std::time::Duration;

use imex_core::NodeId;

/// How long each peer has been failing, against how long it may.
#[derive(Debug)]
pub(crate) struct Patience {
    timeout: Option<Duration>,
    failing: BTreeMap<NodeId, Failing>,
}

/// A peer that has not authenticated since some time.
#[derive(Clone, Copy, Debug)]
struct Failing {
    since: Duration,
    told: bool,
}

/// What a failure means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is tried again.
    GoOn,
    /// It has failed for as long as it may. Said once, until the peer has authenticated again.
    Final,
}

impl Patience {
    /// With a timeout after which failing is final; `None` goes on for ever.
    pub(crate) fn new(timeout: Option<Duration>) -> Self {
        Patience { timeout, failing: BTreeMap::new() }
    }

    /// The peer failed to authenticate at `now`, counted from anything that stays the same.
    pub(crate) fn failed(&mut self, peer: NodeId, now: Duration) -> Verdict {
        let failing = self.failing.entry(peer).or_insert(Failing { since: now, told: false });
        let over = self.timeout.is_some_and(|timeout| now.saturating_sub(failing.since) >= timeout);
        if !over || failing.told {
            return Verdict::GoOn;
        }
        failing.told = true;
        Verdict::Final
    }

    /// The peer authenticated.
    pub(crate) fn succeeded(&mut self, peer: NodeId) {
        self.failing.remove(&peer);
    }
}

#[cfg(test)]
mod tests {
    use super::Verdict::{Final, GoOn};
    use super::*;

    #[test]
    fn a_peer_that_fails_for_longer_than_it_may_is_final_once() {
        let mut patience = Patience::new(Some(Duration::from_secs(30)));
        let failed =
            |patience: &mut Patience, second| patience.failed(NodeId::new(3), Duration::from_secs(second));
        assert_eq!(
            [0, 10, 29, 30, 31].map(|second| failed(&mut patience, second)),
            [GoOn, GoOn, GoOn, Final, GoOn]
        );
        // Each peer has a time of its own.
        assert_eq!(patience.failed(NodeId::new(4), Duration::from_secs(40)), GoOn);
        patience.succeeded(NodeId::new(3));
        assert_eq!([50, 79, 80].map(|second| failed(&mut patience, second)), [GoOn, GoOn, Final]);
    }

    #[test]
    fn no_time_at_all_makes_the_first_failure_final_and_no_timeout_none() {
        let first = |timeout| Patience::new(timeout).failed(NodeId::new(0), Duration::ZERO);
        assert_eq!(first(Some(Duration::ZERO)), Final);
        assert_eq!(first(None), GoOn);
    }
}
