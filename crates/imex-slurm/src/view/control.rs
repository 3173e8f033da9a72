//! The JSON that `nvidia-imex-ctl -N -j` prints, and `imexctl -N -j` in the same form.
//!
//! Only what NVIDIA's tool is known to print is relied on: `nodes`, keyed by node id as a text, in no order; of each
//! `status`, `host`, `version` and `connections`, of those `status`; and the domain's `status`. Words that are not known
//! count as the least that they can mean: not READY, not connected.

use std::collections::BTreeMap;

use imex_core::{DomainState, LinkState, NodeState};
use serde::Deserialize;
use thiserror::Error;

use super::{Cell, Member, Proof, View, Voice};

/// Why a text is no table of a domain.
#[derive(Debug, Error)]
pub enum ControlError {
    /// It is not the JSON that the control tool prints.
    #[error("the control tool printed something else than its table")]
    Malformed(#[source] serde_json::Error),
    /// The ids of its nodes are not 0, 1, 2 and so on.
    #[error("the control tool printed no node {missing} of {nodes}")]
    Gap {
        /// The first id that is missing.
        missing: usize,
        /// How many nodes it printed.
        nodes: usize,
    },
    /// This node is not in it.
    #[error("the control tool printed no node {own}")]
    NotThere {
        /// The address of this node.
        own: String,
    },
}

#[derive(Deserialize)]
struct Table {
    nodes: BTreeMap<String, Node>,
    status: String,
}

#[derive(Deserialize)]
struct Node {
    status: String,
    host: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    connections: BTreeMap<String, Connection>,
}

#[derive(Deserialize)]
struct Connection {
    status: String,
}

/// Reads the table, as the node with the address `own` sees it.
///
/// # Errors
///
/// If it is none, or not of a domain that this node is in.
pub fn parse(text: &str, own: &str) -> Result<View, ControlError> {
    let table: Table = serde_json::from_str(text).map_err(ControlError::Malformed)?;
    let count = table.nodes.len();
    let mut members = Vec::with_capacity(count);
    for id in 0..count {
        let node = table.nodes.get(&id.to_string()).ok_or(ControlError::Gap { missing: id, nodes: count })?;
        members.push(member(node, count));
    }
    let place = members.iter().position(|member| member.address == own);
    let own = place.ok_or_else(|| ControlError::NotThere { own: own.to_owned() })?;
    let state = DomainState::ALL.into_iter().find(|state| state.word() == table.status);
    Ok(View { own, members, state: state.unwrap_or(DomainState::Degraded) })
}

fn member(node: &Node, count: usize) -> Member {
    let state = NodeState::ALL.into_iter().find(|state| state.word() == node.status);
    let state = state.unwrap_or(NodeState::Unavailable);
    let links: Vec<Cell> = (0..count)
        .map(|to| {
            let word = node.connections.get(&to.to_string()).map_or("", |connection| &connection.status);
            Cell { state: link(word), cause: None, proof: Proof::Nothing }
        })
        .collect();
    let voice = match state {
        NodeState::Unavailable => Voice::Silent,
        NodeState::Initializing
        | NodeState::StartingAuthServer
        | NodeState::WaitingForPeers
        | NodeState::WaitingForRecovery
        | NodeState::InitGpu
        | NodeState::Ready
        | NodeState::ShuttingDown => Voice::Heard,
    };
    Member { address: node.host.clone(), state, version: node.version.clone(), voice, links }
}

/// The state of a link by its word. Those of the two mismatches, which the text table has as `!M!` and `!V!`, are not published:
/// whatever word speaks of one counts as it.
fn link(word: &str) -> LinkState {
    let known = LinkState::ALL.into_iter().find(|state| state.word() == word);
    known.unwrap_or_else(|| {
        let word = word.to_ascii_uppercase();
        let speaks_of = |what: &[&str]| what.iter().any(|what| word.contains(what));
        if speaks_of(&["!V!", "VERSION"]) {
            LinkState::VersionMismatch
        } else if speaks_of(&["!M!", "MISMATCH", "MAPPING"]) {
            LinkState::MapMismatch
        } else {
            LinkState::Invalid
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r#"{
 "nodes": {
  "1": {"status": "UNAVAILABLE", "host": "10.0.0.2", "connections": {
    "0": {"host": "10.0.0.1", "status": "INVALID", "changed": false},
    "1": {"host": "10.0.0.2", "status": "INVALID", "changed": false}}, "changed": false, "version": "", "hostName": ""},
  "0": {"status": "READY", "host": "10.0.0.1", "connections": {
    "1": {"host": "10.0.0.2", "status": "NEVER_CONNECTED", "changed": true},
    "0": {"host": "10.0.0.1", "status": "CONNECTED", "changed": true}}, "changed": true, "version": "580.95.05"}
 },
 "timestamp": "9/4/2026 00:37:39.905",
 "status": "DEGRADED"
}"#;

    #[test]
    fn nodes_are_read_in_their_order_whatever_the_texts() {
        let view = parse(TABLE, "10.0.0.1").unwrap();
        assert_eq!((view.own, view.state, view.ready()), (0, DomainState::Degraded, 1));
        assert!(view.has_members(["10.0.0.1", "10.0.0.2"].into_iter()));
        let missing: Vec<_> = view.missing().map(|(from, to, _)| (from, to)).collect();
        assert_eq!(missing, [(0, 1)]);
        assert_eq!(view.members[1].voice, Voice::Silent);
    }

    #[test]
    fn a_word_that_is_not_known_counts_as_the_least() {
        let text = TABLE.replace("\"READY\"", "\"PERFECT\"").replace("\"DEGRADED\"", "\"SO-SO\"");
        let view = parse(&text, "10.0.0.1").unwrap();
        assert_eq!((view.members[0].state, view.state), (NodeState::Unavailable, DomainState::Degraded));
    }

    #[test]
    fn a_mismatch_is_known_by_whatever_word() {
        for (word, state) in [
            ("MAP_MISMATCH", LinkState::MapMismatch),
            ("NODE_CONFIGURATION_MISMATCH", LinkState::MapMismatch),
            ("!M!", LinkState::MapMismatch),
            ("VERSION_MISMATCH", LinkState::VersionMismatch),
            ("INCOMPATIBLE_VERSION", LinkState::VersionMismatch),
            ("SOMETHING", LinkState::Invalid),
            ("", LinkState::Invalid),
        ] {
            assert_eq!(link(word), state, "{word}");
        }
    }

    #[test]
    fn what_is_no_table_of_this_node_is_refused() {
        assert!(matches!(parse("READY\n", "10.0.0.1"), Err(ControlError::Malformed(_))));
        assert!(matches!(parse(TABLE, "10.0.0.9"), Err(ControlError::NotThere { .. })));
        let gap = parse(
            &TABLE.replace("\"0\": {\"status\": \"READY\"", "\"7\": {\"status\": \"READY\""),
            "10.0.0.1",
        );
        assert!(matches!(gap, Err(ControlError::Gap { missing: 0, nodes: 2 })), "{gap:?}");
    }
}
