//! One HTTP/2 connection with its one stream: the reading side, and what drives both sides.

use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use h2::{RecvStream, client, server};

use crate::breach::Breach;
use crate::framing::Deframer;
use crate::peer::{self, Frame};
use crate::wire::Wire;

/// The HTTP/2 path of a peer link.
pub(crate) const LINK_PATH: &str = "/imex.v1.Peer/Link";

/// The content type of gRPC with protobuf.
pub(crate) const CONTENT_TYPE: &str = "application/grpc";

/// The most header bytes taken from a peer, decoded: gRPC needs about 300.
pub(crate) const MAX_HEADERS: u32 = 4 * 1024;

/// The most bytes of a peer that wait for this side to read them: the smallest window of HTTP/2's default, so that no
/// settings need to be agreed on first. A larger message passes in several windows.
pub(crate) const WINDOW: u32 = 65_535;

/// How many frames under 256 bytes may wait for this side to read them, times 256. After a pause of a few seconds
/// there are a few dozen; a thousand in one go are an attack.
pub(crate) const SMALL_FRAMES: usize = 1_000 * 256;

/// Why nothing more comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The far end finished its stream, closed the connection, or is gone.
    Closed,
    /// The far end broke the protocol.
    Breach(Breach),
}

/// The HTTP/2 layer, from either side.
#[derive(Debug)]
pub(crate) enum Connection {
    /// This side dialled.
    Dialled(client::Connection<Wire, Bytes>),
    /// This side accepted.
    Accepted(server::Connection<Wire, Bytes>),
}

/// A connection and the reading side of its stream. The writing side is with [`crate::LinkReceiver`].
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) wire: Wire,
    pub(crate) connection: Connection,
    incoming: RecvStream,
    inbox: Deframer,
    /// How the connection itself ended, once it has; it must not be polled again then.
    over: Option<End>,
}

impl Stream {
    pub(crate) fn new(wire: Wire, connection: Connection, incoming: RecvStream) -> Self {
        Stream { wire, connection, incoming, inbox: Deframer::default(), over: None }
    }

    /// Drives the connection and gives the next message of at most `max` bytes. Writes are held back: whoever is
    /// told to wait must let them go with [`Wire::poll_release`].
    pub(crate) fn poll_frame(&mut self, cx: &mut Context<'_>, max: usize) -> Poll<Result<Frame, End>> {
        if let Some(frame) = self.next_frame(max)? {
            return Poll::Ready(Ok(frame));
        }
        self.drive(cx);
        loop {
            let more = self.take_chunk();
            if let Some(frame) = self.next_frame(max)? {
                return Poll::Ready(Ok(frame));
            }
            match (more, &self.over) {
                (Chunk::Taken, _) => {}
                (Chunk::Ended(end), _) => return Poll::Ready(Err(end)),
                (Chunk::None, Some(end)) => return Poll::Ready(Err(end.clone())),
                (Chunk::None, None) => return Poll::Pending,
            }
        }
    }

    /// Drives the connection to its end, reading nothing more of the stream.
    pub(crate) fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.drive(cx);
        while matches!(self.take_chunk(), Chunk::Taken) {
            self.inbox = Deframer::default();
        }
        if self.over.is_some() || ready!(self.wire.poll_release(cx)).is_err() {
            return Poll::Ready(());
        }
        Poll::Pending
    }

    fn next_frame(&mut self, max: usize) -> Result<Option<Frame>, End> {
        let frame = self.inbox.next(max).map_err(End::Breach)?;
        let frame = frame.map(|bytes| peer::decode_frame(&bytes)).transpose();
        frame.map_err(|error| End::Breach(error.into()))
    }

    fn drive(&mut self, cx: &mut Context<'_>) {
        if self.over.is_none()
            && let Poll::Ready(ended) = self.connection.poll(cx)
        {
            self.over = Some(ended.map_or_else(|error| end_of(&error), |()| End::Closed));
        }
    }

    fn take_chunk(&mut self) -> Chunk {
        // The stream is fed by `drive` alone, which has run in this same turn, so its own waker is not needed.
        let mut cx = Context::from_waker(Waker::noop());
        match self.incoming.poll_data(&mut cx) {
            Poll::Pending => Chunk::None,
            Poll::Ready(None) => Chunk::Ended(End::Closed),
            Poll::Ready(Some(Err(error))) => Chunk::Ended(end_of(&error)),
            Poll::Ready(Some(Ok(bytes))) => {
                self.inbox.push(&bytes);
                // Fails only if more were released than came.
                let released = self.incoming.flow_control().release_capacity(bytes.len());
                debug_assert!(released.is_ok(), "exactly what came is released");
                Chunk::Taken
            }
        }
    }
}

/// What the stream had.
enum Chunk {
    Taken,
    None,
    Ended(End),
}

impl Connection {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), h2::Error>> {
        match self {
            Connection::Dialled(connection) => std::pin::Pin::new(connection).poll(cx),
            // A second call is refused by HTTP/2, since one stream at a time is allowed; after the first has ended
            // the connection is dropped.
            Connection::Accepted(connection) => connection.poll_closed(cx),
        }
    }
}

/// What an error of the HTTP/2 layer says about the far end.
pub(crate) fn end_of(error: &h2::Error) -> End {
    if error.is_io() || error.is_remote() {
        return End::Closed;
    }
    End::Breach(Breach::Http2 { reason: error.to_string() })
}
