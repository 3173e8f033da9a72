//! A tool's end of the command service.

use std::error::Error;
use std::fmt::{self, Debug};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use imex_core::DomainSummary;
use thiserror::Error;
use tokio::net::{TcpStream, UnixStream};
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout_at};
use tonic::body::Body;
use tonic::{Response, Status, Streaming};

use crate::attentive::{Attentive, Words};
use crate::command::{self, DomainStatus, NodeStatus};
use crate::field::FieldError;
use crate::io::Io;
use crate::proto;
use crate::proto::command_client::CommandClient as Calls;
use crate::status::CommandError;

/// The largest answer in bytes: the table of 4,096 nodes has 16.8 million cells of about 10 bytes.
const MAX_ANSWER: usize = 256 * 1024 * 1024;

/// Where a daemon's command service is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A Unix socket.
    Unix(PathBuf),
    /// A TCP port.
    Tcp(SocketAddr),
}

/// Why a daemon could not be asked.
#[derive(Debug, Error)]
pub enum ClientError {
    /// There is no socket with this name.
    #[error("there is no socket at {endpoint}")]
    NoSocket {
        /// Where.
        endpoint: Endpoint,
    },
    /// Nobody listens there.
    #[error("nobody listens at {endpoint}")]
    Refused {
        /// Where.
        endpoint: Endpoint,
    },
    /// This user may not connect.
    #[error("connecting to {endpoint} is not permitted")]
    NotPermitted {
        /// Where.
        endpoint: Endpoint,
    },
    /// No connection for another reason.
    #[error("no connection to {endpoint}")]
    Unreachable {
        /// Where.
        endpoint: Endpoint,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The connection has to be secure, and this tool has nothing to make it so by.
    #[error("nobody is asked at {endpoint} without security")]
    NoCredentials {
        /// Where.
        endpoint: Endpoint,
        /// What is missing.
        #[source]
        source: io::Error,
    },
    /// One of the two ends does not believe the other.
    #[error("no secure connection to {endpoint}")]
    Untrusted {
        /// Where.
        endpoint: Endpoint,
        /// Which, and why.
        #[source]
        source: io::Error,
    },
    /// The whole did not end in time.
    #[error("no answer from {endpoint} within {} ms", after.as_millis())]
    Deadline {
        /// Where.
        endpoint: Endpoint,
        /// The deadline.
        after: Duration,
    },
    /// The daemon declined to answer.
    #[error("{endpoint} did not answer")]
    Declined {
        /// Where.
        endpoint: Endpoint,
        /// Why.
        #[source]
        why: CommandError,
    },
    /// The connection ended before the answer was complete.
    #[error("the connection to {endpoint} broke")]
    Broken {
        /// Where.
        endpoint: Endpoint,
    },
    /// What answered is no IMEX command service, or another version of it.
    #[error("{endpoint} gave no proper answer: {detail}")]
    Protocol {
        /// Where.
        endpoint: Endpoint,
        /// What was wrong.
        detail: String,
    },
}

/// A connection to one daemon's command service.
#[derive(Debug)]
pub struct CommandClient {
    calls: Calls<Requests>,
    link: Arc<Connection>,
    until: Instant,
}

/// Makes a TCP connection secure, on the tool's side.
pub trait Secure: Sync {
    /// What comes of it.
    type Io: Io;

    /// Makes it so. It has no deadline of its own.
    fn secure(&self, tcp: TcpStream) -> impl Future<Output = io::Result<Self::Io>> + Send;

    /// Whether an error of this, or later of the connection, says that one end does not believe the other: a server
    /// judges who has come when the client is done already.
    fn is_distrust(error: &io::Error) -> bool;
}

/// Leaves connections as they are.
#[derive(Clone, Copy, Debug)]
struct Bare;

impl Secure for Bare {
    type Io = TcpStream;

    async fn secure(&self, tcp: TcpStream) -> io::Result<TcpStream> {
        Ok(tcp)
    }

    fn is_distrust(_: &io::Error) -> bool {
        false
    }
}

/// A stream of changes from a daemon.
#[derive(Debug)]
pub struct Watch<T: Change> {
    items: Streaming<T::Wire>,
    link: Arc<Connection>,
    /// Until when the first item must come; `None` once it has.
    first_until: Option<Instant>,
}

/// What can be watched.
pub trait Change: sealed::Sealed + Sized {
    /// Its unchecked form.
    type Wire: Debug;

