//! Everything a node can ask for.

use std::collections::BTreeSet;

use crate::input::StreamId;
use crate::{Cause, DomainState, DomainTable, InstanceId, NodeId, NodeState, PeerMessage, Refusal};

/// Something that the driver is to do. Actions are to be performed in the order in which they come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Connect to the peer's entry in the map, resolving a name anew; say hello; then hand in
    /// [`crate::Input::Answered`] or [`crate::Input::DialFailed`].
    Dial {
        /// Whom.
        peer: NodeId,
        /// The number of the attempt; the stream is `StreamId::Dialled { peer, attempt }`.
        attempt: u32,
    },
    /// Answer an accepted stream with this daemon's hello and go on reading from it.
    Admit {
        /// The stream.
        stream: StreamId,
    },
    /// Answer an accepted stream with a refusal and close it.
    Refuse {
        /// The stream.
        stream: StreamId,
        /// What to say.
        refusal: Refusal,
    },
    /// Send a message. A stream that is gone by now is no error: its end is told by [`crate::Input::Closed`].
    Send {
        /// By which stream.
        stream: StreamId,
        /// What.
        message: PeerMessage,
    },
    /// Close a stream, or give up a dial. No input about it is expected afterwards.
    Close {
        /// The stream.
        stream: StreamId,
    },
    /// Drop everything that came from an instance of a peer: the driver invalidates its imports and exports.
    CleanUp {
        /// The peer.
        peer: NodeId,
        /// The instance that is gone.
        instance: InstanceId,
        /// Why.
        reason: CleanUpReason,
    },
    /// Store the nodes that import from this one, before anything that comes after it leaves.
    RecordImporters(BTreeSet<NodeId>),
    /// Set up security, then hand in [`crate::Input::AuthServerReady`].
    StartAuthServer,
    /// A member's operator has replaced its credentials: read this node's anew, then hand in [`crate::Input::Redial`].
    /// Only where there is security. May come as often as a member likes: how often it is done is the driver's to bound.
    Reload {
        /// Who says so.
        peer: NodeId,
    },
    /// Attach to the GPU driver, then hand in [`crate::Input::GpuReady`].
    AttachGpu,
    /// Answer to [`crate::Input::TableAsked`].
    AnswerTable {
        /// The asker's ticket.
        ticket: u64,
        /// The table.
        table: DomainTable,
    },
    /// All has been said: flush what is queued for the peers and end.
    Exit,
    /// Something that an operator may want to know; it asks for nothing.
    Note(Note),
}

/// Why a peer's instance is cleaned up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CleanUpReason {
    /// Another instance answers at its address.
    NewInstance,
    /// Its link was lost and the grace time has passed.
    GraceOver,
    /// It said that it was leaving.
    Left,
}

/// Something that an operator may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// This node's state changed.
    State {
        /// Before.
        from: NodeState,
        /// After.
        to: NodeState,
    },
    /// The domain's state, as seen from here, changed.
    Domain {
        /// Before.
        from: DomainState,
        /// After.
        to: DomainState,
    },
    /// A link came up.
    LinkUp {
        /// To whom.
        peer: NodeId,
        /// To which instance.
        instance: InstanceId,
        /// How often it has come up since this daemon's start.
        times: u32,
    },
    /// A link that was up was lost.
    LinkLost {
        /// To whom.
        peer: NodeId,
        /// Why.
        cause: Cause,
    },
    /// A dial failed.
    DialFailed {
        /// Whom it was for.
        peer: NodeId,
        /// Which attempt.
        attempt: u32,
        /// Why.
        cause: Cause,
        /// Whether the last attempt failed for another reason, so that this is news.
        news: bool,
    },
    /// A stream was refused.
    Refused {
        /// The node it claimed to be.
        claimed: NodeId,
        /// Its instance.
        instance: InstanceId,
        /// Why.
        cause: Cause,
    },
    /// A peer has been restarted.
    NewInstance {
        /// Who.
        peer: NodeId,
        /// The instance that is gone.
        old: InstanceId,
        /// The instance that is there.
        new: InstanceId,
    },
    /// A peer said that it was leaving.
    PeerLeft {
        /// Who.
        peer: NodeId,
    },
    /// A notice of leaving was ignored: it named an instance that is not the one known.
    NoticeIgnored {
        /// By whose stream it came.
        peer: NodeId,
        /// Which instance it named.
        instance: InstanceId,
    },
    /// Two answers from one address contradict each other and cannot be put in order; it is asked again.
    Inconclusive {
        /// Whose address.
        peer: NodeId,
    },
    /// This process did not run for a while, so the silence of the peers means nothing.
    Paused {
        /// For how long.
        seconds: u64,
    },
}
