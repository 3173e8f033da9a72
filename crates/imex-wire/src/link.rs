//! An open link: messages both ways over one connection.

use std::sync::Arc;

use imex_core::PeerMessage;
use imex_core::input::Closure;
use thiserror::Error;

/// How much one link may hold and take, from the length of the node map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkLimits {
    message: usize,
}

/// An open link on which hellos have been exchanged.
///
/// There is no task behind it: whoever awaits [`LinkReceiver::recv`] drives the connection in both directions, so
/// somebody must always await it. Dropping the receiver closes the connection at once.
#[derive(Debug)]
pub struct Link {
    /// Where messages to the peer go in.
    pub sender: LinkSender,
    /// Where messages from the peer come out.
    pub receiver: LinkReceiver,
}

/// The sending half of a [`Link`]; cheap to clone.
///
/// When the last one is dropped, what is queued is still sent while the receiver is awaited; then the stream is
/// ended properly and `recv` gives [`LinkEnd::Finished`].
#[derive(Clone, Debug)]
pub struct LinkSender {
    _queue: Arc<()>,
}

/// The receiving half of a [`Link`], which also drives the connection.
#[derive(Debug)]
pub struct LinkReceiver {}

/// Why a message was not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SendError {
    /// The peer does not take what it is sent.
    #[error("the queue to the peer is full")]
    Full,
    /// The link has ended.
    #[error("the link has ended")]
    Closed,
}

/// Why a link ended.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LinkEnd {
    /// This side ended it, by dropping every sender, and all that was queued has left.
    #[error("this side ended the link")]
    Finished,
    /// The peer closed it, or its machine reset it.
    #[error("the peer closed the connection")]
    Reset,
    /// The peer broke the protocol.
    #[error("the peer broke the protocol")]
    Breach(#[source] crate::FrameError),
}

impl LinkLimits {
    /// The limits for a domain of this many nodes.
    pub fn for_nodes(nodes: usize) -> Self {
        LinkLimits { message: nodes }
    }

    /// The largest message in bytes.
    pub fn message(self) -> usize {
        self.message
    }
}

impl LinkSender {
    /// Queues a message. Never waits.
    pub fn send(&self, _message: &PeerMessage) -> Result<(), SendError> {
        todo!()
    }
}

impl LinkReceiver {
    /// The next message from the peer; meanwhile drives the connection both ways.
    ///
    /// Cancel-safe: dropping the future loses nothing. After an error it gives the same error again.
    #[expect(clippy::unused_async, reason = "not built yet")]
    pub async fn recv(&mut self) -> Result<PeerMessage, LinkEnd> {
        todo!()
    }
}

impl LinkEnd {
    /// The same for the core; `None` if this side ended it, which the core does not want to hear of.
    pub fn closure(&self) -> Option<Closure> {
        match self {
            LinkEnd::Finished => None,
            LinkEnd::Reset => Some(Closure::Reset),
            LinkEnd::Breach(error) => Some(Closure::Violation(error.violation())),
        }
    }
}