    /// Checks one item.
    fn check(wire: Self::Wire) -> Result<Self, FieldError>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::NodeStatus {}
    impl Sealed for super::DomainSummary {}
}

/// What the client and its watches share: the task that drives the connection, and whose it is.
#[derive(Debug)]
struct Connection {
    driver: Driver,
    endpoint: Endpoint,
    after: Duration,
}

#[derive(Debug)]
struct Driver {
    task: AbortHandle,
    /// Why the connection broke, if it did. A request that had not left by then is told only that.
    broke: Arc<OnceLock<hyper::Error>>,
    /// That one end does not believe the other, if that is why.
    distrust: Words,
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl CommandClient {
    /// Connects. `deadline` holds from now on for everything together: the connection, every answer, and the first
    /// item of every watch.
    pub async fn connect(endpoint: &Endpoint, deadline: Duration) -> Result<Self, ClientError> {
        Self::connect_through(endpoint, deadline, &Bare).await
    }

    /// The same, where TCP connections are made secure before anything is asked.
    pub async fn connect_through<S: Secure>(
        endpoint: &Endpoint,
        deadline: Duration,
        secure: &S,
    ) -> Result<Self, ClientError> {
        let until = Instant::now() + deadline;
        let connected = timeout_at(until, open(endpoint, secure)).await;
        let (requests, driver) = connected
            .map_err(|_| ClientError::Deadline { endpoint: endpoint.clone(), after: deadline })??;
        // The authority has no meaning on a Unix socket; HTTP/2 wants one.
        let origin = Uri::from_static("http://imexd");
        Ok(CommandClient {
            calls: Calls::with_origin(requests, origin).max_decoding_message_size(MAX_ANSWER),
            link: Arc::new(Connection { driver, endpoint: endpoint.clone(), after: deadline }),
            until,
        })
    }

    /// The daemon's node alone.
    pub async fn get_node(&mut self) -> Result<NodeStatus, ClientError> {
        let answer = self.calls.get_node(proto::GetNodeRequest {});
        let status = self.link.answer(self.until, answer).await?;
        command::node_in(status).map_err(|error| self.link.malformed(error))
    }

    /// The whole domain as the daemon knows it.
    pub async fn get_domain(&mut self) -> Result<DomainStatus, ClientError> {
        let answer = self.calls.get_domain(proto::GetDomainRequest {});
        let status = self.link.answer(self.until, answer).await?;
        command::domain_in(status).map_err(|error| self.link.malformed(error))
    }

    /// The daemon's node, without its row, now and at each change.
    pub async fn watch_node(&mut self) -> Result<Watch<NodeStatus>, ClientError> {
        let answer = self.calls.watch_node(proto::WatchNodeRequest {});
        let items = self.link.answer(self.until, answer).await?;
        Ok(self.watch(items))
    }

    /// The domain in four numbers, now and at each change.
    pub async fn watch_domain(&mut self) -> Result<Watch<DomainSummary>, ClientError> {
        let answer = self.calls.watch_domain(proto::WatchDomainRequest {});
        let items = self.link.answer(self.until, answer).await?;
        Ok(self.watch(items))
    }

    fn watch<T: Change>(&self, items: Streaming<T::Wire>) -> Watch<T> {
        Watch { items, link: Arc::clone(&self.link), first_until: Some(self.until) }
    }
}

impl<T: Change> Watch<T> {
    /// The next item. The first comes within the client's deadline; later ones come when something changes, however
    /// long that takes. `None` when the daemon ends.
    ///
    /// Cancel-safe: dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Option<T>, ClientError> {
        let item = match self.first_until {
            None => self.items.message().await,
            Some(until) => {
                let first = timeout_at(until, self.items.message()).await;
                first.map_err(|_| self.link.late())?
            }
        };
        self.first_until = None;
        let item = item.map_err(|status| self.link.failed(&status))?;
        item.map(T::check).transpose().map_err(|error| self.link.malformed(error))
    }
}

impl Change for NodeStatus {
    type Wire = proto::NodeStatus;

    fn check(wire: Self::Wire) -> Result<Self, FieldError> {
        command::node_in(wire)
    }
}

impl Change for DomainSummary {
    type Wire = proto::DomainSummary;

