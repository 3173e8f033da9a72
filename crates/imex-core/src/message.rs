//! What two members say to each other after their introductions.

use crate::{InstanceId, LinkReport, NodeState};

/// A message between members. Checked: whatever holds one knows that it is within its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerMessage {
    /// The sender's state and how complete its row is; sent when a link opens and when either changes.
    Report(Report),
    /// "Are you there?" Must be answered by a [`PeerMessage::Pong`] with the same number.
    Ping(u64),
    /// The answer to a ping.
    Pong(u64),
    /// The sender is leaving; valid only if `instance` is the one that the receiver knows.
    Leaving {
        /// The instance that leaves.
        instance: InstanceId,
    },
    /// The sender's credentials were replaced by its operator; the receiver is to read its own anew. Means something only
    /// where there is security.
    Reload,
    /// Asks for the receiver's whole row.
    RowRequest {
        /// Chosen by the asker; comes back with the row.
        question: u64,
    },
    /// A whole row.
    Row {
        /// The number of the request.
        question: u64,
        /// The sender's state.
        state: NodeState,
        /// One report per node of the map, in order.
        links: Vec<LinkReport>,
    },
}

/// What a node tells everybody about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Counts up from 1 within one instance; the highest number is the newest, whichever stream it came by.
    pub number: u64,
    /// The node's state.
    pub state: NodeState,
    /// How many cells of its row are not connected; 0 means that the row is complete.
    pub missing: u16,
}

impl Report {
    /// Whether both say the same of the node, whatever their numbers.
    pub(crate) fn agrees_with(&self, other: &Report) -> bool {
        (self.state, self.missing) == (other.state, other.missing)
    }
}
