//! The invariants that are checked after each event.

use imex_core::action::CleanUpReason;
use imex_core::{
    DomainState, DomainSummary, Grace, Input, InstanceId, LinkState, NodeId, NodeState, PeerMessage,
    QuorumMode,
};

use super::World;
use crate::Address;
use crate::host::{CleanUpSeen, Process, Run, run_of};
use crate::invariants::{Invariant, Pair, Violation};
use crate::stream::{Stage, StreamKey, Streams};

/// In clusters up to this size every pair of the daemon is checked after each event, not only those that the event
/// touched: what an event does to links that it is not about would be the worst of faults.
const CHECK_ALL_UP_TO: usize = 32;

/// What must be as it was after an input that must change nothing.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Before {
    peer: NodeId,
    state: NodeState,
    link: LinkState,
    domain: DomainSummary,
    clean_ups: usize,
}

/// What a daemon believes of a peer.
#[derive(Clone, Copy)]
struct Belief {
    link: LinkState,
    linked: Option<InstanceId>,
    admitted: Option<InstanceId>,
    /// The run of the peer whose dialled stream this event is the first message of.
    confirmed: Option<u32>,
}

type Broken = (Invariant, String);

impl World {
    pub(super) fn violation(&self, invariant: Invariant, address: Address, detail: String) -> Box<Violation> {
        Box::new(Violation { invariant, at: self.now, address, detail })
    }

    /// Checks everything about the daemon at an address and the peers that the last event touched.
    pub(super) fn check(&mut self, address: Address) -> Result<(), Box<Violation>> {
        if let Some(len) = self.hosts[address.index()].process.as_ref().map(|process| process.pairs.len()) {
            if len <= CHECK_ALL_UP_TO {
                for index in 0..len {
                    self.check_pair(address, Address::at(index).number())?;
                }
            } else {
                let touched = std::mem::take(&mut self.touched);
                for peer in touched.iter().filter(|peer| peer.index() < len) {
                    self.check_pair(address, peer.number())?;
                }
                self.touched = touched;
            }
        }
        let host = &mut self.hosts[address.index()];
        let Some(process) = host.process.as_mut() else {
            return Ok(());
        };
        let quorum = check_quorum(process, &host.runs[process.run as usize], &self.streams);
        process.was = process.machine.state();
        let up = process.machine.domain().state == DomainState::Up;
        if up != process.sees_up {
            process.sees_up = up;
            if up {
                self.sees_up += 1;
            } else {
                self.sees_up -= 1;
            }
        }
        quorum.map_err(|detail| self.violation(Invariant::QuorumIsExact, address, detail))
    }

    fn check_pair(&mut self, address: Address, peer: u16) -> Result<(), Box<Violation>> {
        let peer = NodeId::new(peer);
        let Some(process) = &self.hosts[address.index()].process else {
            return Ok(());
        };
        let belief = Belief {
            link: process.machine.link(peer),
            linked: process.machine.linked_instance(peer),
            admitted: process.machine.admitted_instance(peer),
            confirmed: self.confirmed.filter(|(from, _)| *from == peer).map(|(_, run)| run),
        };
        let mut pair = process.pairs[peer.index()];
        let checked =
            self.check_belief(address, peer, belief).and_then(|run| follow(&mut pair, belief, run, self.now));
        if let Some(process) = self.hosts[address.index()].process.as_mut() {
            process.pairs[peer.index()] = pair;
        }
        checked.map_err(|(invariant, detail)| {
            let detail = format!("about node {peer}: {detail}");
            self.violation(invariant, address, detail)
        })
    }

    /// Compares a belief with the truth. Returns the run of the known instance.
    fn check_belief(&self, address: Address, peer: NodeId, belief: Belief) -> Result<Option<u32>, Broken> {
        let host = &self.hosts[address.index()];
        let Some(process) = &host.process else {
            return Ok(None);
        };
        let own = &host.runs[process.run as usize];
        if (belief.link == LinkState::Connected) != belief.linked.is_some() {
            let detail = format!("link is {} with instance {:?}", belief.link, belief.linked);
            return Err((Invariant::ConnectedMeansAdmitted, detail));
        }
        if let (Some(linked), Some(admitted)) = (belief.linked, belief.admitted)
            && linked != admitted
        {
            return Err((Invariant::OneInstance, format!("linked to {linked}, admitted {admitted}")));
        }
        for known in belief.linked.into_iter().chain(belief.admitted) {
            self.check_member(own, peer, known)?;
        }
        if let Some(linked) = belief.linked {
            self.check_admitted(process, peer, linked)?;
        }
        Ok(belief.linked.or(belief.admitted).map(|known| run_of(known).1))
    }

