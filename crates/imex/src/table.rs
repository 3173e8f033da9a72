//! A domain's table in words, whichever service it comes from.
//!
//! imexd is asked through the library; of NVIDIA's service nothing but `nvidia-imex-ctl -N -j` is used. What both tell is
//! this table. A word that is not known counts as the least that it can mean: not READY, not connected.

use std::collections::BTreeMap;

use imex_core::{DomainState, DomainTable, Evidence, LinkState, NodeState};
use serde::{Deserialize, Serialize};

/// A domain's table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Table {
    /// Which member this node is, if that is known.
    pub(crate) own: Option<usize>,
    /// The domain's state.
    pub(crate) state: String,
    /// The members in the order of the node map.
    pub(crate) members: Vec<Member>,
}

/// One member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Member {
    /// Its entry of the node map.
    pub(crate) address: String,
    /// Its state's word.
    pub(crate) state: String,
    /// Its version; empty if it does not answer.
    pub(crate) version: String,
    /// The words of its links, in order.
    pub(crate) links: Vec<String>,
}

/// Why a text is no table.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TableError {
    /// It is not the JSON of a control tool.
    #[error("the control tool printed something else than its table: {0}")]
    Malformed(#[source] serde_json::Error),
    /// Its nodes are not numbered 0, 1, 2 …, or they are too many.
    #[error("the control tool printed {0} nodes that are not numbered in a row, or more than {most}", most = DomainTable::MOST_NODES)]
    Numbers(usize),
}

#[derive(Deserialize)]
struct Printed {
    nodes: BTreeMap<String, PrintedNode>,
    status: String,
}

#[derive(Deserialize)]
struct PrintedNode {
    status: String,
    host: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    connections: BTreeMap<String, PrintedLink>,
}

#[derive(Deserialize)]
struct PrintedLink {
    status: String,
}

impl Table {
    /// What a daemon says. Rows of which nobody knows anything have no links.
    pub(crate) fn of(table: &DomainTable) -> Self {
        let members = table.rows.iter().map(|row| Member {
            address: row.address.to_string(),
            state: row.state.word().to_owned(),
            version: row.version.to_string(),
            links: match row.evidence {
                Evidence::NoAnswer => vec![LinkState::Invalid.word().to_owned(); row.links.len()],
                Evidence::Own | Evidence::Reported | Evidence::Asked => {
                    row.links.iter().map(|link| link.state.word().to_owned()).collect()
                }
            },
        });
        Table {
            own: table.viewer.map(|node| node.index()),
            state: table.state.word().to_owned(),
            members: members.collect(),
        }
    }

    /// What `-N -j` prints, as one of whose entries `own` is known.
    pub(crate) fn parse(text: &str, own: Option<usize>) -> Result<Self, TableError> {
        let printed: Printed = serde_json::from_str(text).map_err(TableError::Malformed)?;
        let count = printed.nodes.len();
        let in_order: Option<Vec<&PrintedNode>> =
            (0..count).map(|id| printed.nodes.get(&id.to_string())).collect();
        let nodes =
            in_order.filter(|_| count <= DomainTable::MOST_NODES).ok_or(TableError::Numbers(count))?;
        let members = nodes.iter().map(|node| Member {
            address: node.host.clone(),
            state: known(&node.status, NodeState::ALL.map(NodeState::word), NodeState::Unavailable.word()),
            version: node.version.clone(),
            links: (0..count)
                .map(|to| {
                    let word = node.connections.get(&to.to_string()).map_or("", |link| &link.status);
                    known(word, LinkState::ALL.map(LinkState::word), LinkState::Invalid.word())
                })
                .collect(),
        });
        let members = members.collect();
        let state =
            known(&printed.status, DomainState::ALL.map(DomainState::word), DomainState::Degraded.word());
        Ok(Table { own: own.filter(|own| *own < count), state, members })
    }

    /// This node's own row.
    pub(crate) fn own_row(&self) -> Option<&Member> {
        self.members.get(self.own?)
    }

    /// The members that `judge` names by a link of this node to them.
    pub(crate) fn linked(&self, judge: impl Fn(&str) -> bool) -> Vec<&str> {
        let links = self.own_row().map_or(&[][..], |row| &row.links);
        let both = links.iter().zip(&self.members);
        both.filter(|(link, _)| judge(link)).map(|(_, member)| member.address.as_str()).collect()
    }
}

impl Member {
    /// If the row is complete: this member is READY and reaches every one.
    pub(crate) fn is_complete(&self) -> bool {
        self.state == NodeState::Ready.word()
            && self.links.iter().all(|link| link == LinkState::Connected.word())
    }
}

fn known<const N: usize>(word: &str, words: [&'static str; N], least: &'static str) -> String {
    words.into_iter().find(|known| *known == word).unwrap_or(least).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = r#"{"nodes": {
        "1": {"status": "UNAVAILABLE", "host": "10.0.0.2", "connections": {}, "version": "", "hostName": ""},
        "0": {"status": "READY", "host": "10.0.0.1", "version": "580.95.05", "connections": {
            "1": {"host": "10.0.0.2", "status": "MAP_MISMATCH", "changed": true},
            "0": {"host": "10.0.0.1", "status": "CONNECTED", "changed": true}}}},
        "timestamp": "9/4/2026 00:37:39.905", "status": "DEGRADED"}"#;

    #[test]
    fn what_a_control_tool_prints_is_read_in_the_order_of_the_map() {
        let table = Table::parse(PRINTED, Some(0)).unwrap();
        assert_eq!(table.members[0].links, ["CONNECTED", "MAP_MISMATCH"]);
        assert_eq!(table.members[1].links, ["INVALID", "INVALID"]);
        assert_eq!(table.linked(|link| link == "MAP_MISMATCH"), ["10.0.0.2"]);
        assert!(!table.own_row().unwrap().is_complete());
    }

    #[test]
    fn an_unknown_word_counts_as_the_least_and_a_gap_is_refused() {
        let table = Table::parse(&PRINTED.replace("READY", "SPLENDID"), Some(7)).unwrap();
        assert_eq!((table.members[0].state.as_str(), table.own), ("UNAVAILABLE", None));
        assert!(matches!(
            Table::parse(&PRINTED.replace("\"1\": {\"status\"", "\"5\": {\"status\""), None),
            Err(TableError::Numbers(2))
        ));
        assert!(matches!(Table::parse("READY\n", None), Err(TableError::Malformed(_))));
    }
}
