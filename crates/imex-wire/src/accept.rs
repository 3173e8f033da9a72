//! Taking in a peer that dialled this daemon.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use h2::RecvStream;
use h2::server::{self, SendResponse};
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response};
use imex_core::{Hello, Refusal};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::breach::{Breach, excerpt};
use crate::credential::Credential;
use crate::io::Io;
use crate::link::{Link, LinkLimits, end_stream, framed};
use crate::peer::{self, Frame};
use crate::stream::{self, Connection, End, MAX_HEADERS, SMALL_FRAMES, Stream, WINDOW};
use crate::wire::Wire;

#[cfg(test)]
mod tests;

/// How long a connection may take from its acceptance to its hello. A dialler sends it together with the request,
/// so this is one round trip; 2 s leave room for one lost segment, which TCP repeats after 1 s at the latest.
pub const HELLO_DEADLINE: Duration = Duration::from_secs(2);

/// How long a refused peer may take to read the refusal and close: a few round trips. It is not worth waiting for
/// longer, because it will dial again.
pub const REFUSAL_DEADLINE: Duration = Duration::from_millis(500);

/// The most bytes of a hello: its texts and numbers fill 700, the rest is left for fields of later versions. Small,
/// because anybody can send one. A credential has 2 KiB of it.
const MAX_HELLO: usize = 4 * 1024;

/// A peer that has introduced itself and waits for the answer.
#[derive(Debug)]
pub struct Incoming {
    stream: Box<Stream>,
    respond: SendResponse<Bytes>,
    hello: Arc<Hello>,
    credential: Option<Credential>,
    answer: Option<Credential>,
    limits: LinkLimits,
}

