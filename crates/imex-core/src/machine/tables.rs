//! The whole domain's table: what is known here, and rows fetched from the nodes whose rows are not complete.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Machine;
use crate::timing::OPEN_TABLES;
use crate::view::{DomainTable, Evidence, NodeRow};
use crate::{Action, LinkReport, LinkState, Moment, NodeId, NodeState, PeerMessage};

/// The tables in the making.
#[derive(Debug, Default)]
pub(super) struct Tables {
    open: Vec<OpenTable>,
    questions: u64,
}

#[derive(Debug)]
struct OpenTable {
    tickets: Vec<u64>,
    question: u64,
    deadline: Moment,
    waiting: BTreeSet<NodeId>,
    rows: BTreeMap<NodeId, FetchedRow>,
}

/// A row as its node sent it.
type FetchedRow = (NodeState, Vec<LinkReport>);

impl Tables {
    pub(super) fn due(&self) -> Option<Moment> {
        self.open.iter().map(|table| table.deadline).min()
    }
}

impl Machine {
    pub(super) fn handle_table_asked(&mut self, ticket: u64, now: Moment) {
        if self.tables.open.len() >= OPEN_TABLES {
            if let Some(newest) = self.tables.open.last_mut() {
                newest.tickets.push(ticket);
            }
            return;
        }
        self.tables.questions += 1;
        let question = self.tables.questions;
        let mut waiting = BTreeSet::new();
        for (peer, entry) in self.setup.map.ids().zip(&self.peers) {
            let knows = peer == self.me || entry.counted.complete;
            if let Some(stream) = entry.stream(peer).filter(|_| !knows) {
                waiting.insert(peer);
                let message = PeerMessage::RowRequest { question };
                self.actions.push_back(Action::Send { stream, message });
            }
        }
        let deadline = now + self.setup.timing.table_deadline;
        let table = OpenTable { tickets: vec![ticket], question, deadline, waiting, rows: BTreeMap::new() };
        self.tables.open.push(table);
        self.finish_tables(now);
    }

    pub(super) fn table_row(&mut self, peer: NodeId, question: u64, row: FetchedRow, now: Moment) {
        let fits = row.1.len() == self.peers.len();
        for table in self.tables.open.iter_mut().filter(|table| table.question == question) {
            if table.waiting.remove(&peer) && fits {
                table.rows.insert(peer, row);
                break;
            }
        }
        self.finish_tables(now);
    }

    /// A peer can no longer answer by the stream that it was asked by.
    pub(super) fn table_lost(&mut self, peer: NodeId, now: Moment) {
        if self.peers[peer.index()].is_live() {
            return;
        }
        for table in &mut self.tables.open {
            table.waiting.remove(&peer);
        }
        self.finish_tables(now);
    }

    pub(super) fn tables_timeout(&mut self, now: Moment) {
        for table in self.tables.open.iter_mut().filter(|table| table.deadline <= now) {
            table.waiting.clear();
        }
        self.finish_tables(now);
    }

    /// A node that is leaving shows only itself.
    pub(super) fn answer_table_after_leaving(&mut self, ticket: u64) {
        self.answer_table(vec![ticket], &mut BTreeMap::new(), Moment::ZERO);
    }

    fn finish_tables(&mut self, now: Moment) {
        let done: Vec<OpenTable> =
            self.tables.open.extract_if(.., |table| table.waiting.is_empty()).collect();
        for mut table in done {
            self.answer_table(table.tickets, &mut table.rows, now);
        }
    }

    fn answer_table(&mut self, tickets: Vec<u64>, fetched: &mut BTreeMap<NodeId, FetchedRow>, now: Moment) {
        let nodes = self.setup.map.ids();
        let rows: Vec<NodeRow> =
            nodes.map(|node| self.table_line(node, fetched.remove(&node), now)).collect();
        let state = DomainTable::judge(&rows);
        let table = DomainTable { viewer: Some(self.me), rows, state };
        for ticket in tickets {
            self.actions.push_back(Action::AnswerTable { ticket, table: table.clone() });
        }
    }

    fn table_line(&self, node: NodeId, fetched: Option<FetchedRow>, now: Moment) -> NodeRow {
        let address = self.setup.map.get(node).unwrap_or_default().into();
        let entry = &self.peers[node.index()];
        let (state, evidence, links) = match (entry.report, fetched) {
            _ if node == self.me => (self.state, Evidence::Own, self.row(now)),
            (_, Some((state, links))) => (state, Evidence::Asked, links),
            (Some(report), None) if report.missing == 0 => {
                let connected =
                    LinkReport { state: LinkState::Connected, cause: None, since: Duration::ZERO };
                (report.state, Evidence::Reported, vec![connected; self.peers.len()])
            }
            (Some(_) | None, None) => return NodeRow::no_answer(address, self.peers.len()),
        };
        let said = self.hello_of(node).map(|hello| hello.get());
        NodeRow {
            address,
            state,
            version: said.map_or_else(|| "".into(), |said| said.driver.clone()),
            host: said.map_or_else(|| "".into(), |said| said.host.clone()),
            evidence,
            links,
        }
    }
}
