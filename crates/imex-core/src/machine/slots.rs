//! How many dials are under way at once, and who is next.
//!
//! 144 daemons that start together on one machine want 20,736 handshakes. All at once, each waits for all others,
//! runs into its deadline, and is begun again: nothing ever ends. A few at a time, one ends after another. A peer that
//! has just said hello goes first, and has places that no dead one can take: it is alive, and the domain waits for it.

use std::collections::VecDeque;

use super::Machine;
use crate::peer::{Attempt, Dial, Stage, Urgency};
use crate::timers::Timer;
use crate::timing::{DIALS_AT_ONCE, URGENT_DIALS_AT_ONCE};
use crate::{Action, Moment, NodeId};

/// The dials of one node. Queues hold a peer at most twice per dial; one that no longer waits is passed over.
#[derive(Debug, Default)]
pub(super) struct Slots {
    under_way: usize,
    urgent: VecDeque<NodeId>,
    ordinary: VecDeque<NodeId>,
}

impl Slots {
    /// Takes out the next peer for which there is a place.
    fn next(&mut self) -> Option<NodeId> {
        if self.under_way >= URGENT_DIALS_AT_ONCE {
            return None;
        }
        let urgent = self.urgent.pop_front();
        if urgent.is_some() || self.under_way >= DIALS_AT_ONCE {
            return urgent;
        }
        self.ordinary.pop_front()
    }

    fn push(&mut self, peer: NodeId, urgency: Urgency) {
        match urgency {
            Urgency::Ordinary => self.ordinary.push_back(peer),
            Urgency::Urgent => self.urgent.push_back(peer),
        }
    }
}

impl Machine {
    /// Dials a peer as soon as there is a place for it: at the end of this turn if there is one now.
    pub(super) fn queue_dial(&mut self, peer: NodeId, urgency: Urgency) {
        self.set_dial(peer, Dial::Queued(urgency));
        self.slots.push(peer, urgency);
    }

    /// Begins the dials for which there are places.
    pub(super) fn begin_dials(&mut self, now: Moment) {
        while let Some(peer) = self.slots.next() {
            if matches!(self.peers[peer.index()].dial, Dial::Queued(_)) {
                self.begin_dial(peer, now);
            }
        }
    }

    /// The one way to change what a peer's dialled stream does.
    pub(super) fn set_dial(&mut self, peer: NodeId, dial: Dial) {
        let entry = &mut self.peers[peer.index()];
        self.slots.under_way -= usize::from(matches!(entry.dial, Dial::Asking(_)));
        self.slots.under_way += usize::from(matches!(dial, Dial::Asking(_)));
        entry.dial = dial;
    }

    #[cfg(test)]
    pub(super) fn dials_under_way(&self) -> usize {
        self.slots.under_way
    }

    fn begin_dial(&mut self, peer: NodeId, now: Moment) {
        let until = now + self.setup.timing.dial_deadline;
        self.set_dial(peer, Dial::Asking(Attempt { since: now, until, stage: Stage::Reaching }));
        let entry = &mut self.peers[peer.index()];
        entry.attempt = entry.attempt.wrapping_add(1);
        self.actions.push_back(Action::Dial { peer, attempt: entry.attempt });
        self.timers.arm(until, peer, Timer::Dial);
    }
}
