//! The byte stream on top of records.
//!
//! While it carries traffic it also replaces its context before that ends:
//!
//! ```text
//! initiator                                acceptor
//!   │ Renew(token)        in the old context ─► │
//!   │ ◄─ Renewed(answer)  in the old context    │   what the acceptor sends now is in the new one
//!   │ Switch              in the old context ─► │   what the initiator sends now is in the new one
//! ```
//!
//! All three are records of the old context, so none of them, and no data before them, can be left out unnoticed. If the
//! new context cannot be had, the old one goes on and the renewal is tried again; when the old one has ended, so has the
//! stream.
//!
//! Renewals happen while the stream is read, so somebody must read it, as HTTP/2 does.

use std::io;
use std::pin::Pin;
use std::task::{Context as Task, Poll, Waker, ready};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use imex_gssapi::{Accepted, Context, GssError};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::error::{AuthError, Refusal};
use crate::frame::{FrameError, HEADER, Header, Kind, MAX_RECORD, Purpose};
use crate::kerberos::{Kerberos, Sender};
use crate::keys::{Answered, Begun, TurnedAway};
use crate::principal::Peer;
use crate::records::Records;
use crate::renewal::{ANSWER_DEADLINE, Plan, Renewal, TOO_OFTEN, alarm};

/// How much is read at once: HTTP/2 frames of this service are smaller, most of them by far.
const CHUNK: usize = 8 * 1024;

/// A byte stream whose other end is known and whose bytes are protected.
#[derive(Debug)]
pub struct GssStream<I> {
    io: I,
    kerberos: Kerberos,
    peer: Peer,
    role: Role,
    records: Records,
    /// What came and is not yet a whole frame.
    incoming: BytesMut,
    /// What came in records and was not yet read.
    revealed: BytesMut,
    /// What has been protected and waits for the socket.
    outgoing: BytesMut,
    /// Whoever waits for `outgoing` to be empty.
    writer: Option<Waker>,
    renewal: Renewal,
    /// Whether the last renewal failed, so that the next failure is no news.
    failing: bool,
    renewed: Instant,
    end: Option<Pin<Box<Sleep>>>,
}

/// Which side of the connection this is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The one that dialled, which renews too.
    Initiator {
        /// The peer's host in the node map.
        host: String,
    },
    /// The other.
    Acceptor,
}