/// Why an accepted connection brought no introduction.
#[derive(Debug, Error)]
pub enum AcceptError {
    /// The connection could not be set up.
    #[error("the connection could not be set up")]
    Socket(#[source] io::Error),
    /// Nothing complete came in time.
    #[error("no hello came within {HELLO_DEADLINE:?}")]
    TimedOut,
    /// The connection ended first.
    #[error("the connection ended before a hello came")]
    Ended,
    /// What came was something else.
    #[error("the peer did not introduce itself")]
    Breach(#[source] Breach),
}

/// Waits until a freshly accepted connection has introduced itself, at most for [`HELLO_DEADLINE`].
///
/// Switches Nagle's algorithm off: with it the first exchange would wait for a delayed acknowledgement, 40 ms.
pub async fn accept(stream: TcpStream, limits: LinkLimits) -> Result<Incoming, AcceptError> {
    stream.set_nodelay(true).map_err(AcceptError::Socket)?;
    await_hello(stream, limits).await
}

/// The same over any connection.
pub async fn await_hello(io: impl Io, limits: LinkLimits) -> Result<Incoming, AcceptError> {
    let taken = timeout(HELLO_DEADLINE, take_hello(io, limits)).await;
    taken.unwrap_or(Err(AcceptError::TimedOut))
}

async fn take_hello(io: impl Io, limits: LinkLimits) -> Result<Incoming, AcceptError> {
    let wire = Wire::new(io);
    let handshake = http2().handshake(wire.clone()).await;
    let mut connection = handshake.map_err(|error| end_of(&error))?;
    let (request, respond) = poll_fn(|cx| poll_request(cx, &wire, &mut connection)).await?;
    check_request(&request)?;

    let mut stream = Box::new(Stream::new(wire, Connection::Accepted(connection), request.into_body()));
    let frame = poll_fn(|cx| match stream.poll_frame(cx, MAX_HELLO) {
        Poll::Ready(frame) => Poll::Ready(frame),
        // Some clients speak only after they have seen the settings.
        Poll::Pending => stream.wire.poll_release_or(cx, Err(End::Closed)),
    });
    match frame.await? {
        Frame::Hello(hello, credential) => {
            let hello = Arc::new(hello);
            Ok(Incoming { stream, respond, hello, credential, answer: None, limits })
        }
        Frame::Message(_) => Err(AcceptError::Breach(Breach::NoHello)),
        Frame::Refusal(..) => Err(AcceptError::Breach(Breach::StrayRefusal)),
    }
}

/// What HTTP/2 hands over for a new stream.
type Call = (Request<RecvStream>, SendResponse<Bytes>);

fn poll_request(
    cx: &mut Context<'_>,
    wire: &Wire,
    connection: &mut server::Connection<Wire, Bytes>,
) -> Poll<Result<Call, AcceptError>> {
    match connection.poll_accept(cx) {
        Poll::Ready(Some(Ok(call))) => Poll::Ready(Ok(call)),
        Poll::Ready(Some(Err(error))) => Poll::Ready(Err(end_of(&error))),
        Poll::Ready(None) => Poll::Ready(Err(AcceptError::Ended)),
        Poll::Pending => wire.poll_release_or(cx, Err(AcceptError::Ended)),
    }
}

fn http2() -> server::Builder {
    let mut builder = server::Builder::new();
    builder
        .initial_window_size(WINDOW)
        .max_header_list_size(MAX_HEADERS)
        .max_send_buffer_size(WINDOW as usize)
        .data_frame_budget(SMALL_FRAMES)
        // One connection is one link: a second call ends it, however it is made.
        .max_concurrent_streams(1)
        .max_local_error_reset_streams(Some(0))
        .max_concurrent_reset_streams(0)
        .max_pending_accept_reset_streams(1)
        .header_table_size(0);
    builder
}

fn check_request(request: &Request<RecvStream>) -> Result<(), AcceptError> {
    let path = request.uri().path();
    let content = request.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let is_grpc = content.is_some_and(|content| content.starts_with(stream::CONTENT_TYPE.as_bytes()));
    if request.method() != Method::POST || path != stream::LINK_PATH || !is_grpc {
        return Err(AcceptError::Breach(Breach::OtherCall { path: excerpt(path.as_bytes()) }));
    }
    Ok(())
}

impl Incoming {
    /// Who it says it is.
    pub fn hello(&self) -> &Arc<Hello> {
        &self.hello
    }

    /// Its proof of that, if it sent one.
    pub fn credential(&self) -> Option<&Credential> {
        self.credential.as_ref()
    }

    /// What the answer is to prove this daemon's own introduction by, whether it admits or refuses.
    #[must_use]
    pub fn answering_with(self, answer: Option<Credential>) -> Self {
        Incoming { answer, ..self }
    }

    /// Answers with this daemon's own introduction. The answer leaves when the link's receiver is first awaited; a
    /// peer that is gone by now is told by it, too.
    pub fn admit(mut self, hello: &Hello) -> Link {
        let outgoing = self.respond.send_response(response(), false).ok();
        let first = framed(&peer::hello_frame(hello, self.answer.as_ref()));
        Link::new(self.stream, outgoing, first, self.limits)
    }

    /// Answers with a refusal, waits until the peer has closed the connection, at most for [`REFUSAL_DEADLINE`],
    /// and closes it. A peer that is gone by then is no error: it will dial again.
    pub async fn refuse(mut self, refusal: &Refusal) {
        if self.answer_refusal(refusal).is_ok() {
            let _ = timeout(REFUSAL_DEADLINE, poll_fn(|cx| self.stream.poll_over(cx))).await;
        }
    }

    fn answer_refusal(&mut self, refusal: &Refusal) -> Result<(), h2::Error> {
        let mut outgoing = self.respond.send_response(response(), false)?;
        outgoing.send_data(framed(&peer::refusal_frame(refusal, self.answer.as_ref())), false)?;
        end_stream(&self.stream.connection, &mut outgoing)?;
        if let Connection::Accepted(connection) = &mut self.stream.connection {
            connection.graceful_shutdown();
        }
        Ok(())
    }
}

fn response() -> Response<()> {
    let mut response = Response::new(());
    let content = HeaderValue::from_static(stream::CONTENT_TYPE);
    response.headers_mut().insert(CONTENT_TYPE, content);
    response
}

fn end_of(error: &h2::Error) -> AcceptError {
    stream::end_of(error).into()
}

impl From<End> for AcceptError {
    fn from(end: End) -> Self {
        match end {
            End::Closed => AcceptError::Ended,
            End::Breach(breach) => AcceptError::Breach(breach),
        }
    }
}
