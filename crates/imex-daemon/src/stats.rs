//! What the daemon counts, and the block of statistics that it writes from time to time.
//!
//! The block has the form of the original's (reference, chapter on performance statistics): a heading line, then JSON with
//! an indent of one blank; counts are strings. Its last object, `SinceStart`, is our own. What each figure means:
//! `docs/statistics.md`.

mod file;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use imex_core::{Moment, PeerMessage};
use imex_tls::{Certificate, Ends, Kind};
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};

pub(crate) use file::StatsFile;

/// Something that is counted from the daemon's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Counter {
    /// A peer was admitted whose hello says that it is this map's node.
    AdmittedHellos,
    /// A hello was refused: another protocol or driver version.
    RefusedVersion,
    /// A hello was refused: another node map.
    RefusedMap,
    /// A hello was refused: it came from another address than the map has for its node.
    RefusedNotAtItsAddress,
    /// A hello was refused: it belongs to another domain.
    RefusedOtherDomain,
    /// A hello was refused: its instance is known to have ended.
    RefusedEndedInstance,
    /// A hello was refused: this daemon is leaving.
    RefusedLeaving,
    /// A hello was refused: nothing proves that it comes from the node that it names.
    RefusedUnproven,
    /// A hello was refused: the map has no node at the address that it came from.
    RefusedAddressUnknown,
    /// A connection did not authenticate; before any hello.
    StrangersUnauthenticated,
    /// A connection was closed at once: it has to prove who it is, and comes from an address that is no node's.
    StrangersForeign,
    /// A connection said nothing in time.
    StrangersSilent,
    /// A connection ended before it said anything.
    StrangersEnded,
    /// A connection said something else than a hello.
    StrangersMalformed,
    /// A connection was closed: too many came, or were without an introduction.
    StrangersTurnedAway,
    /// A stream was closed because its far end broke the protocol.
    Violations,
    /// A notice of leaving named an instance that is not the one known.
    IgnoredNotices,
    /// What came from a lost node was dropped.
    CleanUps,
    /// A connection could not be accepted for want of descriptors or memory.
    AcceptFailures,
}

/// The forms of a message; the words are those of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum MessageKind {
    Report,
    Ping,
    Pong,
    Leaving,
    Reload,
    RowRequest,
    Row,
}

impl From<&PeerMessage> for MessageKind {
    fn from(message: &PeerMessage) -> Self {
        match message {
            PeerMessage::Report(_) => MessageKind::Report,
            PeerMessage::Ping(_) => MessageKind::Ping,
            PeerMessage::Pong(_) => MessageKind::Pong,
            PeerMessage::Leaving { .. } => MessageKind::Leaving,
            PeerMessage::Reload => MessageKind::Reload,
            PeerMessage::RowRequest { .. } => MessageKind::RowRequest,
            PeerMessage::Row { .. } => MessageKind::Row,
        }
    }
}

/// Everything that is counted.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    counters: BTreeMap<Counter, u64>,
    incoming: BTreeMap<MessageKind, Times>,
    outgoing: BTreeMap<MessageKind, u32>,
    certificates: BTreeMap<&'static str, CertificateBlock>,
    since: Moment,
}

#[derive(Clone, Copy, Debug, Default)]
struct Times {
    count: u32,
    waited: Duration,
    worked: Duration,
}

/// When one message went from place to place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passage {
    /// It came into the queue.
    pub(crate) queued: Moment,
    /// Its turn came.
    pub(crate) begun: Moment,
    /// All was done about it.
    pub(crate) done: Moment,
}

/// The state of the driver's queue at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueState {
    /// How many inputs wait.
    pub(crate) depth: usize,
    /// Since when the oldest of them waits.
    pub(crate) waiting_since: Option<Moment>,
}

impl Stats {
    /// Nothing counted yet; the first block covers the time from `now`.
    pub(crate) fn new(now: Moment) -> Self {
        Stats { since: now, ..Stats::default() }
    }

    /// Counts one.
    pub(crate) fn count(&mut self, counter: Counter) {
        *self.counters.entry(counter).or_default() += 1;
    }

    /// Notes until when the certificates in use count.
    pub(crate) fn show_certificates(&mut self, ends: &Ends) {
        let of = |kind| ends.certificate(kind).ok().map(CertificateBlock::from);
        let shown = [("Server", of(Kind::Server)), ("Client", of(Kind::Client))];
        self.certificates = shown.into_iter().filter_map(|(name, block)| Some((name, block?))).collect();
    }

    /// Counts a message from a peer.
    pub(crate) fn received(&mut self, kind: MessageKind, passage: Passage) {
        self.incoming.entry(kind).or_default().add(passage);
    }

    /// Counts a message to a peer. How long it waits for the peer to take it is not known here, so no times are given.
    pub(crate) fn sent(&mut self, kind: MessageKind) {
        *self.outgoing.entry(kind).or_default() += 1;
    }

