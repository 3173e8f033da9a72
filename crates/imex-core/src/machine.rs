//! One node of a domain: what it decides about its links, and what it makes of the others.
//!
//! The parts, each in a file of its own: `dialling` tries to connect and judges the answers, `accepting` judges
//! who comes in, `talking` handles what members say, `heartbeat` finds the silent, `reporting` tells the others,
//! `tables` collects whole tables. What they share is here: the node's life, the count of the domain, the timers.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use thiserror::Error;

use crate::action::Note;
use crate::jitter::Jitter;
use crate::life::{self, LifeEvent};
use crate::link::{Link, LinkEvent};
use crate::message::Report;
use crate::peer::Peer;
use crate::quorum::{self, QuorumMode, QuorumVerdict};
use crate::timers::{Timer, Timers};
use crate::{
    Action, Cause, DomainState, DomainSummary, Hello, Input, InstanceId, LinkReport, LinkState, Moment,
    NodeId, NodeMap, NodeState, Refusal, Timing,
};

mod accepting;
mod dialling;
mod heartbeat;
mod reporting;
mod slots;
mod tables;
mod talking;

use heartbeat::Heartbeat;
use reporting::Reporting;
use slots::Slots;
use tables::Tables;

/// What a node starts from.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The node map.
    pub map: NodeMap,
    /// This daemon's introduction; it names the node, its instance and its domain.
    pub hello: Arc<Hello>,
    /// Whom to wait for.
    pub quorum: QuorumMode,
    /// The nodes that had imported from this one when its last run ended uncleanly.
    pub importers: BTreeSet<NodeId>,
    /// The intervals.
    pub timing: Timing,
    /// Whether peers must authenticate.
    pub security: bool,
    /// Where the jitter of the retries starts: different on every node.
    pub seed: u64,
}

/// Why a machine cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SetupError {
    /// The introduction names a node that the map does not have.
    #[error("node {node} is not in the map, which has {len} entries")]
    NotInMap {
        /// The node.
        node: NodeId,
        /// The length of the map.
        len: usize,
    },
    /// The introduction has the digest of another map.
    #[error("the introduction belongs to another node map")]
    OtherMap,
}

/// One node of a domain: its links, its state, and what it knows of the others. One per daemon, owned by its driver.
#[derive(Debug)]
pub struct Machine {
    setup: Setup,
    me: NodeId,
    disclosure: Arc<[String]>,
    state: NodeState,
    peers: Vec<Peer>,
    met: BTreeSet<NodeId>,
    connected: usize,
    ready: usize,
    complete: usize,
    domain: DomainState,
    jitter: Jitter,
    timers: Timers,
    slots: Slots,
    heartbeat: Heartbeat,
    reporting: Reporting,
    tables: Tables,
    actions: VecDeque<Action>,
    changes: u64,
}

impl Machine {
    /// A node that has not started; the first input is [`Input::Start`].
    pub fn new(setup: Setup) -> Result<Self, SetupError> {
        let me = setup.hello.node();
        let len = setup.map.len();
        if me.index() >= len {
            return Err(SetupError::NotInMap { node: me, len });
        }
        if setup.hello.get().digest != setup.map.digest() {
            return Err(SetupError::OtherMap);
        }
        Ok(Machine {
            me,
            disclosure: disclosure(&setup.map),
            state: NodeState::Initializing,
            peers: std::iter::repeat_with(Peer::new).take(len).collect(),
            met: BTreeSet::new(),
            connected: 0,
            ready: 0,
            complete: 0,
            domain: DomainState::Down,
            jitter: Jitter::new(setup.seed),
            timers: Timers::default(),
            slots: Slots::default(),
            heartbeat: Heartbeat::default(),
            reporting: Reporting::new(len),
            tables: Tables::default(),
            actions: VecDeque::new(),
            changes: 0,
            setup,
        })
    }

    /// Takes in something that happened.
    pub fn handle(&mut self, input: Input, now: Moment) {
        if self.state == NodeState::ShuttingDown {
            self.handle_after_leaving(input);
            return;
        }
        match input {
            Input::Start => self.start(now),
            Input::AuthServerReady => self.auth_server_ready(now),
            Input::GpuReady => self.live(LifeEvent::GpuReady),
            Input::DialFailed { peer, attempt, why } => self.handle_dial_failed((peer, attempt), why, now),
            Input::Reached { peer, attempt } => return self.handle_reached((peer, attempt)),
            Input::AuthenticationStarted { peer, attempt } => {
                self.handle_authentication((peer, attempt), now)
            }
            Input::Answered { peer, attempt, answer } => self.handle_answer((peer, attempt), answer, now),
            Input::Arrived { serial, hello, source } => self.handle_arrival(serial, hello, source, now),
            Input::Received { stream, message } => self.handle_message(stream, message, now),
            Input::Closed { stream, why } => self.handle_closed(stream, why, now),
            Input::ImportersChanged(importers) => self.actions.push_back(Action::RecordImporters(importers)),
            Input::TableAsked { ticket } => self.handle_table_asked(ticket, now),
            Input::Redial => self.redial(),
            Input::TellReload => self.tell_reload(),
            Input::Leave => return self.leave(),
        }
        self.settle(now);
    }

