//! What Prometheus is told, in its text format, by way of node_exporter's textfile collector: a file that is replaced as a
//! whole needs no port and no server.

use imex_topology::reconcile::Decision;
use imex_topology::{NodeSet, Topologies, Topology};
use jiff::Timestamp;

use crate::clock;
use crate::failure::Failure;
use crate::output::count;
use crate::topology::transaction::Outcome;

/// All numbers since the start.
#[derive(Clone, Debug, Default)]
pub(super) struct Metrics {
    polls: u64,
    failures: u64,
    held: u64,
    rolled_back: u64,
    unconfirmed: u64,
    failed: u64,
    blocks: usize,
    nodes: usize,
    kept: usize,
    warnings: usize,
    pending: bool,
    in_sync: Option<bool>,
    last_good: Option<Timestamp>,
    last_applied: Option<Timestamp>,
}

impl Metrics {
    /// A poll found this.
    pub(super) fn found(&mut self, proposed: &Topologies, kept: &NodeSet) {
        let blocks = || proposed.list.iter().filter_map(Topology::blocks).flat_map(|blocks| &blocks.blocks);
        self.blocks = blocks().count();
        self.nodes = blocks().map(|block| block.nodes.len()).sum();
        self.kept = kept.len();
    }

    /// The sources warn of so many things.
    pub(super) fn warned(&mut self, warnings: usize) {
        self.warnings = warnings;
    }

    /// A poll was judged.
    pub(super) fn decided(&mut self, decision: &Decision) {
        let now = clock::timestamp();
        self.polls += 1;
        match decision {
            Decision::Keep { .. } => self.failures += 1,
            Decision::Unchanged | Decision::Wait { .. } | Decision::Apply { .. } => {
                self.last_good = Some(now);
                self.pending = matches!(decision, Decision::Wait { .. });
            }
        }
    }

    /// A topology was applied, or could not be.
    pub(super) fn applied(&mut self, applied: &Result<Outcome, Failure>) {
        let (counter, in_sync) = match applied {
            Ok(Outcome::Held) => (&mut self.held, Some(true)),
            Ok(Outcome::RolledBack { .. }) => (&mut self.rolled_back, Some(true)),
            Ok(Outcome::RollbackUnconfirmed { .. }) => (&mut self.unconfirmed, None),
            Err(_) => (&mut self.failed, None),
        };
        *counter += 1;
        self.in_sync = in_sync;
        if applied.as_ref().is_ok_and(|outcome| *outcome == Outcome::Held) {
            self.last_applied = Some(clock::timestamp());
        }
    }

    /// If the controller holds the file; `None` if it could not be asked.
    pub(super) fn verified(&mut self, in_sync: Option<bool>) {
        self.in_sync = in_sync;
    }

    /// One line for `systemctl status`.
    pub(super) fn status(&self) -> String {
        let sync = match self.in_sync {
            Some(true) => "held by the controller",
            Some(false) => "NOT held by the controller",
            None => "controller not asked",
        };
        let pending = if self.pending { ", a change is pending" } else { "" };
        let (nodes, blocks) = (count(self.nodes, "node"), count(self.blocks, "block"));
        format!("{nodes} in {blocks}, {sync}{pending}; {} of {} polls failed", self.failures, self.polls)
    }

    /// The file for Prometheus.
    pub(super) fn text(&self) -> String {
        let number = |value: usize| Some(value.to_string());
        let flag = |value: bool| Some(u8::from(value).to_string());
        let time = |time: Option<Timestamp>| time.map(|time| time.as_second().to_string());
        let rows: [(&str, &str, &str, Option<String>); 14] = [
            ("polls_total", "counter", "Polls of the sources.", Some(self.polls.to_string())),
            ("failed_polls_total", "counter", "Polls that kept the file.", Some(self.failures.to_string())),
            ("applied_total", "counter", "Topologies that are held.", Some(self.held.to_string())),
            ("rolled_back_total", "counter", "Topologies not taken.", Some(self.rolled_back.to_string())),
            ("unconfirmed_total", "counter", "Rollbacks not confirmed.", Some(self.unconfirmed.to_string())),
            ("not_applied_total", "counter", "Topologies not tried.", Some(self.failed.to_string())),
            ("blocks", "gauge", "Blocks that the sources know.", number(self.blocks)),
            ("nodes", "gauge", "Nodes in these blocks.", number(self.nodes)),
            ("kept_nodes", "gauge", "Nodes kept because they are powered down.", number(self.kept)),
            ("source_warnings", "gauge", "Things that the sources warn of.", number(self.warnings)),
            ("pending", "gauge", "If a change waits.", flag(self.pending)),
            ("in_sync", "gauge", "If the controller holds the file.", self.in_sync.and_then(flag)),
            ("last_good_poll_seconds", "gauge", "When all sources last answered.", time(self.last_good)),
            ("last_applied_seconds", "gauge", "When a topology was last applied.", time(self.last_applied)),
        ];
        let mut text = String::new();
        for (name, kind, help, value) in rows {
            if let Some(value) = value {
                let name = format!("imex_topology_{name}");
                text.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n"));
            }
        }
        text
    }
}
