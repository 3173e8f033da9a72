//! The JSON layout: `nodes`, `timestamp`, `status`, in this order, each level indented by one blank.
//!
//! Monitors take the last `"status":` of the text for the domain's, so it must stay the last key.

use std::io::{self, Write};

use imex_core::{DomainTable, LinkReport, NodeRow};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{HostNames, timestamp};
use crate::DomainReport;
use crate::report::Since;

/// Writes the whole report as one document with a newline at its end. `since` decides what counts as changed.
///
/// # Errors
///
/// Those of `out`.
pub fn domain(
    report: &DomainReport,
    since: Since<'_>,
    names: HostNames,
    out: &mut impl Write,
) -> io::Result<()> {
    let layout = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, layout);
    Domain::new(report, since, names).serialize(&mut serializer)?;
    writeln!(out)
}

#[derive(Serialize)]
struct Domain<'a> {
    nodes: ById<Node<'a>>,
    timestamp: String,
    status: &'static str,
}

#[derive(Serialize)]
struct Node<'a> {
    status: &'static str,
    /// As written in the node map.
    host: &'a str,
    connections: ById<Connection<'a>>,
    changed: bool,
    /// In full; empty if the node does not answer.
    version: &'a str,
    /// Empty unless host names are shown.
    #[serde(rename = "hostName")]
    host_name: &'a str,
}

#[derive(Serialize)]
struct Connection<'a> {
    /// As written in the node map.
    host: &'a str,
    status: &'static str,
    changed: bool,
}

impl<'a> Domain<'a> {
    fn new(report: &'a DomainReport, since: Since<'_>, names: HostNames) -> Self {
        let DomainReport { table, view: _, taken_at } = report;
        let DomainTable { viewer: _, rows, state } = table;
        let nodes = (0..rows.len()).map(|id| Node::new(table, id, since, names)).collect();
        Domain { nodes: ById(nodes), timestamp: timestamp(taken_at), status: state.word() }
    }
}

impl<'a> Node<'a> {
    fn new(table: &'a DomainTable, id: usize, since: Since<'_>, names: HostNames) -> Self {
        let NodeRow { address, state, version, host, evidence: _, links } = &table.rows[id];
        let connections = table.rows.iter().zip(links).enumerate().map(|(to, (peer, link))| {
            let LinkReport { state, cause: _, since: _ } = link;
            Connection {
                host: &peer.address,
                status: state.word(),
                changed: since.link_changed(table, id, to),
            }
        });
        Node {
            status: state.word(),
            host: address,
            connections: ById(connections.collect()),
            changed: since.node_changed(table, id),
            version,
            host_name: match names {
                HostNames::Hidden => "",
                HostNames::Shown => host,
            },
        }
    }
}

/// A list as an object whose keys are the places in the list.
struct ById<T>(Vec<T>);

impl<T: Serialize> Serialize for ById<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (id, value) in self.0.iter().enumerate() {
            map.serialize_entry(&id, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests;