    /// Lets time pass: does what is due at `now`.
    pub fn handle_timeout(&mut self, now: Moment) {
        if self.state == NodeState::ShuttingDown {
            return;
        }
        // The heartbeat first: it is the one that notices that this process did not run for a while.
        self.beat(now);
        while let Some((at, peer, timer)) = self.timers.first().filter(|(at, ..)| *at <= now) {
            self.timers.pop();
            match timer {
                Timer::Dial => self.dial_timeout(peer, at, now),
                Timer::Grace => self.grace_timeout(peer, at, now),
            }
        }
        self.tables_timeout(now);
        self.settle(now);
    }

    /// When [`Machine::handle_timeout`] is to be called at the latest, and why, in a word for the log. Nothing is due
    /// while the node shuts down.
    pub fn poll_timeout(&self) -> Option<(Moment, &'static str)> {
        if self.state == NodeState::ShuttingDown {
            return None;
        }
        let word = |timer| match timer {
            Timer::Dial => "dial",
            Timer::Grace => "grace",
        };
        let peers = self.timers.first().map(|(at, _, timer)| (at, word(timer)));
        let beat = self.heartbeat.due().map(|at| (at, "heartbeat"));
        let report = self.reporting.due().map(|at| (at, "report"));
        let table = self.tables.due().map(|at| (at, "table"));
        [peers, beat, report, table].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// The next thing to do, until there is none.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// This node's state.
    pub fn state(&self) -> NodeState {
        self.state
    }

    /// The domain as this node knows it. Costs the same for any number of nodes.
    pub fn domain(&self) -> DomainSummary {
        let (nodes, ready, complete) = (self.peers.len(), self.ready, self.complete);
        DomainSummary { state: DomainState::of(nodes, ready, complete), nodes, ready, complete }
    }

    /// This node's row: one report per node of the map, in order.
    pub fn row(&self, now: Moment) -> Vec<LinkReport> {
        self.peers.iter().map(|peer| report_of(peer, now)).collect()
    }

    /// One cell of this node's row; INVALID for a node that the map does not have.
    pub fn link(&self, peer: NodeId) -> LinkState {
        self.peers.get(peer.index()).map_or(LinkState::Invalid, |peer| peer.link.state())
    }

    /// The instance with which this node's link to `peer` is connected, if it is.
    pub fn linked_instance(&self, peer: NodeId) -> Option<InstanceId> {
        let peer = self.peers.get(peer.index())?;
        if peer.link == Link::Connected { peer.acquaintance.instance() } else { None }
    }

    /// The instance of `peer` whose own link to this node has been admitted and confirmed, if there is one.
    pub fn admitted_instance(&self, peer: NodeId) -> Option<InstanceId> {
        self.peers.get(peer.index())?.accepted.as_ref().map(|accepted| accepted.instance)
    }

    /// What the living instance of `peer` said of itself, while a stream connects the two; this node's own
    /// introduction for its own id.
    pub fn hello_of(&self, peer: NodeId) -> Option<&Arc<Hello>> {
        if peer == self.me {
            return Some(self.hello());
        }
        self.peers.get(peer.index()).filter(|peer| peer.is_live())?.acquaintance.hello()
    }

    /// This daemon's introduction.
    pub fn hello(&self) -> &Arc<Hello> {
        &self.setup.hello
    }

    /// The node map.
    pub fn map(&self) -> &NodeMap {
        &self.setup.map
    }

    /// Counts up with every change that an outsider could see: of the state, of the row, of the domain.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    fn start(&mut self, now: Moment) {
        if self.state != NodeState::Initializing {
            return;
        }
        if self.setup.security {
            self.live(LifeEvent::StartedSecure);
        } else {
            self.live(LifeEvent::Started(self.verdict()));
            self.dial_all(now);
        }
    }

    fn auth_server_ready(&mut self, now: Moment) {
        if self.state == NodeState::StartingAuthServer {
            self.live(LifeEvent::AuthServerReady(self.verdict()));
            self.dial_all(now);
        }
    }

    fn leave(&mut self) {
        self.live(LifeEvent::Left);
        self.recount(self.me);
        self.note_domain();
        self.say_goodbye();
        // What the others had imported ends with the notice, so the next run has nobody to wait for.
        self.actions.push_back(Action::RecordImporters(BTreeSet::new()));
        self.actions.push_back(Action::Exit);
    }

    /// A node that is leaving turns everybody away and takes nothing else in.
    fn handle_after_leaving(&mut self, input: Input) {
        if let Input::Arrived { serial, hello, .. } = input {
            self.refuse(serial, &hello, Refusal::Leaving, Cause::Leaving);
        } else if let Input::TableAsked { ticket } = input {
            self.answer_table_after_leaving(ticket);
        }
    }

