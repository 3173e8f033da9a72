//! Opening a link to a peer.

use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::client::{self, ResponseFuture};
use h2::{RecvStream, SendStream};
use http::header::{CONTENT_TYPE, HeaderValue, TE};
use http::{Method, Request, Response, StatusCode, Uri, Version};
use imex_core::cause::Unreachable;
use imex_core::input::DialFailure;
use imex_core::{Hello, Refusal};
use thiserror::Error;
use tokio::net::{TcpSocket, TcpStream};

use crate::breach::{Breach, excerpt};
use crate::credential::Credential;
use crate::io::Io;
use crate::link::{Link, LinkLimits, MAX_MESSAGE, framed};
use crate::peer::{self, Frame};
use crate::stream::{self, Connection, End, MAX_HEADERS, SMALL_FRAMES, Stream, WINDOW};
use crate::wire::Wire;

#[cfg(test)]
mod tests;

/// Where to connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DialTarget {
    /// The peer's address and port; with the scope of a link-local IPv6 address.
    pub address: SocketAddr,
    /// The local address to come from, of the same family; `None` leaves it to the system.
    pub source: Option<IpAddr>,
}

/// How a peer answered.
#[derive(Debug)]
pub enum Dialled {
    /// It accepted.
    Admitted {
        /// Its introduction.
        hello: Arc<Hello>,
        /// Its proof of that, if it sent one.
        credential: Option<Credential>,
        /// The open link.
        link: Link,
    },
    /// It refused, and the connection is closed; with its proof of the introduction in the refusal, if it sent one.
    Refused(Refusal, Option<Credential>),
}