    /// The block for the time since the last one; counts of messages begin anew.
    pub(crate) fn take_block(&mut self, queue: QueueState, now: Moment) -> String {
        let seconds = now.since(self.since).as_secs_f64().round();
        let block = Block {
            queues: Queues { processor: QueueBlock::of(queue, now) },
            incoming: self.incoming.iter().map(|(kind, times)| (*kind, times.into())).collect(),
            outgoing: self.outgoing.iter().map(|(kind, count)| (*kind, CountBlock::of(*count))).collect(),
            certificates: self.certificates.clone(),
            since_start: self.counters.iter().map(|(counter, n)| (*counter, n.to_string())).collect(),
        };
        self.incoming.clear();
        self.outgoing.clear();
        self.since = now;
        let mut text = format!("Performance statistics for last {seconds} seconds  : ");
        match one_blank_json(&block) {
            Ok(json) => text.push_str(&json),
            // Plain maps of strings and numbers always become JSON.
            Err(error) => _ = write!(text, "{{}} ({error})"),
        }
        text.push('\n');
        text
    }
}

impl Times {
    fn add(&mut self, passage: Passage) {
        self.count += 1;
        self.waited += passage.begun.since(passage.queued);
        self.worked += passage.done.since(passage.begun);
    }
}

#[derive(Serialize)]
struct Block {
    #[serde(rename = "QueueStats")]
    queues: Queues,
    #[serde(rename = "IncomingMessages")]
    incoming: BTreeMap<MessageKind, MessageBlock>,
    #[serde(rename = "OutgoingMessages")]
    outgoing: BTreeMap<MessageKind, CountBlock>,
    #[serde(rename = "Certificates", skip_serializing_if = "BTreeMap::is_empty")]
    certificates: BTreeMap<&'static str, CertificateBlock>,
    #[serde(rename = "SinceStart")]
    since_start: BTreeMap<Counter, String>,
}

#[derive(Serialize)]
struct Queues {
    #[serde(rename = "ProcessorQueue")]
    processor: QueueBlock,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct QueueBlock {
    queue_depth: String,
    oldest_duration_millis: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MessageBlock {
    msg_count: String,
    avg_queue_time_millis: f64,
    avg_oper_time_millis: f64,
    avg_total_time_millis: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CountBlock {
    msg_count: String,
}

/// Whoever reads it compares it with the clock: a number of days would be wrong by the time that it is read.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CertificateBlock {
    subject: String,
    not_after: String,
}

impl From<Certificate> for CertificateBlock {
    fn from(facts: Certificate) -> Self {
        CertificateBlock { subject: facts.subject, not_after: facts.not_after.to_string() }
    }
}

impl CountBlock {
    fn of(count: u32) -> Self {
        CountBlock { msg_count: count.to_string() }
    }
}

impl QueueBlock {
    fn of(queue: QueueState, now: Moment) -> Self {
        let oldest = queue.waiting_since.map_or(Duration::ZERO, |since| now.since(since));
        QueueBlock {
            queue_depth: queue.depth.to_string(),
            oldest_duration_millis: u64::try_from(oldest.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

impl From<&Times> for MessageBlock {
    fn from(times: &Times) -> Self {
        // Microseconds are all that a reader can use.
        let average = |sum: Duration| (sum.as_secs_f64() * 1e6 / f64::from(times.count.max(1))).round() / 1e3;
        MessageBlock {
            msg_count: times.count.to_string(),
            avg_queue_time_millis: average(times.waited),
            avg_oper_time_millis: average(times.worked),
            avg_total_time_millis: average(times.waited + times.worked),
        }
    }
}

fn one_blank_json(block: &Block) -> io::Result<String> {
    let mut bytes = Vec::with_capacity(1024);
    block.serialize(&mut Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(b" ")))?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_has_the_originals_form() {
        let mut stats = Stats::default();
        stats.count(Counter::CleanUps);
        stats.received(MessageKind::Ping, passage([0, 1, 3]));
        stats.received(MessageKind::Ping, passage([0, 3, 4]));
        stats.sent(MessageKind::Pong);
        let queue = QueueState { depth: 2, waiting_since: Some(at(29_993)) };
        let expected = r#"Performance statistics for last 30 seconds  : {
 "QueueStats": {
  "ProcessorQueue": {
   "queueDepth": "2",
   "oldestDurationMillis": 7
  }
 },
 "IncomingMessages": {
  "Ping": {
   "msgCount": "2",
   "avgQueueTimeMillis": 2.0,
   "avgOperTimeMillis": 1.5,
   "avgTotalTimeMillis": 3.5
  }
 },
 "OutgoingMessages": {
  "Pong": {
   "msgCount": "1"
  }
 },
 "SinceStart": {
  "CleanUps": "1"
 }
}
"#;
        assert_eq!(stats.take_block(queue, at(30_000)), expected);
    }

    #[test]
    fn messages_are_counted_per_block_and_events_since_the_start() {
        let mut stats = Stats::default();
        stats.count(Counter::Violations);
        stats.sent(MessageKind::Pong);
        stats.take_block(QueueState::default(), at(30_000));
        let second = stats.take_block(QueueState::default(), at(60_000));
        assert!(second.contains(r#""Violations": "1""#), "{second}");
        assert!(second.contains(r#""OutgoingMessages": {}"#), "{second}");
    }

    fn passage(millis: [u64; 3]) -> Passage {
        let [queued, begun, done] = millis.map(at);
        Passage { queued, begun, done }
    }

    fn at(millis: u64) -> Moment {
        Moment::after(Duration::from_millis(millis))
    }
}
