//! Made-up domains for the tests of this crate.

use std::sync::Arc;
use std::time::Duration;

use imex_core::{DomainTable, Evidence, LinkReport, LinkState, NodeRow, NodeState};

/// `nodes` nodes, all READY and connected, seen by a tool.
pub(crate) fn connected(nodes: usize) -> DomainTable {
    let link = LinkReport { state: LinkState::Connected, cause: None, since: Duration::ZERO };
    let row = |id: usize| NodeRow {
        address: Arc::from(format!("10.31.48.{}", 9 + 13 * id)),
        state: NodeState::Ready,
        version: "570.172.08".into(),
        host: format!("rack1-host{id:02}").into(),
        evidence: Evidence::Asked,
        links: vec![link.clone(); nodes],
    };
    let rows: Vec<NodeRow> = (0..nodes).map(row).collect();
    let state = DomainTable::judge(&rows);
    DomainTable { viewer: None, rows, state }
}

/// Makes one node of a table one that does not answer.
pub(crate) fn silence(table: &mut DomainTable, node: usize) {
    let address = table.rows[node].address.clone();
    table.rows[node] = NodeRow::no_answer(address, table.rows.len());
    table.state = DomainTable::judge(&table.rows);
}
