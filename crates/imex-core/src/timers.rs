//! What is due when, for the peers of one node.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Moment, NodeId};

/// What a peer waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    /// The next dial, or the end of the one under way.
    Dial,
    /// The end of the grace time.
    Grace,
}

/// A queue of deadlines. Deadlines are never removed when they lose their meaning: whoever takes one out asks the
/// peer whether it still holds. Each dial adds at most two, so the queue stays within a few entries per peer.
#[derive(Debug, Default)]
pub(crate) struct Timers(BinaryHeap<Reverse<(Moment, NodeId, Timer)>>);

impl Timers {
    pub(crate) fn arm(&mut self, at: Moment, peer: NodeId, timer: Timer) {
        self.0.push(Reverse((at, peer, timer)));
    }

    /// The earliest deadline.
    pub(crate) fn first(&self) -> Option<(Moment, NodeId, Timer)> {
        self.0.peek().map(|Reverse(entry)| *entry)
    }

    /// Takes out the earliest deadline.
    pub(crate) fn pop(&mut self) -> Option<(Moment, NodeId, Timer)> {
        self.0.pop().map(|Reverse(entry)| entry)
    }
}
