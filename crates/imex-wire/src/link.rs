//! An open link: messages both ways over one connection.

use std::future::poll_fn;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use h2::SendStream;
use http::HeaderMap;
use http::header::HeaderValue;
use imex_core::PeerMessage;
use imex_core::input::Closure;
use prost::Message;
use thiserror::Error;

use crate::breach::Breach;
use crate::framing;
use crate::outbox::{OutboxReceiver, OutboxSender, Queued, outbox};
use crate::peer::{self, Frame};
use crate::proto;
use crate::row::MAX_CELL_BYTES;
use crate::stream::{Connection, End, Stream};

#[cfg(test)]
mod tests;

/// How much one link may hold and take, from the length of the node map.
///
/// Every message but a row is bounded by 64 KiB. A row has one cell per node, and a cell of a node with another map
/// shows entries of both: its bound grows with the map, and nothing smaller would be right, because refusing a
/// peer's honest row would break the link. Only members, whose map is the same, come to send rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkLimits {
    message: usize,
}

/// The most bytes of a message that is not a row: a refusal with its map entries, the largest, has 48 KiB.
pub(crate) const MAX_MESSAGE: usize = 64 * 1024;

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
/// ended, and when the peer has closed its side `recv` gives [`LinkEnd::Finished`].
#[derive(Clone, Debug)]
pub struct LinkSender {
    outbox: OutboxSender,
}

/// The receiving half of a [`Link`], which also drives the connection.
#[derive(Debug)]
pub struct LinkReceiver {
    stream: Box<Stream>,
    outbox: OutboxReceiver,
    /// `None` where the peer had reset the stream before it was admitted.
    outgoing: Option<SendStream<Bytes>>,
    /// What has left the outbox and waits for the peer's window.
    unsent: Bytes,
    phase: Phase,
    limits: LinkLimits,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    /// Messages go both ways.
    Open,
    /// All senders are gone; what they left is in `unsent`.
    Finishing,
    /// The stream is ended from this side.
    Finished,
    /// Nothing more comes.
    Over(LinkEnd),
}

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
    /// This side ended it by dropping every sender, and the peer has taken all that was queued or is gone.
    #[error("this side ended the link")]
    Finished,
    /// The peer closed it, or its machine reset it.
    #[error("the peer closed the connection")]
    Reset,
    /// The peer broke the protocol.
    #[error("the peer broke the protocol")]
    Breach(#[source] Breach),
}

impl LinkLimits {
    /// The limits for a domain of this many nodes.
    pub fn for_nodes(nodes: usize) -> Self {
        LinkLimits { message: MAX_MESSAGE + nodes * MAX_CELL_BYTES }
    }

    /// The largest message in bytes.
    pub fn message(self) -> usize {
        self.message
    }

    /// The most bytes that wait for a peer that does not take them: one row of the largest kind and a second's worth
    /// of everything else, so that only a peer that has stopped reading fills it.
    pub fn queue(self) -> usize {
        self.message + MAX_MESSAGE
    }
}

impl Link {
    /// A link over an open stream, on which `first` is still to be sent.
    pub(crate) fn new(
        stream: Box<Stream>,
        outgoing: Option<SendStream<Bytes>>,
        first: Bytes,
        limits: LinkLimits,
    ) -> Self {
        let (sender, receiver) = outbox(limits.queue());
        Link {
            sender: LinkSender { outbox: sender },
            receiver: LinkReceiver {
                stream,
                outbox: receiver,
                outgoing,
                unsent: first,
                phase: Phase::Open,
                limits,
            },
        }
    }
}

impl LinkSender {
    /// Queues a message. Never waits; it leaves when the receiver is next awaited.
    pub fn send(&self, message: &PeerMessage) -> Result<(), SendError> {
        self.outbox.push(&peer::message_frame(message))
    }
}

