//! Every interval and limit of the core, with its reason.

use std::time::Duration;

/// How long what came from a lost peer is kept (`IMEX_NODE_DISCONNECTED_GRACE_TIME`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Grace {
    /// Until the peer comes back as another instance (−1, the default).
    #[default]
    Forever,
    /// For this long; zero cleans up at once.
    For(Duration),
}

/// The intervals that a machine works with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Time between two pings on a connected link. Default 1 s: with [`Timing::ping_misses`] it finds a silent peer
    /// in 2 to 3 s, well inside the time a collective operation would take to be noticed, and costs two small
    /// messages per link and second.
    pub ping_interval: Duration,
    /// How many intervals in a row a peer may stay silent before its link counts as lost. Default 3, at least 1.
    pub ping_misses: u32,
    /// Wait before the first retry of a failed dial. Default 50 ms: a restarting daemon is back within that. Larger
    /// maps stretch it, see [`Timing::first_retry`].
    pub retry_first: Duration,
    /// Longest wait between two tries. Default 3 s, as in NVIDIA's recent branches (reference: k8s-dra-driver
    /// issue 1443). Also the slow pace at which a refused link is tried again.
    pub retry_max: Duration,
    /// How long one dial may take, from the connect to the peer's answer. Default 2 s: one lost SYN is sent again
    /// after 1 s, a second one would only come after 3 s.
    pub dial_deadline: Duration,
    /// How long mutual authentication may take, from its beginning to the peer's answer. Default 5 s: a few round trips
    /// and signatures, but also those of hundreds of others that come up at the same time on one machine.
    pub auth_deadline: Duration,
    /// Wait after an authentication that was refused. `None`, the default: like any failed dial, so that peers whose credentials are
    /// replaced one after the other meet again soon. Kerberos has a key for it (`IMEX_GSS_RETRY_INTERVAL_SEC`).
    pub auth_retry: Option<Duration>,
    /// How long a table waits for rows that peers were asked for. Default 1 s: a peer that needs longer is as good
    /// as unavailable to the person who asked.
    pub table_deadline: Duration,
    /// See [`Grace`].
    pub grace: Grace,
}

impl Default for Timing {
    fn default() -> Self {
        Timing {
            ping_interval: Duration::from_secs(1),
            ping_misses: 3,
            retry_first: Duration::from_millis(50),
            retry_max: Duration::from_secs(3),
            dial_deadline: Duration::from_secs(2),
            auth_deadline: Duration::from_secs(5),
            auth_retry: None,
            table_deadline: Duration::from_secs(1),
            grace: Grace::Forever,
        }
    }
}

/// The least time between two reports of one node when only the number of missing cells changed; larger maps stretch
/// it, see [`REPORTS_PER_SECOND`]. While a domain forms the number changes with each link; a report per change would
/// be N³ messages.
pub const REPORT_GAP: Duration = Duration::from_millis(250);

/// The least time between two reports of any kind, so that a flapping link cannot flood the domain.
pub const REPORT_GAP_URGENT: Duration = Duration::from_millis(10);

/// How many reports per second one daemon sends for mere numbers, over all its peers: forming 144 nodes on one
/// machine takes seconds, and the number of missing cells is only for people who watch.
pub const REPORTS_PER_SECOND: u32 = 50;

/// How many failed dials per second one daemon allows itself over all its peers. Retries are only a safety net (a
/// peer that comes up says hello and is dialled at once), and 144 daemons that start together on one machine would
/// otherwise spend more on refused connections than on forming the domain.
pub const RETRIES_PER_SECOND: u32 = 500;

/// How many dials one daemon has under way at once. One takes a few round trips, so a real rack is dialled in
/// milliseconds all the same; daemons that share a machine leave each other the time to answer within the deadline.
pub const DIALS_AT_ONCE: usize = 32;

/// How many with those to peers that have just said hello: half of the places, so that peers without power, which keep
/// theirs until the deadline, cannot keep the living waiting.
pub const URGENT_DIALS_AT_ONCE: usize = 64;

/// How many ended instances of one peer are remembered, so that a late stream from one is refused. More restarts
/// than this while one stream is still on its way do not happen.
pub const ENDED_INSTANCES: usize = 32;

/// How many tables may be in the making at once, each with a row per node; further askers share the newest. More askers
/// than this are scripts, and a script can do with a table that is a few milliseconds older.
pub const OPEN_TABLES: usize = 16;

/// How many differing map entries are kept and shown per peer: enough to see the mistake.
pub const SHOWN_DIFFERENCES: usize = 4;

/// How many pings per second one daemon sends over all its links; larger maps stretch the interval, see
/// [`Timing::paced`]. Each costs both ends a wake-up: 144 daemons on two cores that each pinged 144 peers per second
/// were seen to do nothing else, until they took each other for silent. A machine that resets is noticed at once
/// whatever the interval.
pub const PINGS_PER_SECOND: u32 = 50;

/// The longest interval between pings that a large map leads to.
pub const PING_INTERVAL_MAX: Duration = Duration::from_secs(10);

impl Timing {
    /// The same for a map of `nodes` nodes: the interval between pings stretched so that one daemon sends at most
    /// [`PINGS_PER_SECOND`], but never because of that above [`PING_INTERVAL_MAX`]. All nodes of a domain come to the
    /// same.
    #[must_use]
    pub fn paced(self, nodes: usize) -> Self {
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
        let paced = (Duration::from_secs(1) * nodes / PINGS_PER_SECOND).min(PING_INTERVAL_MAX);
        Timing { ping_interval: self.ping_interval.max(paced), ..self }
    }

    /// The wait before the first retry in a map of `nodes` nodes: [`Timing::retry_first`], stretched so that the
    /// tries of one daemon stay below [`RETRIES_PER_SECOND`], but never above [`Timing::retry_max`].
    pub fn first_retry(&self, nodes: usize) -> Duration {
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
        let paced = Duration::from_secs(1) * nodes / RETRIES_PER_SECOND;
        self.retry_first.max(paced).min(self.retry_max)
    }

    /// How long a peer may be silent: [`Timing::ping_misses`] intervals, less half an interval because pings are
    /// checked once per interval and an answer takes a moment.
    pub fn silence(&self) -> Duration {
        self.ping_interval * self.ping_misses.max(1) - self.ping_interval / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_map_stretches_the_first_retry_up_to_the_longest() {
        let timing = Timing::default();
        assert_eq!(timing.first_retry(18), Duration::from_millis(50));
        assert_eq!(timing.first_retry(144), Duration::from_millis(288));
        assert_eq!(timing.first_retry(4096), Duration::from_secs(3));
    }

    #[test]
    fn silence_is_found_on_the_third_missed_interval() {
        assert_eq!(Timing::default().silence(), Duration::from_millis(2500));
    }

    #[test]
    fn a_large_map_stretches_the_pings_and_a_rack_does_not() {
        let interval = |nodes| Timing::default().paced(nodes).ping_interval;
        assert_eq!(interval(18), Duration::from_secs(1));
        assert_eq!(interval(144), Duration::from_millis(2880));
        assert_eq!(interval(65_534), PING_INTERVAL_MAX);
        let slow = Timing { ping_interval: Duration::from_secs(60), ..Timing::default() };
        assert_eq!(slow.paced(65_534).ping_interval, Duration::from_secs(60));
    }
}