    fn check_member(&self, own: &Run, peer: NodeId, known: InstanceId) -> Result<(), Broken> {
        let (home, run) = run_of(known);
        let Some(other) = self.run_with(known) else {
            return Err((Invariant::OnlyMembers, format!("{known} never existed")));
        };
        if own.map.address(peer) != Some(home) || other.hello.node() != peer {
            return Err((Invariant::OnlyMembers, format!("{known} lives at host {home}")));
        }
        if !own.config.agrees_with(&other.config) {
            let detail =
                format!("run {run} at host {home} has {:?}, this one {:?}", other.config, own.config);
            return Err((Invariant::OnlyMembers, detail));
        }
        Ok(())
    }

    fn check_admitted(&self, process: &Process, peer: NodeId, linked: InstanceId) -> Result<(), Broken> {
        // A link that is dialled anew stays up until the new attempt has failed.
        let pair = &process.pairs[peer.index()];
        let stays = pair.linked && pair.run == run_of(linked).1;
        let key = process.dialled[peer.index()];
        if key == StreamKey::NONE {
            return Err((Invariant::ConnectedMeansAdmitted, "link is up without a stream".to_owned()));
        }
        let stream = self.streams.get(key);
        let far = stream.acceptor.run_id();
        let established = stream.stage == Stage::Established && (far.address, far.number) == run_of(linked);
        let dialled_anew = stays && stream.stage != Stage::Established;
        if !(established || dialled_anew) {
            let detail = format!("link is up to {linked}, but the stream to {far} is {:?}", stream.stage);
            return Err((Invariant::ConnectedMeansAdmitted, detail));
        }
        Ok(())
    }

    fn run_with(&self, instance: InstanceId) -> Option<&Run> {
        let (home, run) = run_of(instance);
        let found = self.hosts.get(home.index())?.runs.get(run as usize)?;
        (found.hello.instance() == instance).then_some(found)
    }

    /// Checks and notes a clean-up that the daemon at an address asks for.
    pub(super) fn check_clean_up(
        &mut self,
        address: Address,
        peer: NodeId,
        instance: InstanceId,
        reason: CleanUpReason,
    ) -> Result<(), Box<Violation>> {
        self.counts.clean_ups += 1;
        let (home, number) = run_of(instance);
        let over =
            self.run_with(instance).map(|run| run.leaving || !self.hosts[home.index()].is_running(number));
        let now = self.now;
        let host = &mut self.hosts[address.index()];
        let Some(process) = host.process.as_mut() else {
            return Ok(());
        };
        let own = &host.runs[process.run as usize];
        let pair = &mut process.pairs[peer.index()];
        let detail = format!("clean-up of {instance} of node {peer} for {reason:?}, known was {pair:?}");
        let known = own.map.address(peer) == Some(home) && pair.run == number;
        let due = match (reason, own.config.grace) {
            (CleanUpReason::NewInstance | CleanUpReason::Left, _) => over == Some(true),
            (CleanUpReason::GraceOver, Grace::Forever) => false,
            (CleanUpReason::GraceOver, Grace::For(grace)) => {
                pair.linked && grace.is_zero() || pair.lost + grace <= now
            }
        };
        let broken = if over.is_none() || !known || pair.cleaned {
            Some(Invariant::OneCleanUp)
        } else if !due {
            Some(Invariant::CleanUpIsDue)
        } else {
            None
        };
        pair.cleaned = true;
        host.clean_ups.push(CleanUpSeen { at: now, run: process.run, peer, instance, reason });
        match broken {
            Some(invariant) => Err(self.violation(invariant, address, detail)),
            None => Ok(()),
        }
    }

    /// What must stay as it is, if the input is one that must change nothing.
    pub(super) fn must_change_nothing(&self, address: Address, input: &Input) -> Option<Before> {
        let host = &self.hosts[address.index()];
        let process = host.process.as_ref()?;
        let own = &host.runs[process.run as usize];
        let peer = super::peer_of(input)?;
        let stranger = if let Input::Received { message: PeerMessage::Leaving { instance }, .. } = input {
            let (home, run) = run_of(*instance);
            let pair = process.pairs.get(peer.index())?;
            own.map.address(peer) != Some(home) || pair.run != run
        } else if let Input::Arrived { hello, .. } = input {
            hello.get().token != own.hello.get().token
        } else {
            false
        };
        (stranger && peer.index() < process.pairs.len()).then(|| self.before(address, peer)).flatten()
    }