    fn live(&mut self, event: LifeEvent) {
        let from = self.state;
        let to = life::after(from, event);
        if from == to {
            return;
        }
        self.state = to;
        self.changes += 1;
        self.actions.push_back(Action::Note(Note::State { from, to }));
        match to {
            NodeState::StartingAuthServer => self.actions.push_back(Action::StartAuthServer),
            NodeState::InitGpu => self.end_recovery(),
            NodeState::Initializing
            | NodeState::WaitingForPeers
            | NodeState::WaitingForRecovery
            | NodeState::Ready
            | NodeState::ShuttingDown
            | NodeState::Unavailable => {}
        }
    }

    /// Whoever had imported from the last run has dropped it by now, or is not to be waited for: a further crash must
    /// not make the next run wait for them again.
    fn end_recovery(&mut self) {
        if !self.setup.importers.is_empty() {
            self.actions.push_back(Action::RecordImporters(BTreeSet::new()));
        }
        self.actions.push_back(Action::AttachGpu);
    }

    fn verdict(&self) -> QuorumVerdict {
        quorum::judge(self.setup.quorum, self.peers.len(), &self.setup.importers, &self.met)
    }

    /// What follows from everything that was taken in: quorum, counts, the domain's state, reports.
    fn settle(&mut self, now: Moment) {
        if matches!(self.state, NodeState::WaitingForPeers | NodeState::WaitingForRecovery) {
            self.live(LifeEvent::Quorum(self.verdict()));
        }
        self.begin_dials(now);
        self.recount(self.me);
        self.note_domain();
        self.report(now);
        self.forget_stale_timers();
    }

    fn note_domain(&mut self) {
        let (from, to) = (self.domain, self.domain().state);
        if from != to {
            self.domain = to;
            self.changes += 1;
            self.actions.push_back(Action::Note(Note::Domain { from, to }));
        }
    }

    /// Takes over a link's new state; the one place that changes a cell.
    fn turn(&mut self, peer: NodeId, event: LinkEvent, now: Moment) {
        let entry = &mut self.peers[peer.index()];
        let before = entry.link;
        entry.link = before.after(event);
        if before.state() == entry.link.state() {
            return;
        }
        entry.since = now;
        self.changes += 1;
        match (before == Link::Connected, entry.link == Link::Connected) {
            (false, true) => self.connected += 1,
            (true, false) => self.connected -= 1,
            (true, true) | (false, false) => {}
        }
    }

    /// Takes over whether a peer is met, live, ready and complete, after its streams or its report changed.
    fn recount(&mut self, peer: NodeId) {
        let own = self.own_report(0);
        let entry = &mut self.peers[peer.index()];
        if entry.is_met() {
            self.met.insert(peer);
        } else {
            self.met.remove(&peer);
        }
        if peer == self.me {
            entry.report = Some(own);
        } else if !entry.is_live() {
            entry.report = None;
        }
        let (before, after) = (entry.counted, entry.standing());
        entry.counted = after;
        if before != after {
            self.changes += 1;
        }
        count(&mut self.ready, before.ready, after.ready);
        count(&mut self.complete, before.complete, after.complete);
    }

    fn own_report(&self, number: u64) -> Report {
        let missing = u16::try_from(self.peers.len() - self.connected).unwrap_or(u16::MAX);
        Report { number, state: self.state, missing }
    }

    /// Deadlines that no longer hold would wake the driver for nothing.
    fn forget_stale_timers(&mut self) {
        while let Some((at, peer, timer)) = self.timers.first() {
            let entry = &self.peers[peer.index()];
            let holds = match timer {
                Timer::Dial => self.dial_due(entry) == Some(at),
                Timer::Grace => entry.grace == Some(at),
            };
            if holds {
                return;
            }
            self.timers.pop();
        }
    }
}

fn count(total: &mut usize, before: bool, after: bool) {
    match (before, after) {
        (false, true) => *total += 1,
        (true, false) => *total -= 1,
        (true, true) | (false, false) => {}
    }
}

fn report_of(peer: &Peer, now: Moment) -> LinkReport {
    let state = peer.link.state();
    let cause = match (&peer.cause, state) {
        (_, LinkState::Connected) => None,
        (Some(cause), _) => Some(Cause::clone(cause)),
        (None, _) => Some(Cause::NotTriedYet),
    };
    LinkReport { state, cause, since: now.since(peer.since) }
}

/// The part of a map that is shown to a node that has another one.
fn disclosure(map: &NodeMap) -> Arc<[String]> {
    let mut room = Refusal::MAX_MAP_BYTES;
    map.iter()
        .take(Refusal::MAX_MAP_ENTRIES)
        .map_while(|(_, entry)| {
            room = room.checked_sub(entry.len())?;
            Some(entry.to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests;
