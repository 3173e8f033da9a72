//! `-N`: the whole domain, once.
//!
//! The local daemon knows the domain and is asked first. Nodes that it cannot speak for, or all if it does not
//! answer, are asked directly where the files give their command services a port.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use imex_config::{ClientSettings, chain};
use imex_core::{DomainTable, Evidence, NodeRow, NodeState};
use imex_wire::{ClientError, Endpoint, NodeStatus};
use tokio::net::lookup_host;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::{DEADLINE, connect};
use crate::secure::Credentials;
use crate::sources::Nodes;
use crate::{DomainReport, Sources, View, clock};

/// The daemon's share of [`DEADLINE`]: its own limit for a table is one second, the rest is the way there and back.
/// What is left is for asking other nodes should it say nothing at all.
const DAEMON_SHARE: Duration = Duration::from_millis(1_250);

/// How many nodes are asked at the same time: every node of the largest NVLink domain (144) at once, and still well
/// below the usual limit of 1,024 descriptors.
const ASKED_AT_ONCE: usize = 256;

/// Looks at the domain. Takes at most [`DEADLINE`].
///
/// # Errors
///
/// The daemon does not answer, and there is no node map from which to make a table without it, or it has more than
/// [`DomainTable::MOST_NODES`] nodes.
pub async fn domain(sources: &Sources) -> Result<DomainReport, ClientError> {
    let until = Instant::now() + DEADLINE;
    let nodes = sources.nodes.as_ref().filter(|nodes| nodes.map.len() <= DomainTable::MOST_NODES);
    let (mut table, view) = match (daemons_table(sources).await, nodes) {
        (Ok(table), _) => (table, View::Daemon),
        (Err(error), Some(nodes)) => (unknown(nodes), tools_view(&error, nodes)),
        (Err(error), None) => return Err(error),
    };
    if let Some(port) = nodes.and_then(|nodes| nodes.port) {
        let asking = Asking { port, until, credentials: sources.credentials.clone() };
        ask_silent_nodes(&mut table, asking).await;
    }
    Ok(DomainReport { table, view, taken_at: clock::now() })
}

/// Looks at the domain of these files, as `imexctl -N` does.
///
/// # Errors
///
/// As [`domain`].
pub async fn domain_table(settings: &ClientSettings) -> Result<DomainReport, ClientError> {
    domain(&Sources::from(settings)).await
}

async fn daemons_table(sources: &Sources) -> Result<DomainTable, ClientError> {
    let mut client = connect(sources, DAEMON_SHARE).await?;
    Ok(client.get_domain().await?.table)
}

fn tools_view(error: &ClientError, nodes: &Nodes) -> View {
    View::Tool { because: chain(error), port: nodes.port }
}

/// A table of which only the map is known.
fn unknown(nodes: &Nodes) -> DomainTable {
    let len = nodes.map.len();
    let rows: Vec<NodeRow> =
        (nodes.map.iter()).map(|(_, address)| NodeRow::no_answer(address.into(), len)).collect();
    let state = DomainTable::judge(&rows);
    DomainTable { viewer: None, rows, state }
}

/// Puts in the rows of those nodes that did not answer the daemon and do answer now.
async fn ask_silent_nodes(table: &mut DomainTable, asking: Asking) {
    let until = asking.until;
    let len = table.rows.len();
    let silent = (table.rows.iter().enumerate()).filter(|(_, row)| row.state == NodeState::Unavailable);
    let questions = silent.map(|(id, row)| Question { id, address: row.address.clone(), len });
    let mut waiting = questions.collect::<Vec<_>>().into_iter();
    let mut asked = JoinSet::new();
    loop {
        while asked.len() < ASKED_AT_ONCE
            && let Some(question) = waiting.next()
        {
            asked.spawn(question.ask(asking.clone()));
        }
        // Whoever is still asked when the time is up ends with the set.
        let Ok(Some(answer)) = timeout_at(until, asked.join_next()).await else {
            break;
        };
        if let Ok(Some((id, row))) = answer {
            table.rows[id] = row;
            table.state = DomainTable::judge(&table.rows);
        }
    }
}

/// How nodes are asked.
#[derive(Clone)]
struct Asking {
    port: u16,
    until: Instant,
    credentials: Credentials,
}

/// What one node is asked.
struct Question {
    /// Its place in the map.
    id: usize,
    /// Its entry of the map.
    address: Arc<str>,
    /// How many nodes the map has.
    len: usize,
}

impl Question {
    /// Asks at each address of the node in turn. `None` if none of them answers.
    async fn ask(self, asking: Asking) -> Option<(usize, NodeRow)> {
        let addresses = lookup_host((&*self.address, asking.port)).await.ok()?;
        let addresses: Vec<SocketAddr> = addresses.collect();
        for address in addresses {
            let left = asking.until.saturating_duration_since(Instant::now());
            let place = Endpoint::Tcp(address);
            let connected = asking.credentials.connect(&place, Some(&self.address), left).await;
            if let Ok(mut client) = connected
                && let Ok(status) = client.get_node().await
            {
                return Some((self.id, self.row(status)));
            }
        }
        None
    }

    fn row(self, status: NodeStatus) -> NodeRow {
        let NodeStatus { node, address, state, version, software: _, host, links } = status;
        // A node with another map answers for itself, but its links are not those of this map.
        let same_map = node.index() == self.id && address == self.address && links.len() == self.len;
        let row = NodeRow::no_answer(self.address, self.len);
        NodeRow {
            state,
            version,
            host,
            evidence: Evidence::Asked,
            links: if same_map { links } else { row.links },
            ..row
        }
    }
}
