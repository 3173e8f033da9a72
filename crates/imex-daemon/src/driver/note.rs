//! The machine's notes as records, and the clean-ups.
//!
//! The beginnings of the lines are those of the original where it has such a line, because people and tools look for them
//! (reference, chapter on logs).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use imex_core::action::{CleanUpReason, Note};
use imex_core::{Cause, CauseClass, InstanceId, Moment, NodeId, NodeMap};

use crate::stats::{Counter, Stats};

/// How a line begins that says that two nodes do not have the same map.
const MAP_MISMATCH: &str = "Node configuration mapping mismatch";

/// How many refusals are written in one run of the daemon, so that whoever reaches the port cannot fill the log by
/// giving ever new reasons. The statistics count all.
const REFUSALS: u32 = 1000;

/// The least time between two lines about strangers of one kind: a flood is one line a minute and a number.
const STRANGERS_GAP: Duration = Duration::from_secs(60);

/// Where refusals of nodes that the map does not have are remembered, all together.
const STRANGER: NodeId = NodeId::new(u16::MAX);

/// Writes notes to the log, repeated ones once.
#[derive(Debug)]
pub(super) struct NoteLog {
    map: NodeMap,
    // Why each node of the map was last refused, and everybody else: a refused peer comes again every few seconds.
    refused: BTreeMap<NodeId, Cause>,
    refusals: u32,
    // By what they did: at most one entry per counter.
    strangers: BTreeMap<Counter, Strangers>,
}

/// What was written of strangers of one kind.
#[derive(Clone, Copy, Debug)]
struct Strangers {
    written: Moment,
    since: u64,
}

impl NoteLog {
    /// For a map.
    pub(super) fn new(map: NodeMap) -> Self {
        NoteLog { map, refused: BTreeMap::new(), refusals: 0, strangers: BTreeMap::new() }
    }

    /// Records a note and counts what is counted of notes.
    pub(super) fn take(&mut self, note: &Note, stats: &mut Stats) {
        match note {
            Note::State { from, to } => tracing::info!("This node is {to} (before: {from})"),
            Note::Domain { from, to } => tracing::info!("The domain is {to} (before: {from})"),
            Note::LinkUp { peer, instance, times } => self.link_up(*peer, *instance, *times),
            Note::LinkLost { peer, cause } => self.link_lost(*peer, cause),
            Note::DialFailed { peer, attempt, cause, news } => {
                self.dial_failed(*peer, *attempt, cause, *news)
            }
            Note::Refused { claimed, instance, cause } => self.refused(*claimed, *instance, cause),
            Note::NewInstance { peer, old, new } => {
                let address = self.address(*peer);
                tracing::info!(%old, %new, "Node {peer} with address {address} was restarted");
            }
            Note::PeerLeft { peer } => {
                tracing::info!(
                    "Received notification of shutdown from node {peer} - {}",
                    self.address(*peer)
                );
            }
            Note::NoticeIgnored { peer, instance } => {
                stats.count(Counter::IgnoredNotices);
                tracing::info!(%instance, "Ignored a notification of shutdown that came from node {peer}: it is not of the node's present run");
            }
            Note::Inconclusive { peer } => {
                tracing::debug!(
                    "Two answers from the address of node {peer} contradict each other; it is asked again"
                );
            }
            Note::Paused { seconds: 0 } => {
                tracing::debug!("This process did not run for part of a second");
            }
            Note::Paused { seconds } => {
                tracing::warn!(
                    "This process did not run for {seconds} s; the silence of the others in that time is not held against them"
                );
            }
        }
    }

    /// Records that somebody came to nothing before the core heard of it, where that is worth a line.
    pub(super) fn stranger(&mut self, counter: Counter, (from, why): (IpAddr, Option<&str>), now: Moment) {
        let what = match counter {
            Counter::RefusedUnproven => "Refused a node whose credential does not prove that it is one",
            Counter::RefusedAddressUnknown | Counter::StrangersForeign => {
                "Refused a connection from an address that is not in the node map"
            }
            Counter::StrangersUnauthenticated => "A connection did not authenticate",
            Counter::StrangersTurnedAway => {
                "Closed a connection: too many come, or wait without having introduced themselves"
            }
            Counter::AdmittedHellos
            | Counter::RefusedVersion
            | Counter::RefusedMap
            | Counter::RefusedNotAtItsAddress
            | Counter::RefusedOtherDomain
            | Counter::RefusedEndedInstance
            | Counter::RefusedLeaving
            | Counter::StrangersSilent
            | Counter::StrangersEnded
            | Counter::StrangersMalformed
            | Counter::Violations
            | Counter::IgnoredNotices
            | Counter::CleanUps
            | Counter::AcceptFailures => return,
        };
        let written = self.strangers.get(&counter).copied();
        if let Some(known) = self.strangers.get_mut(&counter)
            && now.since(known.written) < STRANGERS_GAP
        {
            known.since += 1;
            return;
        }
        let more = written.map_or(0, |known| known.since);
        self.strangers.insert(counter, Strangers { written: now, since: 0 });
        match more {
            0 => tracing::warn!(%from, why, "{what}"),
            more => tracing::warn!(%from, why, "{what}, and {more} more since the last line about such"),
        }
    }