impl LinkReceiver {
    /// The next message from the peer; meanwhile drives the connection both ways.
    ///
    /// Cancel-safe: dropping the future loses nothing. After an error it gives the same error again.
    pub async fn recv(&mut self) -> Result<PeerMessage, LinkEnd> {
        poll_fn(|cx| self.poll_recv(cx)).await
    }

    /// The same for those who poll.
    pub fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Result<PeerMessage, LinkEnd>> {
        if let Phase::Over(end) = &self.phase {
            return Poll::Ready(Err(end.clone()));
        }
        let received = ready!(self.poll_frame(cx)).and_then(|frame| match frame {
            Frame::Message(message) => Ok(message),
            Frame::Hello(..) => Err(End::Breach(Breach::SecondHello)),
            Frame::Refusal(..) => Err(End::Breach(Breach::StrayRefusal)),
        });
        Poll::Ready(received.map_err(|end| self.end(end)))
    }

    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Result<Frame, End>> {
        loop {
            self.pump(cx);
            if let Poll::Ready(frame) = self.stream.poll_frame(cx, self.limits.message) {
                return Poll::Ready(frame);
            }
            // Driving the connection may have opened the peer's window.
            let window = self.outgoing.as_ref().map_or(0, SendStream::capacity);
            if self.unsent.is_empty() || window == 0 {
                break;
            }
        }
        self.stream.wire.poll_release_or(cx, Err(End::Closed))
    }

    /// Hands as much to the HTTP/2 layer as the peer's window takes.
    fn pump(&mut self, cx: &Context<'_>) {
        if self.unsent.is_empty() && self.phase == Phase::Open {
            match self.outbox.take(cx) {
                Queued::Bytes(bytes) => self.unsent = bytes,
                Queued::Last(bytes) => {
                    self.unsent = bytes;
                    self.phase = Phase::Finishing;
                }
            }
        }
        // Errors of the writing side are those of the connection, which the reading side reports.
        let Some(outgoing) = &mut self.outgoing else {
            return;
        };
        while !self.unsent.is_empty() {
            outgoing.reserve_capacity(self.unsent.len());
            let window = outgoing.capacity().min(self.unsent.len());
            if window == 0 || outgoing.send_data(self.unsent.split_to(window), false).is_err() {
                return;
            }
        }
        if self.phase == Phase::Finishing {
            let _ = end_stream(&self.stream.connection, outgoing);
            self.phase = Phase::Finished;
        }
    }

    fn end(&mut self, end: End) -> LinkEnd {
        let end = match end {
            End::Closed if self.phase == Phase::Finished => LinkEnd::Finished,
            End::Closed => LinkEnd::Reset,
            End::Breach(breach) => LinkEnd::Breach(breach),
        };
        self.phase = Phase::Over(end.clone());
        end
    }
}

impl LinkEnd {
    /// The same for the core; `None` if this side ended it, which the core does not want to hear of.
    pub fn closure(&self) -> Option<Closure> {
        match self {
            LinkEnd::Finished => None,
            LinkEnd::Reset => Some(Closure::Reset),
            LinkEnd::Breach(breach) => Some(Closure::Violation(breach.violation())),
        }
    }
}

/// Ends this side of a stream as gRPC wants it: a client half-closes, a server says that all is well.
pub(crate) fn end_stream(connection: &Connection, outgoing: &mut SendStream<Bytes>) -> Result<(), h2::Error> {
    match connection {
        Connection::Dialled(_) => outgoing.send_data(Bytes::new(), true),
        Connection::Accepted(_) => {
            let mut trailers = HeaderMap::new();
            trailers.insert("grpc-status", HeaderValue::from_static("0"));
            outgoing.send_trailers(trailers)
        }
    }
}

/// One framed message on its own.
pub(crate) fn framed(frame: &proto::PeerFrame) -> Bytes {
    let mut bytes = BytesMut::with_capacity(framing::PREFIX + frame.encoded_len());
    framing::frame(frame, &mut bytes);
    bytes.freeze()
}