    fn before(&self, address: Address, peer: NodeId) -> Option<Before> {
        let host = &self.hosts[address.index()];
        let machine = &host.process.as_ref()?.machine;
        Some(Before {
            peer,
            state: machine.state(),
            link: machine.link(peer),
            domain: machine.domain(),
            clean_ups: host.clean_ups.len(),
        })
    }

    pub(super) fn check_unchanged(&self, address: Address, before: Before) -> Result<(), Box<Violation>> {
        let after = self.before(address, before.peer);
        if after.as_ref() == Some(&before) {
            return Ok(());
        }
        let detail = format!("was {before:?}, is {after:?}");
        Err(self.violation(Invariant::StrangersChangeNothing, address, detail))
    }

    /// Counts that time was passed to a daemon. A daemon has a few timers per peer: ping, retry, deadline, grace.
    pub(super) fn count_wake(&mut self, address: Address) -> Result<(), Box<Violation>> {
        let second = self.now.since_origin().as_secs();
        let Some(process) = self.hosts[address.index()].process.as_mut() else {
            return Ok(());
        };
        if process.second != second {
            process.second = second;
            process.wakes = 0;
        }
        process.wakes += 1;
        let bound = 100 + 10 * process.pairs.len();
        if process.wakes as usize > bound {
            let reason = process.machine.poll_timeout();
            let detail = format!("woken more than {bound} times in one second, next {reason:?}");
            return Err(self.violation(Invariant::WorkIsBounded, address, detail));
        }
        Ok(())
    }
}

/// Follows what a daemon knows of a peer.
fn follow(pair: &mut Pair, belief: Belief, run: Option<u32>, now: imex_core::Moment) -> Result<(), Broken> {
    let (linked, admitted) = (belief.linked.is_some(), belief.admitted.is_some());
    if let Some(run) = run {
        if pair.run != Pair::UNKNOWN && run < pair.run {
            return Err((Invariant::NoReturn, format!("run {run} is known after run {}", pair.run)));
        }
        if pair.run != run {
            if pair.run != Pair::UNKNOWN && !pair.cleaned {
                let detail = format!("run {run} is known and run {} was not cleaned up", pair.run);
                return Err((Invariant::OneCleanUp, detail));
            }
            *pair = Pair { run, ..Pair::default() };
        }
        let back =
            (linked && !pair.linked) || (admitted && (!pair.admitted || belief.confirmed == Some(run)));
        if back && pair.cleaned {
            pair.cleaned = false;
            pair.ever_linked = false;
        }
    }
    let lost_link = pair.linked && !linked;
    let lost_peer = pair.admitted && !admitted && !pair.ever_linked;
    if lost_link || lost_peer {
        pair.lost = now;
    }
    pair.linked = linked;
    pair.ever_linked |= linked;
    pair.admitted = admitted;
    Ok(())
}

/// A node leaves its quorum behind exactly when everybody of it is linked both ways.
fn check_quorum(process: &Process, run: &Run, streams: &Streams) -> Result<(), String> {
    let state = process.machine.state();
    let waits = matches!(state, NodeState::WaitingForPeers | NodeState::WaitingForRecovery);
    let serves = |state| matches!(state, NodeState::InitGpu | NodeState::Ready);
    let passed = serves(state) && !serves(process.was);
    if !waits && !passed {
        return Ok(());
    }
    // A link that is dialled anew is met by its older stream, as long as that is open.
    let open = |key: StreamKey| key != StreamKey::NONE && streams.get(key).stage == Stage::Established;
    let met = |node: NodeId| {
        let (newest, kept) = (process.dialled[node.index()], process.kept[node.index()]);
        let up = process.machine.link(node) == LinkState::Connected && (open(newest) || open(kept));
        up && process.machine.admitted_instance(node).is_some()
    };
    let missing = match run.config.quorum {
        QuorumMode::None => None,
        QuorumMode::Recovery => run.importers.iter().copied().find(|node| !met(*node)),
        QuorumMode::Full => run.map.nodes.iter().map(|(node, _)| node).find(|node| !met(*node)),
    };
    match missing {
        Some(node) if passed => Err(format!("{state} without node {node}")),
        None if waits => Err(format!("{state} with everybody there")),
        Some(_) | None => Ok(()),
    }
}