    /// Records that what came from a node is void. The driver that makes it so comes later.
    pub(super) fn clean_up(&self, peer: NodeId, instance: InstanceId, reason: CleanUpReason) {
        let why = match reason {
            CleanUpReason::NewInstance => "it was restarted",
            CleanUpReason::GraceOver => "it did not come back within the grace time",
            CleanUpReason::Left => "it left the domain",
        };
        let address = self.address(peer);
        tracing::error!(
            %instance,
            "Node disconnect event detected for node {peer} with address {address}, \
             everything imported from it or exported to it is void because {why}"
        );
    }

    fn address(&self, peer: NodeId) -> &str {
        self.map.get(peer).unwrap_or("(not in the map)")
    }

    fn link_up(&self, peer: NodeId, instance: InstanceId, times: u32) {
        let address = self.address(peer);
        tracing::info!(
            %instance,
            "Connection established to node {peer} with ip address {address}. Number of times connected: {times}"
        );
    }

    fn link_lost(&self, peer: NodeId, cause: &Cause) {
        let address = self.address(peer);
        if *cause == Cause::Left {
            tracing::info!("Connection lost to node {peer}: {address} because {cause}");
        } else {
            tracing::warn!("Connection lost to node {peer}: {address} because {cause}");
        }
    }

    fn dial_failed(&self, peer: NodeId, attempt: u32, cause: &Cause, news: bool) {
        let address = self.address(peer);
        match Meaning::of(cause) {
            _ if !news => tracing::debug!(attempt, "No connection to node {peer}: {address} because {cause}"),
            Meaning::MapMismatch => {
                tracing::warn!(attempt, "{MAP_MISMATCH} with node {peer}: {address} because {cause}");
            }
            Meaning::Wrong => {
                tracing::warn!(attempt, "No connection to node {peer}: {address} because {cause}")
            }
            Meaning::Usual => {
                tracing::info!(attempt, "No connection to node {peer}: {address} because {cause}")
            }
        }
    }

    fn refused(&mut self, claimed: NodeId, instance: InstanceId, cause: &Cause) {
        let slot = if claimed.index() < self.map.len() { claimed } else { STRANGER };
        let differs = self.refused.insert(slot, cause.clone()).as_ref() != Some(cause);
        let news = differs && self.refusals < REFUSALS;
        self.refusals += u32::from(news);
        match Meaning::of(cause) {
            _ if !news => {
                tracing::debug!(%instance, "Refused a connection of node {claimed} because {cause}")
            }
            Meaning::MapMismatch => {
                tracing::warn!(%instance, "{MAP_MISMATCH} with a connection that calls itself node {claimed}, refused because {cause}");
            }
            Meaning::Wrong => {
                tracing::warn!(%instance, "Refused a connection of node {claimed} because {cause}")
            }
            Meaning::Usual => {
                tracing::debug!(%instance, "Refused a connection of node {claimed} because {cause}")
            }
        }
    }
}

/// How loudly an operator is told of a cause.
enum Meaning {
    /// In the words that people and tools look for where maps do not agree.
    MapMismatch,
    /// As something that is wrong and does not pass by itself.
    Wrong,
    /// As something that passes.
    Usual,
}

impl Meaning {
    fn of(cause: &Cause) -> Self {
        match cause.class() {
            CauseClass::Map => Meaning::MapMismatch,
            CauseClass::Version
            | CauseClass::OtherDomain
            | CauseClass::Authentication
            | CauseClass::Protocol => Meaning::Wrong,
            CauseClass::Unreachable => Meaning::Usual,
        }
    }
}
