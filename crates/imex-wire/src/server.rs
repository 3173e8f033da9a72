//! A daemon's end of the command service.

use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use imex_core::DomainSummary;
use thiserror::Error;
use tokio::sync::watch;
use tokio_stream::wrappers::WatchStream;
use tokio_stream::{Stream, StreamExt};
use tonic::body::Body;
use tonic::{Status, async_trait};
use tower_service::Service as _;

use crate::command::{self, DomainStatus, NodeStatus};
use crate::io::Io;
use crate::proto;
use crate::proto::command_server::{Command, CommandServer};
use crate::status::CommandError;

use activity::Kind;
pub use activity::{Activity, Standing};

mod activity;
mod pace;

#[cfg(test)]
mod tests;

/// How long a connection may go without completing a call, while it watches nothing: a tool asks at once and takes
/// the answer at once, and a table takes the daemon at most a second.
pub const PROGRESS_DEADLINE: Duration = Duration::from_secs(10);

/// How often a connection that only watches is asked whether anybody is still there.
const PROBE_INTERVAL: Duration = Duration::from_secs(20);

/// How long the answer to that may take; it costs a tool nothing to give it.
const PROBE_DEADLINE: Duration = Duration::from_secs(5);

/// Calls at once on one connection: a tool makes one, perhaps with a watch beside it.
const MAX_CALLS: u32 = 8;

/// The largest request in bytes: they are all empty.
const MAX_REQUEST: usize = 1024;

/// The most header bytes of a request, decoded: gRPC needs about 300.
const MAX_HEADERS: u32 = 4 * 1024;

/// The most bytes of an answer that wait in this process for a client to take them, per call, beside the encoded
/// answer itself.
const SEND_BUFFER: usize = 64 * 1024;

/// What a daemon shows to tools.
pub trait View: Send + Sync + 'static {
    /// This node alone, with its row.
    fn node(&self) -> impl Future<Output = Result<NodeStatus, CommandError>> + Send;
    /// The whole domain. The implementation bounds its time.
    fn domain(&self) -> impl Future<Output = Result<DomainStatus, CommandError>> + Send;
    /// This node without its row, as it changes.
    fn node_changes(&self) -> watch::Receiver<NodeStatus>;
    /// The domain in four numbers, as it changes.
    fn domain_changes(&self) -> watch::Receiver<DomainSummary>;
}

/// Why a connection to the command service was closed by this side, or broke.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The client completed no call for [`PROGRESS_DEADLINE`] and watched nothing.
    #[error("the client was idle or slow for {PROGRESS_DEADLINE:?}")]
    Idle,
    /// The client spoke something else, or broke off.
    #[error("the connection broke")]
    Broken(#[source] hyper::Error),
}

/// Serves one accepted connection until its end. How many there are at once is the caller's to bound; on TCP it
/// switches Nagle's algorithm off first.
pub async fn serve<V: View>(io: impl Io, view: Arc<V>) -> Result<(), ServeError> {
    serve_known(io, view, Arc::new(Activity::new())).await
}

/// As [`serve`], and `activity` shows the caller at any time what the client is doing.
pub async fn serve_known<V: View>(
    io: impl Io,
    view: Arc<V>,
    activity: Arc<Activity>,
) -> Result<(), ServeError> {
    let calls = CommandServer::new(Service { view }).max_decoding_message_size(MAX_REQUEST);
    let counted = Arc::clone(&activity);
    let handler = hyper::service::service_fn(move |request: Request<Incoming>| {
        let kind = kind_of(request.uri().path());
        let call = Activity::begin(&counted, kind);
        let answer = calls.clone().call(request);
        async move {
            let answer = answer.await?;
            // The call lasts until its answer has been taken or given up, which drops the body.
            Ok::<_, Infallible>(answer.map(|body| {
                Body::new(body.map_frame(move |frame| {
                    let _lasts = &call;
                    frame
                }))
            }))
        }
    });
    let mut connection = pin!(http2().serve_connection(TokioIo::new(io), handler));
    tokio::select! {
        ended = connection.as_mut() => ended.map_err(ServeError::Broken),
        () = activity.stalled(PROGRESS_DEADLINE) => Err(ServeError::Idle),
    }
}

fn http2() -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(PROBE_INTERVAL)
        .keep_alive_timeout(PROBE_DEADLINE)
        .max_concurrent_streams(MAX_CALLS)
        .max_header_list_size(MAX_HEADERS)
        .max_send_buf_size(SEND_BUFFER)
        .auto_date_header(false);
    builder
}

fn kind_of(path: &str) -> Kind {
    match path.rsplit_once('/') {
        Some((_, "WatchNode" | "WatchDomain")) => Kind::Watch,
        Some(_) | None => Kind::Answer,
    }
}

/// The generated trait over a [`View`].
#[derive(Debug)]
struct Service<V> {
    view: Arc<V>,
}

type Changes<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[async_trait]
impl<V: View> Command for Service<V> {
    type WatchNodeStream = Changes<proto::NodeStatus>;
    type WatchDomainStream = Changes<proto::DomainSummary>;

    async fn get_node(
        &self,
        _: tonic::Request<proto::GetNodeRequest>,
    ) -> Result<tonic::Response<proto::NodeStatus>, Status> {
        Ok(tonic::Response::new(command::node_out(self.view.node().await?)))
    }

    async fn get_domain(
        &self,
        _: tonic::Request<proto::GetDomainRequest>,
    ) -> Result<tonic::Response<proto::DomainStatus>, Status> {
        Ok(tonic::Response::new(command::domain_out(self.view.domain().await?)))
    }

    async fn watch_node(
        &self,
        _: tonic::Request<proto::WatchNodeRequest>,
    ) -> Result<tonic::Response<Self::WatchNodeStream>, Status> {
        let changes = WatchStream::new(self.view.node_changes());
        let changes = changes.map(|status| Ok(command::node_out(status)));
        Ok(tonic::Response::new(Box::pin(changes)))
    }

    async fn watch_domain(
        &self,
        _: tonic::Request<proto::WatchDomainRequest>,
    ) -> Result<tonic::Response<Self::WatchDomainStream>, Status> {
        let changes = pace::summaries(self.view.domain_changes());
        let changes = changes.map(|summary| Ok(command::summary_out(summary)));
        Ok(tonic::Response::new(Box::pin(changes)))
    }
}
