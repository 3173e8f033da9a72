//! The links that others dial: whom to admit, and when to believe that who came is alive.

use std::sync::Arc;

use super::Machine;
use crate::acquaintance::{Evidence, Terms};
use crate::action::Note;
use crate::cause::Violation;
use crate::input::{Source, StreamId};
use crate::link::Link;
use crate::message::Report;
use crate::peer::{Accepted, Arriving, Urgency};
use crate::{Action, Cause, Hello, Moment, NodeId, Refusal};

impl Machine {
    pub(super) fn handle_arrival(&mut self, serial: u32, hello: Arc<Hello>, source: Source, now: Moment) {
        let peer = hello.node();
        if let Some((refusal, cause)) = self.reason_to_refuse(&hello, source) {
            self.refuse(serial, &hello, refusal, cause);
            return;
        }
        self.actions.push_back(Action::Admit { stream: StreamId::Accepted { peer, serial } });
        let arriving = Arriving { serial, asked: now, hello };
        if let Some(older) = self.peers[peer.index()].arriving.replace(arriving) {
            let stream = StreamId::Accepted { peer, serial: older.serial };
            self.actions.push_back(Action::Close { stream });
        }
        self.dial_next(peer, Urgency::Urgent);
    }

    pub(super) fn refuse(&mut self, serial: u32, hello: &Hello, refusal: Refusal, cause: Cause) {
        let (claimed, instance) = (hello.node(), hello.instance());
        self.actions.push_back(Action::Note(Note::Refused { claimed, instance, cause }));
        self.actions
            .push_back(Action::Refuse { stream: StreamId::Accepted { peer: claimed, serial }, refusal });
    }

    /// The far end of an arriving stream sent its first report: it has read this node's hello, so it lives.
    pub(super) fn confirm(&mut self, peer: NodeId, report: Report, now: Moment) {
        let entry = &mut self.peers[peer.index()];
        let Some(arriving) = entry.arriving.take() else {
            return;
        };
        let stream = StreamId::Accepted { peer, serial: arriving.serial };
        match entry.acquaintance.learn(&arriving.hello, Terms::Member, arriving.asked, now) {
            Evidence::First | Evidence::Same => self.take_in(peer, &arriving, now),
            Evidence::Successor { old, clean_up } => {
                self.succeed(peer, old, clean_up, now);
                self.take_in(peer, &arriving, now);
                self.dial_next(peer, Urgency::Urgent);
            }
            Evidence::Ended => {
                self.actions.push_back(Action::Close { stream });
                return;
            }
            Evidence::Inconclusive => {
                self.actions.push_back(Action::Note(Note::Inconclusive { peer }));
                self.actions.push_back(Action::Close { stream });
                return;
            }
        }
        self.take_report(peer, report);
    }

    /// What follows from the end of the accepted stream in use. A peer that this node never reached by itself, or no
    /// longer reaches, is lost with it, and may have left things behind.
    pub(super) fn lose_accepted(&mut self, peer: NodeId, now: Moment) {
        self.recount(peer);
        let entry = &self.peers[peer.index()];
        if !entry.is_live() && entry.link != Link::Connected && entry.grace.is_none() {
            self.start_grace(peer, now);
        }
        self.table_lost(peer, now);
    }

    fn take_in(&mut self, peer: NodeId, arriving: &Arriving, now: Moment) {
        let instance = arriving.hello.instance();
        let accepted = Accepted { serial: arriving.serial, came: arriving.asked, heard: now, instance };
        let entry = &mut self.peers[peer.index()];
        // Back within the grace time that the end of its last stream began; that of a lost link goes on.
        if !entry.link.is_lost() {
            entry.grace = None;
        }
        if let Some(older) = entry.accepted.replace(accepted) {
            let stream = StreamId::Accepted { peer, serial: older.serial };
            self.actions.push_back(Action::Close { stream });
        }
        self.recount(peer);
    }

    /// The order matters: members of another domain are told nothing, and a node with another map cannot be asked
    /// whether it stands in the right place of ours.
    fn reason_to_refuse(&self, hello: &Hello, source: Source) -> Option<(Refusal, Cause)> {
        let (ours, theirs) = (self.hello().get(), hello.get());
        let by = Arc::clone(self.hello());
        if ours.token != theirs.token {
            return Some((Refusal::OtherDomain, Cause::OtherDomain));
        }
        if ours.protocol != theirs.protocol || ours.driver != theirs.driver {
            return Some((Refusal::Version { by }, self.version_cause(hello)));
        }
        if ours.digest != theirs.digest {
            let cause = Cause::MapDiffers { differences: Arc::new([]) };
            let entries = Arc::clone(&self.disclosure);
            return Some((Refusal::Map { by, entries, len: self.setup.map.len() }, cause));
        }
        let impostor = theirs.node == self.me && theirs.instance != ours.instance;
        let in_map = theirs.node.index() < self.peers.len();
        if source == Source::Differs || impostor || !in_map {
            let cause = Cause::NotAtItsAddress { claimed: theirs.node.number() };
            return Some((Refusal::NotAtItsAddress { by }, cause));
        }
        if self.peers[theirs.node.index()].acquaintance.has_ended(theirs.instance) {
            return Some((Refusal::EndedInstance, Cause::Violation(Violation::EndedInstance)));
        }
        None
    }
}