    fn check(wire: Self::Wire) -> Result<Self, FieldError> {
        command::summary_in(wire)
    }
}

impl Connection {
    async fn answer<T>(
        &self,
        until: Instant,
        answer: impl Future<Output = Result<Response<T>, Status>>,
    ) -> Result<T, ClientError> {
        let answer = timeout_at(until, answer).await.map_err(|_| self.late())?;
        answer.map(Response::into_inner).map_err(|status| self.failed(&status))
    }

    fn late(&self) -> ClientError {
        ClientError::Deadline { endpoint: self.endpoint.clone(), after: self.after }
    }

    fn malformed(&self, error: FieldError) -> ClientError {
        ClientError::Protocol { endpoint: self.endpoint.clone(), detail: error.to_string() }
    }

    /// What went wrong, from the status that the gRPC layer made of it. Only one that came over the wire has no
    /// source.
    fn failed(&self, status: &Status) -> ClientError {
        let endpoint = self.endpoint.clone();
        if status.source().is_none()
            && let Some(why) = CommandError::from_status(status)
        {
            return ClientError::Declined { endpoint, why };
        }
        let Some(source) = status.source() else {
            return ClientError::Protocol { endpoint, detail: status.message().to_owned() };
        };
        if let Some(words) = self.driver.distrust.get() {
            return ClientError::Untrusted { endpoint, source: io::Error::other(words.clone()) };
        }
        let broke = self.driver.broke.get();
        match http2_error(source).or_else(|| http2_error(broke?)) {
            Some(error) if error.is_library() => {
                ClientError::Protocol { endpoint, detail: error.to_string() }
            }
            Some(_) | None => ClientError::Broken { endpoint },
        }
    }
}

/// What the HTTP/2 layer says in a chain of errors.
fn http2_error<'a>(outer: &'a (dyn Error + 'static)) -> Option<&'a h2::Error> {
    std::iter::successors(Some(outer), |error| (*error).source()).find_map(|error| error.downcast_ref())
}

async fn open<S: Secure>(endpoint: &Endpoint, secure: &S) -> Result<(Requests, Driver), ClientError> {
    let failed = |source: io::Error| connect_error(endpoint, source);
    match endpoint {
        Endpoint::Unix(path) => {
            let stream = UnixStream::connect(path).await.map_err(failed)?;
            start(endpoint, stream, Words::default()).await
        }
        Endpoint::Tcp(address) => {
            let stream = TcpStream::connect(address).await.map_err(failed)?;
            stream.set_nodelay(true).map_err(failed)?;
            let secured = secure.secure(stream).await.map_err(|source| match S::is_distrust(&source) {
                true => ClientError::Untrusted { endpoint: endpoint.clone(), source },
                false => failed(source),
            });
            let io = Attentive::new(secured?, S::is_distrust);
            let words = io.words();
            start(endpoint, io, words).await
        }
    }
}

async fn start(endpoint: &Endpoint, io: impl Io, distrust: Words) -> Result<(Requests, Driver), ClientError> {
    let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(io)).await;
    let (requests, connection) = handshake.map_err(|_| ClientError::Broken { endpoint: endpoint.clone() })?;
    let broke = Arc::new(OnceLock::new());
    let note = Arc::clone(&broke);
    let task = tokio::spawn(async move {
        if let Err(error) = connection.await {
            let _ = note.set(error);
        }
    });
    Ok((Requests(requests), Driver { task: task.abort_handle(), broke, distrust }))
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "io::ErrorKind is non-exhaustive; what has no word of its own is shown as the system says it"
)]
fn connect_error(endpoint: &Endpoint, source: io::Error) -> ClientError {
    let endpoint = endpoint.clone();
    match source.kind() {
        io::ErrorKind::NotFound => ClientError::NoSocket { endpoint },
        io::ErrorKind::ConnectionRefused => ClientError::Refused { endpoint },
        io::ErrorKind::PermissionDenied => ClientError::NotPermitted { endpoint },
        _ => ClientError::Unreachable { endpoint, source },
    }
}

/// An open HTTP/2 connection as the generated client wants it.
#[derive(Clone, Debug)]
struct Requests(http2::SendRequest<Body>);

impl tower_service::Service<http::Request<Body>> for Requests {
    type Response = http::Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Unix(path) => write!(f, "{}", path.display()),
            Endpoint::Tcp(address) => write!(f, "{address}"),
        }
    }
}

#[cfg(test)]
mod tests;
