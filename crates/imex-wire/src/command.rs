//! What the command service says, in checked types.

use std::sync::Arc;

use imex_core::{
    DomainState, DomainSummary, DomainTable, Evidence, Hello, LinkReport, NodeId, NodeMap, NodeRow, NodeState,
};
use prost::Message;
use thiserror::Error;

use crate::field::{self, FieldError};
use crate::proto;
use crate::row::{self, Speaker};

#[cfg(test)]
mod tests;

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

/// Why bytes are no answer of the command service.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AnswerError {
    /// They are not protobuf, or protobuf of another form.
    #[error("the answer cannot be decoded")]
    Encoding(#[source] prost::DecodeError),
    /// A field is out of its bounds.
    #[error(transparent)]
    Field(#[from] FieldError),
}

/// Reads an answer to GetNode or WatchNode. Takes any bytes; memory is bounded by their number.
pub fn decode_node(bytes: &[u8]) -> Result<NodeStatus, AnswerError> {
    let node = proto::NodeStatus::decode(bytes).map_err(AnswerError::Encoding)?;
    Ok(node_in(node)?)
}

/// Reads an answer to GetDomain. Takes any bytes; memory is bounded by their number.
pub fn decode_domain(bytes: &[u8]) -> Result<DomainStatus, AnswerError> {
    let domain = proto::DomainStatus::decode(bytes).map_err(AnswerError::Encoding)?;
    Ok(domain_in(domain)?)
}

/// Reads an answer to WatchDomain. Takes any bytes; memory is bounded by their number.
pub fn decode_summary(bytes: &[u8]) -> Result<DomainSummary, AnswerError> {
    let summary = proto::DomainSummary::decode(bytes).map_err(AnswerError::Encoding)?;
    Ok(summary_in(summary)?)
}

pub(crate) fn node_out(status: NodeStatus) -> proto::NodeStatus {
    let NodeStatus { node, address, state, version, software, host, links } = status;
    proto::NodeStatus {
        node: node.number().into(),
        address: address.to_string(),
        state: row::node_state_out(state),
        version: version.to_string(),
        software: software.to_string(),
        host_name: host.to_string(),
        links: row::row_out(&links),
    }
}

pub(crate) fn node_in(status: proto::NodeStatus) -> Result<NodeStatus, FieldError> {
    Ok(NodeStatus {
        node: field::node("node", status.node)?,
        address: address_in(&status.address)?,
        state: row::node_state_in(status.state, Speaker::Itself)?,
        version: version_in("version", &status.version)?,
        software: version_in("software", &status.software)?,
        host: host_in(&status.host_name)?,
        links: row::row_in(status.links, Speaker::Itself)?,
    })
}

pub(crate) fn domain_out(status: DomainStatus) -> proto::DomainStatus {
    let DomainTable { viewer, rows, state } = status.table;
    proto::DomainStatus {
        viewer: viewer.map(|node| node.number().into()),
        state: domain_state_out(state),
        rows: rows.into_iter().map(row_out).collect(),
        taken_at_ms: status.taken_at_ms,
    }
}

pub(crate) fn domain_in(status: proto::DomainStatus) -> Result<DomainStatus, FieldError> {
    field::count("rows", &status.rows, NodeMap::MAX_ENTRIES)?;
    let nodes = status.rows.len();
    let table = DomainTable {
        viewer: status.viewer.map(|id| field::node("viewer", id)).transpose()?,
        state: domain_state_in(status.state)?,
        rows: status.rows.into_iter().map(|row| row_in(row, nodes)).collect::<Result<_, _>>()?,
    };
    Ok(DomainStatus { table, taken_at_ms: status.taken_at_ms })
}

fn row_out(row: NodeRow) -> proto::DomainRow {
    let NodeRow { address, state, version, host, evidence, links } = row;
    proto::DomainRow {
        address: address.to_string(),
        state: row::node_state_out(state),
        version: version.to_string(),
        evidence: evidence_out(evidence),
        links: row::row_out(&links),
        host_name: host.to_string(),
    }
}

fn row_in(row: proto::DomainRow, nodes: usize) -> Result<NodeRow, FieldError> {
    if row.links.len() != nodes {
        return Err(FieldError::WrongCount { field: "row", found: row.links.len(), wanted: nodes });
    }
    Ok(NodeRow {
        address: address_in(&row.address)?,
        state: row::node_state_in(row.state, Speaker::Viewer)?,
        version: version_in("version", &row.version)?,
        host: host_in(&row.host_name)?,
        evidence: evidence_in(row.evidence)?,
        links: row::row_in(row.links, Speaker::Viewer)?,
    })
}

pub(crate) fn summary_out(summary: DomainSummary) -> proto::DomainSummary {
    let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    proto::DomainSummary {
        state: domain_state_out(summary.state),
        nodes: number(summary.nodes),
        ready: number(summary.ready),
        complete: number(summary.complete),
    }
}

pub(crate) fn summary_in(summary: proto::DomainSummary) -> Result<DomainSummary, FieldError> {
    let most = u16::try_from(NodeMap::MAX_ENTRIES).unwrap_or(u16::MAX);
    let nodes = field::number("nodes", summary.nodes, most)?;
    Ok(DomainSummary {
        state: domain_state_in(summary.state)?,
        nodes: nodes.into(),
        ready: field::number("ready", summary.ready, nodes)?.into(),
        complete: field::number("complete", summary.complete, nodes)?.into(),
    })
}

fn domain_state_out(state: DomainState) -> i32 {
    let state = match state {
        DomainState::Up => proto::DomainState::Up,
        DomainState::Down => proto::DomainState::Down,
        DomainState::Degraded => proto::DomainState::Degraded,
    };
    state.into()
}

fn domain_state_in(found: i32) -> Result<DomainState, FieldError> {
    let field = "domain state";
    match field::known(field, found)? {
        proto::DomainState::Unspecified => Err(FieldError::UnknownNumber { field, found }),
        proto::DomainState::Up => Ok(DomainState::Up),
        proto::DomainState::Down => Ok(DomainState::Down),
        proto::DomainState::Degraded => Ok(DomainState::Degraded),
    }
}

fn evidence_out(evidence: Evidence) -> i32 {
    let evidence = match evidence {
        Evidence::Own => proto::Evidence::Own,
        Evidence::Reported => proto::Evidence::Reported,
        Evidence::Asked => proto::Evidence::Asked,
        Evidence::NoAnswer => proto::Evidence::NoAnswer,
    };
    evidence.into()
}

fn evidence_in(found: i32) -> Result<Evidence, FieldError> {
    let field = "evidence";
    match field::known(field, found)? {
        proto::Evidence::Unspecified => Err(FieldError::UnknownNumber { field, found }),
        proto::Evidence::Own => Ok(Evidence::Own),
        proto::Evidence::Reported => Ok(Evidence::Reported),
        proto::Evidence::Asked => Ok(Evidence::Asked),
        proto::Evidence::NoAnswer => Ok(Evidence::NoAnswer),
    }
}

fn address_in(text: &str) -> Result<Arc<str>, FieldError> {
    field::text("address", text, NodeMap::MAX_ENTRY_BYTES)
}

fn version_in(field: &'static str, text: &str) -> Result<Arc<str>, FieldError> {
    field::text(field, text, Hello::MAX_VERSION_BYTES)
}

fn host_in(text: &str) -> Result<Arc<str>, FieldError> {
    field::text("host name", text, NodeMap::MAX_ENTRY_BYTES)
}