/// Why a stream broke.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StreamError {
    /// A record could not be protected, or came changed, repeated, out of order or less protected than agreed.
    #[error("protect records")]
    Record(#[from] GssError),
    /// What came is no record, or came out of order.
    #[error("understand the peer's records")]
    Frame(#[from] FrameError),
    /// A record carries too much.
    #[error("take a record of {found} bytes: the most is {MAX_RECORD}")]
    Oversized {
        /// How much.
        found: usize,
    },
    /// The context ended and no new one could be had.
    #[error("renew the Kerberos context before it ended")]
    Ended,
    /// The acceptor went over to a new context that is not good.
    #[error("renew the Kerberos context")]
    Renewal(#[source] AuthError),
    /// The peer renewed as somebody else.
    #[error("renew the Kerberos context: the peer is now {found}, no longer {expected}")]
    OtherPeer {
        /// Who it is.
        found: String,
        /// Who it was.
        expected: String,
    },
    /// The peer renews all the time.
    #[error("put up with the peer: it renews its context more often than every {TOO_OFTEN:?}")]
    TooOften,
}

impl<I> GssStream<I> {
    pub(crate) fn new(io: I, context: Context, peer: Peer, role: Role, kerberos: &Kerberos) -> Self {
        let lifetime = context.lifetime();
        let mut stream = GssStream {
            io,
            kerberos: kerberos.clone(),
            peer,
            role,
            incoming: BytesMut::new(),
            revealed: BytesMut::new(),
            outgoing: BytesMut::new(),
            writer: None,
            renewal: Renewal::Idle(None),
            failing: false,
            renewed: Instant::now(),
            end: None,
            records: Records::new(context),
        };
        stream.schedule(lifetime);
        stream
    }

    /// Who the other end is.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Sets the alarms for a context that has just begun.
    fn schedule(&mut self, ticket: Option<Duration>) {
        let settings = self.kerberos.settings();
        let plan = Plan::new(ticket, settings.lifetime);
        self.end = plan.map(|plan| alarm(plan.end));
        self.renewal = match (&self.role, plan) {
            (Role::Initiator { .. }, Some(plan)) => Renewal::after(plan.renew),
            (Role::Initiator { .. } | Role::Acceptor, _) => Renewal::Idle(None),
        };
        self.renewed = Instant::now();
    }

    fn poll_end(&mut self, cx: &mut Task<'_>) -> Result<(), StreamError> {
        match self.end.as_mut().map(|end| end.as_mut().poll(cx)) {
            Some(Poll::Ready(())) => Err(StreamError::Ended),
            Some(Poll::Pending) | None => Ok(()),
        }
    }

    /// Takes a renewal as far as it goes now.
    fn poll_renewal(&mut self, cx: &mut Task<'_>) -> Result<(), StreamError> {
        loop {
            match &mut self.renewal {
                Renewal::Idle(None) => return Ok(()),
                Renewal::Idle(Some(due)) => match due.as_mut().poll(cx) {
                    Poll::Ready(()) => self.begin(),
                    Poll::Pending => return Ok(()),
                },
                Renewal::Beginning(call) => match call.as_mut().poll(cx) {
                    Poll::Ready(begun) => self.ask(begun)?,
                    Poll::Pending => return Ok(()),
                },
                Renewal::Asked(_, deadline) => match deadline.as_mut().poll(cx) {
                    Poll::Ready(()) => return Err(StreamError::Ended),
                    Poll::Pending => return Ok(()),
                },
                Renewal::Finishing(call) => match call.as_mut().poll(cx) {
                    Poll::Ready(finished) => self.switch(finished)?,
                    Poll::Pending => return Ok(()),
                },
                Renewal::Answering(call) => match call.as_mut().poll(cx) {
                    Poll::Ready(answered) => self.answer(answered)?,
                    Poll::Pending => return Ok(()),
                },
            }
        }
    }

    fn begin(&mut self) {
        self.renewal = match &self.role {
            Role::Initiator { host } => Renewal::Beginning(self.kerberos.begin(host)),
            Role::Acceptor => Renewal::Idle(None),
        };
    }

    fn ask(&mut self, begun: Result<(Begun, Vec<u8>), AuthError>) -> Result<(), StreamError> {
        match begun {
            Ok((begun, token)) => {
                self.records.protect(Purpose::Renew, &token, &mut self.outgoing)?;
                self.renewal = Renewal::Asked(Box::new(begun), alarm(ANSWER_DEADLINE));
            }
            Err(error) => self.fail(&error),
        }
        Ok(())
    }

    /// The initiator goes over to the new context. The acceptor has, so there is no way back.
    fn switch(&mut self, finished: Result<Context, AuthError>) -> Result<(), StreamError> {
        let context = finished.map_err(StreamError::Renewal)?;
        self.check_peer(Peer::new(context.target(), context.source()))?;
        self.records.protect(Purpose::Switch, &[], &mut self.outgoing)?;
        let lifetime = context.lifetime();
        self.records.go_over(context);
        self.schedule(lifetime);
        self.failing = false;
        tracing::debug!(peer = self.peer.principal(), "Renewed a Kerberos context");
        Ok(())
    }

    /// The acceptor answers a token.
    fn answer(&mut self, answered: Answered) -> Result<(), StreamError> {
        match answered {
            Ok(Accepted { context, reply }) => {
                self.check_peer(Peer::new(context.source(), context.target()))?;
                self.records.protect(Purpose::Renewed, &reply, &mut self.outgoing)?;
                let lifetime = context.lifetime();
                self.records.go_over_writing(context);
                self.schedule(lifetime);
                self.failing = false;
            }
            Err(TurnedAway { error, .. }) => {
                let reason = [Refusal::Token.number()];
                self.records.protect(Purpose::NotRenewed, &reason, &mut self.outgoing)?;
                self.fail(&error);
            }
        }
        Ok(())
    }

    fn check_peer(&self, found: Peer) -> Result<(), StreamError> {
        if found == self.peer {
            return Ok(());
        }
        let (found, expected) = (found.principal().to_owned(), self.peer.principal().to_owned());
        Err(StreamError::OtherPeer { found, expected })
    }

    /// A renewal came to nothing. The context goes on until its end.
    fn fail(&mut self, error: &AuthError) {
        let peer = self.peer.principal();
        let why = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
        if self.failing {
            tracing::debug!(peer, %error, why, "A Kerberos context could not be renewed");
        } else {
            let hint = error.hint().unwrap_or_default();
            tracing::warn!(
                peer,
                %error,
                why,
                hint,
                "A Kerberos context could not be renewed; the link goes on until it ends, and tries again"
            );
        }
        self.failing = true;
        let left = self.end.as_ref().map(|end| end.deadline().saturating_duration_since(Instant::now()));
        self.renewal = match self.role {
            Role::Initiator { .. } => Renewal::again(self.kerberos.settings().retry_interval, left),
            Role::Acceptor => Renewal::Idle(None),
        };
    }

    fn take_record(&mut self, protected: &[u8]) -> Result<(), StreamError> {
        let (purpose, payload) = self.records.reveal(protected)?;
        let unexpected = || StreamError::Frame(FrameError::UnexpectedRecord { found: purpose });
        match purpose {
            Purpose::Data => self.revealed.extend_from_slice(&payload),
            Purpose::Renew => {
                let idle = matches!(self.renewal, Renewal::Idle(_)) && !self.records.has_old();
                if self.role != Role::Acceptor || !idle {
                    return Err(unexpected());
                }
                if self.renewed.elapsed() < TOO_OFTEN {
                    return Err(StreamError::TooOften);
                }
                self.renewed = Instant::now();
                self.renewal = Renewal::Answering(self.kerberos.answer(payload, Sender::Member));
            }
            Purpose::Renewed | Purpose::NotRenewed => {
                let asked = std::mem::replace(&mut self.renewal, Renewal::Idle(None));
                let Renewal::Asked(begun, _) = asked else { return Err(unexpected()) };
                if purpose == Purpose::Renewed {
                    self.renewal = Renewal::Finishing(self.kerberos.finish(*begun, payload));
                } else {
                    let reason = payload.first().copied().unwrap_or_default();
                    self.fail(&AuthError::Refused(Refusal::from_number(reason)));
                }
            }
            Purpose::Switch if self.records.has_old() => self.records.forget_old(),
            Purpose::Switch => return Err(unexpected()),
        }
        Ok(())
    }

    /// The body of the next record, if it has come whole.
    fn next_record(&mut self) -> Result<Option<BytesMut>, FrameError> {
        let Some(header) = self.incoming.first_chunk::<HEADER>() else { return Ok(None) };
        let header = Header::parse(*header)?;
        if header.kind != Kind::Record {
            return Err(FrameError::Unexpected { found: header.kind });
        }
        if self.incoming.len() < HEADER + header.length {
            return Ok(None);
        }
        self.incoming.advance(HEADER);
        let body = self.incoming.split_to(header.length);
        if self.incoming.is_empty() {
            // Most links are idle most of the time: they hold no buffer then.
            self.incoming = BytesMut::new();
        }
        Ok(Some(body))
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> GssStream<I> {
    /// Lets what is protected leave. Ready when the socket has all of it.
    fn poll_send(&mut self, cx: &mut Task<'_>) -> Poll<io::Result<()>> {
        while !self.outgoing.is_empty() {
            let sent = ready!(Pin::new(&mut self.io).poll_write(cx, &self.outgoing))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.outgoing.advance(sent);
        }
        self.outgoing = BytesMut::new();
        if let Some(writer) = self.writer.take() {
            writer.wake();
        }
        Poll::Ready(Ok(()))
    }

    /// The same for whoever has something to write, and is woken when the reader has let it leave.
    fn poll_sent(&mut self, cx: &mut Task<'_>) -> Poll<io::Result<()>> {
        let sent = self.poll_send(cx);
        self.writer = sent.is_pending().then(|| cx.waker().clone());
        sent
    }

    /// Reads until there is something for the application; false at the end of the stream.
    fn poll_revealed(&mut self, cx: &mut Task<'_>) -> Poll<io::Result<bool>> {
        while self.revealed.is_empty() {
            self.poll_end(cx).map_err(io::Error::other)?;
            self.poll_renewal(cx).map_err(io::Error::other)?;
            // What the renewal has to say leaves; what does not fit leaves when there is room.
            if let Poll::Ready(Err(error)) = self.poll_send(cx) {
                return Poll::Ready(Err(error));
            }
            if matches!(self.renewal, Renewal::Finishing(_)) {
                return Poll::Pending;
            }
            if let Some(record) = self.next_record().map_err(io::Error::other)? {
                self.take_record(&record).map_err(io::Error::other)?;
            } else if !ready!(self.poll_fill(cx))? {
                return Poll::Ready(Ok(false));
            }
        }
        Poll::Ready(Ok(true))
    }

    /// Reads once; false if nothing more comes.
    fn poll_fill(&mut self, cx: &mut Task<'_>) -> Poll<io::Result<bool>> {
        let mut chunk = [0; CHUNK];
        let mut chunk = ReadBuf::new(&mut chunk);
        ready!(Pin::new(&mut self.io).poll_read(cx, &mut chunk))?;
        self.incoming.extend_from_slice(chunk.filled());
        Poll::Ready(Ok(!chunk.filled().is_empty()))
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> AsyncRead for GssStream<I> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Task<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if ready!(this.poll_revealed(cx))? {
            let part = this.revealed.len().min(buf.remaining());
            buf.put_slice(&this.revealed.split_to(part));
            if this.revealed.is_empty() {
                this.revealed = BytesMut::new();
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> AsyncWrite for GssStream<I> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Task<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_sent(cx))?;
        let part = &bytes[..bytes.len().min(MAX_RECORD)];
        this.records.protect(Purpose::Data, part, &mut this.outgoing).map_err(io::Error::other)?;
        match this.poll_send(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Ready(Ok(part.len())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Task<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_sent(cx))?;
        Pin::new(&mut this.io).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Task<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_sent(cx))?;
        Pin::new(&mut this.io).poll_shutdown(cx)
    }
}
