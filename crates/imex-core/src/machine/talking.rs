//! What members say to each other once their hellos are exchanged, and the ends of their streams.

use super::Machine;
use crate::action::{CleanUpReason, Note};
use crate::cause::Unreachable;
use crate::input::{Closure, DialFailure, StreamId};
use crate::message::Report;
use crate::peer::{Dial, Kept};
use crate::{Action, Cause, InstanceId, Moment, NodeId, NodeState, PeerMessage};

/// What a stream is to this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The dialled stream, or the accepted one in use.
    InUse,
    /// An accepted stream whose far end has yet to confirm.
    Arriving,
    /// One that this node has given up.
    Gone,
}

impl Machine {
    pub(super) fn handle_message(&mut self, stream: StreamId, message: PeerMessage, now: Moment) {
        match (self.place(stream), message) {
            (Place::Gone, _) => {}
            (Place::Arriving, PeerMessage::Report(report)) => self.confirm(stream.peer(), report, now),
            (
                Place::Arriving,
                PeerMessage::Ping(_)
                | PeerMessage::Pong(_)
                | PeerMessage::Leaving { .. }
                | PeerMessage::Reload
                | PeerMessage::RowRequest { .. }
                | PeerMessage::Row { .. },
            ) => {
                self.peers[stream.peer().index()].arriving = None;
                self.actions.push_back(Action::Close { stream });
            }
            (Place::InUse, message) => {
                self.hear(stream, now);
                self.take_message(stream, message, now);
            }
        }
    }

    pub(super) fn handle_closed(&mut self, stream: StreamId, why: Closure, now: Moment) {
        let peer = stream.peer();
        match (self.place(stream), stream) {
            (Place::InUse, StreamId::Dialled { attempt, .. })
                if is(self.peers[peer.index()].kept, attempt) =>
            {
                // Its successor is up, or is being dialled and will tell.
                self.peers[peer.index()].kept = None;
                self.recount(peer);
            }
            (Place::InUse, StreamId::Dialled { .. }) => self.lose(peer, self.cause_of_end(peer, why), now),
            (Place::InUse, StreamId::Accepted { .. }) => {
                self.peers[peer.index()].accepted = None;
                self.lose_accepted(peer, now);
            }
            (Place::Arriving, _) => self.peers[peer.index()].arriving = None,
            (Place::Gone, StreamId::Dialled { attempt, .. }) => {
                // Ends a dial that is still under way; anything else was given up before.
                let broken = DialFailure::Unreachable(Unreachable::Broken);
                self.handle_dial_failed((peer, attempt), broken, now);
            }
            (Place::Gone, StreamId::Accepted { .. }) => {}
        }
    }

    /// Keeps the newest report of a peer, whichever stream it came by.
    pub(super) fn take_report(&mut self, peer: NodeId, report: Report) {
        if peer == self.me {
            return;
        }
        let entry = &mut self.peers[peer.index()];
        if entry.has_left() {
            return;
        }
        if entry.report.is_none_or(|known| known.number < report.number) {
            entry.report = Some(report);
            self.recount(peer);
        }
    }

    /// Tells every connected peer that this node leaves.
    pub(super) fn say_goodbye(&mut self) {
        let instance = self.hello().instance();
        for (peer, entry) in self.setup.map.ids().zip(&self.peers) {
            if let Some(stream) = entry.stream(peer).filter(|_| peer != self.me) {
                let message = PeerMessage::Leaving { instance };
                self.actions.push_back(Action::Send { stream, message });
            }
        }
    }

    /// Tells every connected peer to read its credentials anew.
    pub(super) fn tell_reload(&mut self) {
        if !self.setup.security {
            return;
        }
        for (peer, entry) in self.setup.map.ids().zip(&self.peers) {
            if let Some(stream) = entry.stream(peer).filter(|_| peer != self.me) {
                self.actions.push_back(Action::Send { stream, message: PeerMessage::Reload });
            }
        }
    }

    /// Nothing is passed on: whoever replaces credentials tells everybody itself, so no loop can come of it.
    fn take_reload(&mut self, peer: NodeId) {
        if self.setup.security {
            self.actions.push_back(Action::Reload { peer });
        }
    }

    fn take_message(&mut self, stream: StreamId, message: PeerMessage, now: Moment) {
        let peer = stream.peer();
        match message {
            PeerMessage::Report(report) => self.take_report(peer, report),
            PeerMessage::Ping(number) => {
                self.actions.push_back(Action::Send { stream, message: PeerMessage::Pong(number) });
            }
            PeerMessage::Pong(_) => {}
            PeerMessage::Leaving { instance } => self.take_notice(peer, instance),
            PeerMessage::Reload => self.take_reload(peer),
            PeerMessage::RowRequest { question } => {
                let message = PeerMessage::Row { question, state: self.state, links: self.row(now) };
                self.actions.push_back(Action::Send { stream, message });
            }
            PeerMessage::Row { question, state, links } => {
                self.table_row(peer, question, (state, links), now)
            }
        }
    }

    /// A notice counts only from the living instance about itself: one from an old domain that reaches a new one
    /// through a reused address must change nothing (reference: k8s-dra-driver issue 1447).
    fn take_notice(&mut self, peer: NodeId, instance: InstanceId) {
        let entry = &mut self.peers[peer.index()];
        let known = entry.acquaintance.instance();
        if known != Some(instance) || peer == self.me {
            self.actions.push_back(Action::Note(Note::NoticeIgnored { peer, instance }));
            return;
        }
        if entry.has_left() {
            return;
        }
        let due = entry.acquaintance.leave();
        if let Some(report) = &mut entry.report {
            report.state = NodeState::ShuttingDown;
        }
        self.actions.push_back(Action::Note(Note::PeerLeft { peer }));
        self.clean_up(peer, known, due, CleanUpReason::Left);
        self.recount(peer);
    }

    fn cause_of_end(&self, peer: NodeId, why: Closure) -> Cause {
        match why {
            Closure::Reset if self.peers[peer.index()].has_left() => Cause::Left,
            Closure::Reset => Cause::ConnectionReset,
            Closure::Violation(how) => Cause::Violation(how),
        }
    }

    fn hear(&mut self, stream: StreamId, now: Moment) {
        let entry = &mut self.peers[stream.peer().index()];
        match stream {
            StreamId::Dialled { attempt, .. } => match &mut entry.kept {
                Some(kept) if kept.attempt == attempt => kept.heard = now,
                Some(_) | None => entry.dial = Dial::Open(now),
            },
            StreamId::Accepted { .. } => {
                if let Some(accepted) = &mut entry.accepted {
                    accepted.heard = now;
                }
            }
        }
    }

    fn place(&self, stream: StreamId) -> Place {
        let Some(entry) = self.peers.get(stream.peer().index()) else {
            return Place::Gone;
        };
        match stream {
            StreamId::Dialled { attempt, .. } if is(entry.open(), attempt) => Place::InUse,
            StreamId::Dialled { attempt, .. } if is(entry.kept, attempt) => Place::InUse,
            StreamId::Dialled { .. } => Place::Gone,
            StreamId::Accepted { serial, .. } => {
                if entry.accepted.as_ref().is_some_and(|accepted| accepted.serial == serial) {
                    Place::InUse
                } else if entry.arriving.as_ref().is_some_and(|arriving| arriving.serial == serial) {
                    Place::Arriving
                } else {
                    Place::Gone
                }
            }
        }
    }
}

fn is(stream: Option<Kept>, attempt: u32) -> bool {
    stream.is_some_and(|stream| stream.attempt == attempt)
}
