//! Finding peers that have gone silent: one beat per interval for all links together.

use std::time::Duration;

use super::Machine;
use crate::action::Note;
use crate::input::StreamId;
use crate::peer::{Dial, Kept};
use crate::{Action, Cause, Moment, NodeId, PeerMessage};

/// The beat of one node.
#[derive(Debug, Default)]
pub(super) struct Heartbeat {
    next: Option<Moment>,
    number: u64,
    /// Silence before this point is not held against anybody: this process did not run.
    amnesty: Moment,
}

impl Heartbeat {
    pub(super) fn due(&self) -> Option<Moment> {
        self.next
    }
}

impl Machine {
    pub(super) fn start_heartbeat(&mut self, now: Moment) {
        self.heartbeat.next = Some(now + self.setup.timing.ping_interval);
    }

    /// Closes what has been silent for too long and pings the rest.
    pub(super) fn beat(&mut self, now: Moment) {
        let Some(due) = self.heartbeat.next.filter(|due| *due <= now) else {
            return;
        };
        let interval = self.setup.timing.ping_interval;
        self.forgive_own_pause(now.since(due), now);
        // From the planned time, not from now, so that the beat does not drift; but a pause is not made up for.
        self.heartbeat.next = Some(if now.since(due) < interval { due + interval } else { now + interval });
        self.heartbeat.number += 1;
        let limit = self.setup.timing.silence();
        for peer in self.setup.map.ids() {
            self.beat_dialled(peer, limit, now);
            self.beat_accepted(peer, limit, now);
        }
    }

    fn forgive_own_pause(&mut self, late: Duration, now: Moment) {
        if late > self.setup.timing.ping_interval / 2 {
            self.heartbeat.amnesty = now;
            self.actions.push_back(Action::Note(Note::Paused { seconds: late.as_secs() }));
        }
    }

    fn beat_dialled(&mut self, peer: NodeId, limit: Duration, now: Moment) {
        let entry = &self.peers[peer.index()];
        let newest_is_open = matches!(entry.dial, Dial::Open(_));
        let Some(Kept { attempt, heard }) = entry.open() else { return };
        let stream = StreamId::Dialled { peer, attempt };
        if now.since(heard.max(self.heartbeat.amnesty)) > limit {
            if newest_is_open {
                self.actions.push_back(Action::Close { stream });
                self.lose(peer, Cause::Silent, now);
            } else {
                // Whether the peer is lost is found by the attempt under way.
                self.drop_kept(peer);
                self.recount(peer);
            }
        } else {
            if newest_is_open {
                // By now the peer knows the newer one, or never will.
                self.drop_kept(peer);
            }
            let message = PeerMessage::Ping(self.heartbeat.number);
            self.actions.push_back(Action::Send { stream, message });
        }
    }

    /// Accepted streams are not pinged, their far ends do that; one on which nothing comes is closed.
    fn beat_accepted(&mut self, peer: NodeId, limit: Duration, now: Moment) {
        let amnesty = self.heartbeat.amnesty;
        let silent = |heard: Moment| now.since(heard.max(amnesty)) > limit;
        let entry = &mut self.peers[peer.index()];
        let arriving = entry.arriving.take_if(|arriving| silent(arriving.asked)).map(|a| a.serial);
        let accepted = entry.accepted.take_if(|accepted| silent(accepted.heard)).map(|a| a.serial);
        for serial in [arriving, accepted].into_iter().flatten() {
            let stream = StreamId::Accepted { peer, serial };
            self.actions.push_back(Action::Close { stream });
        }
        if accepted.is_some() {
            self.lose_accepted(peer, now);
        }
    }
}
