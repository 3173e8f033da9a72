//! Everything that can happen to a node.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cause::{AuthFailure, Unreachable, Violation};
use crate::{Hello, NodeId, PeerMessage, Refusal};

/// One bidirectional stream between two daemons.
///
/// Every ordered pair of nodes has one: the daemon of the first node dials it, the daemon of the second accepts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StreamId {
    /// This daemon dialled it.
    Dialled {
        /// Whom.
        peer: NodeId,
        /// Which attempt; numbers grow with each [`crate::Action::Dial`] to this peer.
        attempt: u32,
    },
    /// This daemon accepted it.
    Accepted {
        /// Who its hello says it is.
        peer: NodeId,
        /// A number that the driver gives each accepted stream once.
        serial: u32,
    },
}

impl StreamId {
    /// The node at the far end.
    pub fn peer(self) -> NodeId {
        match self {
            StreamId::Dialled { peer, .. } | StreamId::Accepted { peer, .. } => peer,
        }
    }
}

/// Whether a stream comes from the address that the map has for the node that its hello claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It does.
    Matches,
    /// It comes from elsewhere.
    Differs,
    /// It cannot be told: the entry is a host name that has not been resolved.
    Unknown,
}

/// Everything that can happen to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Files are read and the port is bound: begin.
    Start,
    /// Security is set up (only if the node was created with security).
    AuthServerReady,
    /// The GPU driver is attached, or there is none and none is wanted.
    GpuReady,
    /// A dial ended without an answer.
    DialFailed {
        /// Whom it was for.
        peer: NodeId,
        /// Which attempt; an attempt that the core has given up is ignored.
        attempt: u32,
        /// Why.
        why: DialFailure,
    },
    /// The peer's machine took the connection of a dial; its daemon has yet to say something. Without it a dial that is
    /// given up counts as one that the machine did not answer.
    Reached {
        /// Whom the stream was dialled to.
        peer: NodeId,
        /// Which attempt.
        attempt: u32,
    },
    /// Mutual authentication has begun on a dialled stream; from now on the attempt has
    /// [`crate::Timing::auth_deadline`].
    AuthenticationStarted {
        /// Whom the stream was dialled to.
        peer: NodeId,
        /// Which attempt.
        attempt: u32,
    },
    /// The far end of a dialled stream sent its first message.
    Answered {
        /// Whom the stream was dialled to.
        peer: NodeId,
        /// Which attempt; an attempt that the core has given up is ignored.
        attempt: u32,
        /// What it said.
        answer: Answer,
    },
    /// Somebody dialled this daemon and introduced itself. The core answers with [`crate::Action::Admit`] or
    /// [`crate::Action::Refuse`].
    Arrived {
        /// The number that the driver gave the stream; its [`StreamId`] is `Accepted { peer: hello.node(), serial }`.
        serial: u32,
        /// The introduction.
        hello: Arc<Hello>,
        /// Where it came from.
        source: Source,
    },
    /// A message came by a stream on which hellos have been exchanged.
    Received {
        /// The stream.
        stream: StreamId,
        /// The message.
        message: PeerMessage,
    },
    /// A stream on which hellos have been exchanged is gone. A stream that the core no longer holds is ignored.
    Closed {
        /// The stream.
        stream: StreamId,
        /// Why.
        why: Closure,
    },
    /// The set of nodes that import memory from this one has changed.
    ImportersChanged(BTreeSet<NodeId>),
    /// Somebody wants the domain's table; answered by [`crate::Action::AnswerTable`] with the same ticket.
    TableAsked {
        /// Chosen by the driver.
        ticket: u64,
    },
    /// Dial everybody anew (signal USR1): names are resolved again. Streams that are open stay so until the new ones are
    /// up: for a while there are two to a peer.
    Redial,
    /// The operator has replaced this node's credentials: tell the members to read theirs anew. They are not dialled by
    /// this; hand in [`Input::Redial`] when they have had the time.
    TellReload,
    /// Leave the domain (signals TERM, INT, QUIT).
    Leave,
}

/// Why a dial ended without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DialFailure {
    /// The host name in the map did not resolve.
    NameUnknown,
    /// No connection, or none that lasted until the answer.
    Unreachable(Unreachable),
    /// The two did not authenticate each other.
    Unauthenticated(AuthFailure),
    /// The far end answered with something that is no answer.
    Violation(Violation),
}

/// The far end's first message on a dialled stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Its own introduction: it accepted ours.
    Hello(Arc<Hello>),
    /// It refused ours.
    Refusal(Refusal),
}

/// Why a stream is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closure {
    /// The far end closed it, or its machine reset it.
    Reset,
    /// The far end broke the protocol, so the driver closed it.
    Violation(Violation),
}
