//! A daemon's end of the command service.

use std::future::Future;
use std::sync::Arc;

use imex_core::DomainSummary;
use thiserror::Error;
use tokio::sync::watch;

use crate::command::{DomainStatus, NodeStatus};
use crate::io::Io;
use crate::status::CommandError;

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
    /// The client asked nothing for too long, or did not take an answer.
    #[error("the client was idle")]
    Idle,
    /// The client spoke something else, or broke off.
    #[error("the connection broke")]
    Broken(#[source] hyper::Error),
}

/// Serves one accepted connection until its end.
#[expect(clippy::unused_async, reason = "not built yet")]
pub async fn serve<V: View>(_io: impl Io, _view: Arc<V>) -> Result<(), ServeError> {
    todo!()
}
