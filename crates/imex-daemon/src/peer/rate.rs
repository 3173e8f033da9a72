//! How often strangers may begin: each costs this daemon a handshake, on the thread that also answers its peers.
//!
//! Whoever comes too often is turned away itself and displaces nobody. Every node of the map has a rate of its own and
//! all of them have one together; addresses that are not known to be a node's share one, so they take nothing from the
//! nodes.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use imex_core::Moment;

use super::addresses::Whereabouts;

/// How many connections may come at once, and how many in the long run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rate {
    burst: u32,
    interval: Duration,
}

impl Rate {
    /// At most `burst` at once, and `per_second` in the long run.
    pub(crate) const fn new(burst: u32, per_second: u32) -> Self {
        Rate { burst, interval: Duration::from_nanos(1_000_000_000 / per_second as u64) }
    }

    /// Of one address. A daemon that was restarted dials once, and dials that fail are repeated at most seven times in
    /// the first three seconds.
    pub(crate) const SOURCE: Rate = Rate::new(32, 20);

    /// Of everybody together, for a map of `nodes` nodes: a rack that starts at once dials once, and again when it is
    /// told to; nodes that are turned away try again every three seconds.
    pub(crate) fn all(nodes: usize) -> Self {
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX / 4);
        Rate::new(nodes.saturating_mul(3).saturating_add(64), nodes.saturating_add(64))
    }

    /// Of addresses that are not known to be a node's, together: a few nodes with another map can be told what is wrong,
    /// and each of `unresolved` names may stand for one of them.
    fn elsewhere(unresolved: usize) -> Self {
        let names = u32::try_from(unresolved).unwrap_or(u32::MAX / 4);
        Rate::new(names.saturating_mul(2).saturating_add(32), names.saturating_add(20))
    }
}

/// A bucket of tokens that fills by itself. All that is to be remembered of one is when it will be full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bucket {
    full_at: Moment,
}

impl Bucket {
    /// Takes a token; false if there is none.
    pub(crate) fn take(&mut self, rate: Rate, now: Moment) -> bool {
        let missing = self.full_at.max(now).since(now);
        if missing + rate.interval > rate.interval.saturating_mul(rate.burst) {
            return false;
        }
        self.full_at = self.full_at.max(now) + rate.interval;
        true
    }

    fn is_full(&self, now: Moment) -> bool {
        self.full_at <= now
    }
}

/// Who may begin.
#[derive(Debug)]
pub(crate) struct Rates {
    all: Rate,
    taken: Bucket,
    /// By address; those whose buckets are full again are forgotten when there are many.
    sources: BTreeMap<IpAddr, Bucket>,
    elsewhere: Bucket,
    most: usize,
}

impl Rates {
    /// For a door at which `nodes` nodes are expected.
    pub(crate) fn new(nodes: usize) -> Self {
        Rates {
            all: Rate::all(nodes),
            taken: Bucket::default(),
            sources: BTreeMap::new(),
            elsewhere: Bucket::default(),
            most: nodes.saturating_mul(2).saturating_add(64),
        }
    }

    /// Whether somebody may begin now.
    pub(crate) fn admit(&mut self, (from, origin): (IpAddr, Whereabouts), now: Moment) -> bool {
        let unresolved = match origin {
            Whereabouts::Node => return self.admit_source(from, now),
            Whereabouts::Unknown { unresolved } => unresolved,
            Whereabouts::Foreign => 0,
        };
        self.elsewhere.take(Rate::elsewhere(unresolved), now)
    }

    /// The same where it is not known who is expected from where.
    pub(crate) fn admit_source(&mut self, from: IpAddr, now: Moment) -> bool {
        if self.sources.len() >= self.most {
            self.sources.retain(|_, bucket| !bucket.is_full(now));
        }
        // Whoever has no place to be remembered at has the common rate alone.
        let known = self.sources.contains_key(&from) || self.sources.len() < self.most;
        let own = !known || self.sources.entry(from).or_default().take(Rate::SOURCE, now);
        // A source that comes too often takes nothing from the others.
        own && self.taken.take(self.all, now)
    }
}

#[cfg(test)]
mod tests;
