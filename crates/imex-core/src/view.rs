//! What outsiders may see: rows, tables, and on what evidence.

use std::sync::Arc;
use std::time::Duration;

use crate::{Cause, DomainState, LinkState, NodeId, NodeState};

/// What a node says of one of its links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkReport {
    /// The cell.
    pub state: LinkState,
    /// Why it is not connected; `None` when it is.
    pub cause: Option<Cause>,
    /// How long it has been in this state.
    pub since: Duration,
}

/// The whole domain as one node can show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainTable {
    /// The node whose view this is; `None` when the viewer is a tool that asked the nodes itself.
    pub viewer: Option<NodeId>,
    /// One row per node of the map, in order.
    pub rows: Vec<NodeRow>,
    /// What the rows add up to.
    pub state: DomainState,
}

impl DomainTable {
    /// The largest domain, in nodes, of which a table is made: it has as many cells as the square. Seven times the largest
    /// NVLink domain; its table takes about 100 MB, that of the longest map 200 GB.
    pub const MOST_NODES: usize = 1_024;
}

/// One node of a [`DomainTable`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRow {
    /// The entry of the node map, as written.
    pub address: Arc<str>,
    /// The node's state, UNAVAILABLE if it does not answer.
    pub state: NodeState,
    /// Its driver version or `NO_GPU`; empty if it does not answer.
    pub version: Arc<str>,
    /// The name of its machine as it told it; empty if it does not answer.
    pub host: Arc<str>,
    /// How the row is known.
    pub evidence: Evidence,
    /// One report per node of the map, in order; all [`LinkState::Invalid`] if the node does not answer.
    pub links: Vec<LinkReport>,
}

/// How a row is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// It is the viewer's own.
    Own,
    /// The node reported that its row is complete.
    Reported,
    /// The node was asked and answered.
    Asked,
    /// The node did not answer.
    NoAnswer,
}

/// The domain in four numbers, as one node knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainSummary {
    /// What they add up to.
    pub state: DomainState,
    /// How many nodes the map has.
    pub nodes: usize,
    /// How many of them are known to be READY.
    pub ready: usize,
    /// How many of them are known to have a complete row.
    pub complete: usize,
}

impl DomainTable {
    /// What rows add up to: UP, DOWN or DEGRADED as [`DomainState`] defines them.
    pub fn judge(rows: &[NodeRow]) -> DomainState {
        let complete = rows.iter().filter(|row| row.is_complete()).count();
        DomainState::of(rows.len(), ready(rows), complete)
    }

    /// How many of its nodes are READY.
    pub fn ready(&self) -> usize {
        ready(&self.rows)
    }
}

fn ready(rows: &[NodeRow]) -> usize {
    rows.iter().filter(|row| row.state == NodeState::Ready).count()
}

impl NodeRow {
    /// Whether every link of the row is connected.
    pub fn is_complete(&self) -> bool {
        self.links.iter().all(|link| link.state == LinkState::Connected)
    }

    /// The row of a node that does not answer, in a map of `len` nodes.
    pub fn no_answer(address: Arc<str>, len: usize) -> Self {
        let unknown = LinkReport { state: LinkState::Invalid, cause: None, since: Duration::ZERO };
        NodeRow {
            address,
            state: NodeState::Unavailable,
            version: "".into(),
            host: "".into(),
            evidence: Evidence::NoAnswer,
            links: vec![unknown; len],
        }
    }
}