/// Why a dial ended without an answer.
#[derive(Debug, Error)]
pub enum DialError {
    /// No connection could be made.
    #[error("no connection to {address}")]
    Connect {
        /// To where.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The connection broke before the peer answered.
    #[error("the connection broke before the peer answered")]
    Broken,
    /// The peer answered with something that is no answer.
    #[error("the peer gave no proper answer")]
    Breach(#[source] Breach),
}

/// Connects to a peer, introduces this daemon, and waits for the answer.
///
/// It has no deadline: the caller drops the future when it has waited long enough, which closes the connection.
pub async fn dial(target: DialTarget, hello: &Hello, limits: LinkLimits) -> Result<Dialled, DialError> {
    introduce(connect(target).await?, hello, None, limits).await
}

/// The first half of [`dial()`]: a connection, on which small messages leave at once. What makes it secure stands
/// between this and [`introduce`].
pub async fn connect(target: DialTarget) -> Result<TcpStream, DialError> {
    let address = target.address;
    open(target).await.map_err(|source| DialError::Connect { address, source })
}

async fn open(target: DialTarget) -> io::Result<TcpStream> {
    let socket = match target.address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // Nagle's algorithm would hold every second small message back until the first is acknowledged.
    socket.set_nodelay(true)?;
    if let Some(source) = target.source {
        socket.bind(any_port(source, target.address))?;
    }
    socket.connect(target.address).await
}

/// A local address to dial from. A link-local one has meaning only with the interface by which the peer is reached.
fn any_port(source: IpAddr, peer: SocketAddr) -> SocketAddr {
    match (source, peer) {
        (IpAddr::V6(source), SocketAddr::V6(peer)) => SocketAddrV6::new(source, 0, 0, peer.scope_id()).into(),
        (source, _) => SocketAddr::new(source, 0),
    }
}

/// The second half of [`dial()`], over a connection that is already there; `credential` travels with the hello.
pub async fn introduce(
    io: impl Io,
    hello: &Hello,
    credential: Option<&Credential>,
    limits: LinkLimits,
) -> Result<Dialled, DialError> {
    let wire = Wire::new(io);
    let handshake = http2().handshake(wire.clone()).await;
    let (mut requests, connection) = handshake.map_err(|error| end_of(&error))?;
    let request = requests.send_request(link_request(), false);
    let (mut response, mut outgoing) = request.map_err(|error| end_of(&error))?;
    let sent = outgoing.send_data(framed(&peer::hello_frame(hello, credential)), false);
    sent.map_err(|error| end_of(&error))?;

    let mut connection = connection;
    let response = poll_fn(|cx| poll_response(cx, &wire, &mut connection, &mut response)).await?;
    let incoming = check_response(response)?;
    let stream = Box::new(Stream::new(wire, Connection::Dialled(connection), incoming));
    await_answer(stream, outgoing, limits).await
}

async fn await_answer(
    mut stream: Box<Stream>,
    outgoing: SendStream<Bytes>,
    limits: LinkLimits,
) -> Result<Dialled, DialError> {
    let frame = poll_fn(|cx| match stream.poll_frame(cx, MAX_MESSAGE) {
        Poll::Ready(frame) => Poll::Ready(frame),
        Poll::Pending => stream.wire.poll_release_or(cx, Err(End::Closed)),
    });
    match frame.await? {
        Frame::Hello(hello, credential) => Ok(Dialled::Admitted {
            hello: Arc::new(hello),
            credential,
            link: Link::new(stream, Some(outgoing), Bytes::new(), limits),
        }),
        Frame::Refusal(refusal, credential) => Ok(Dialled::Refused(refusal, credential)),
        Frame::Message(_) => Err(DialError::Breach(Breach::NoHello)),
    }
}

fn http2() -> client::Builder {
    let mut builder = client::Builder::new();
    builder
        .enable_push(false)
        .initial_window_size(WINDOW)
        .max_header_list_size(MAX_HEADERS)
        .max_send_buffer_size(WINDOW as usize)
        .data_frame_budget(SMALL_FRAMES)
        // One stream is all there ever is: nothing is remembered about others.
        .max_concurrent_reset_streams(0)
        .header_table_size(0);
    builder
}

fn link_request() -> Request<()> {
    let mut request = Request::new(());
    *request.method_mut() = Method::POST;
    *request.version_mut() = Version::HTTP_2;
    // The authority has no meaning between daemons; HTTP/2 wants one.
    *request.uri_mut() = Uri::from_static("http://imex/imex.v1.Peer/Link");
    let headers = request.headers_mut();
    headers.insert(TE, HeaderValue::from_static("trailers"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(stream::CONTENT_TYPE));
    request
}

fn poll_response(
    cx: &mut Context<'_>,
    wire: &Wire,
    connection: &mut client::Connection<Wire, Bytes>,
    response: &mut ResponseFuture,
) -> Poll<Result<Response<RecvStream>, DialError>> {
    let driven = Pin::new(connection).poll(cx);
    // The response is found by driving the connection alone, so its own waker is not needed.
    let mut noop = Context::from_waker(Waker::noop());
    if let Poll::Ready(response) = Pin::new(response).poll(&mut noop) {
        return Poll::Ready(response.map_err(|error| end_of(&error)));
    }
    match (driven, wire.poll_release(cx)) {
        (Poll::Ready(Err(error)), _) => Poll::Ready(Err(end_of(&error))),
        (Poll::Ready(Ok(())), _) | (_, Poll::Ready(Err(_))) => Poll::Ready(Err(DialError::Broken)),
        (Poll::Pending, _) => Poll::Pending,
    }
}

fn check_response(response: Response<RecvStream>) -> Result<RecvStream, DialError> {
    let content = response.headers().get(CONTENT_TYPE);
    let content = content.map(HeaderValue::as_bytes).unwrap_or_default();
    if response.status() != StatusCode::OK || !content.starts_with(stream::CONTENT_TYPE.as_bytes()) {
        return Err(DialError::Breach(Breach::OtherAnswer {
            status: response.status().as_u16(),
            content: excerpt(content),
        }));
    }
    // A response that ends with its headers: the far end knows gRPC, but has no such service or does not want us.
    if response.headers().contains_key("grpc-status") {
        return Err(DialError::Breach(Breach::NoAnswer));
    }
    Ok(response.into_body())
}

fn end_of(error: &h2::Error) -> DialError {
    stream::end_of(error).into()
}

impl From<End> for DialError {
    fn from(end: End) -> Self {
        match end {
            End::Closed => DialError::Broken,
            End::Breach(breach) => DialError::Breach(breach),
        }
    }
}

impl DialError {
    /// The same for the core.
    pub fn failure(&self) -> DialFailure {
        match self {
            DialError::Connect { source, .. } => DialFailure::Unreachable(unreachable(source)),
            DialError::Broken => DialFailure::Unreachable(Unreachable::Broken),
            DialError::Breach(breach) => DialFailure::Violation(breach.violation()),
        }
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "io::ErrorKind is non-exhaustive; what is not from the network is from this machine"
)]
fn unreachable(error: &io::Error) -> Unreachable {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Unreachable::PortClosed,
        io::ErrorKind::TimedOut => Unreachable::TimedOut,
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable | io::ErrorKind::NetworkDown => {
            Unreachable::NoRoute
        }
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => Unreachable::Broken,
        _ => Unreachable::Local,
    }
}
