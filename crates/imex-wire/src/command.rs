//! What the command service says, in checked types.

use std::sync::Arc;

use imex_core::{DomainTable, LinkReport, NodeId, NodeState};

/// A node alone, as its own daemon knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeStatus {
    /// Its place in the node map.
    pub node: NodeId,
    /// Its entry of the node map, as written.
    pub address: Arc<str>,
    /// Its state.
    pub state: NodeState,
    /// Its driver version or `NO_GPU`.
    pub version: Arc<str>,
    /// The version of the daemon's program.
    pub software: Arc<str>,
    /// The name of its machine; may be empty.
    pub host: Arc<str>,
    /// Its row, one report per node of the map. Empty when it comes from [`crate::CommandClient::watch_node`].
    pub links: Vec<LinkReport>,
}

/// A domain as one daemon knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainStatus {
    /// The table.
    pub table: DomainTable,
    /// When the table was complete: milliseconds since 1970 UTC.
    pub taken_at_ms: i64,
}
