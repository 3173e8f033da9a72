//! What validating came to, as text and JSON.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use imex_core::{DomainTable, Evidence, LinkReport, LinkState, NodeRow, NodeState};
use imex_ctl::render::{HostNames, text};
use imex_ctl::{DomainReport, View};
use imex_host::compress;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::bandwidth::Bandwidth;
use super::collect::{Collected, Job};
use super::member::Spared;
use super::verdict::{self, Part, Reports, Wrong};
use crate::clock;
use crate::exit::Exit;
use crate::output::count;

/// What validating came to.
#[derive(Debug, Serialize)]
pub(super) struct Validated {
    /// The exit code.
    pub(super) exit_code: Exit,
    #[serde(flatten)]
    job: Job,
    /// The domains, as they should be.
    domains: Vec<Part>,
    /// What was measured, if it was to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    bandwidth: Option<Bandwidth>,
    /// What each member told.
    members: Reports,
    /// What srun said besides.
    #[serde(skip_serializing_if = "String::is_empty")]
    complaint: String,
}

impl Validated {
    /// Judges.
    pub(super) fn of(job: Job, collected: Collected, bandwidth: Option<Bandwidth>) -> Self {
        let Collected { reports, broken, complaint } = collected;
        let domains = verdict::judge(&job, &reports, &broken);
        let exit_code = match (verdict::exit(&domains), &bandwidth) {
            (Exit::Done, Some(bandwidth)) => bandwidth.exit(),
            (exit, _) => exit,
        };
        Validated { exit_code, job, domains, bandwidth, members: reports, complaint }
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for part in &self.domains {
            if let Some(table) = assembled(part, &self.members) {
                let view = View::Tool { because: String::new(), port: None };
                let taken_at = clock::timestamp().to_zoned(TimeZone::system());
                text::domain(&DomainReport { table, view, taken_at }, HostNames::Shown, &mut &mut *out)?;
                writeln!(out)?;
            }
            self.domain(part, out)?;
        }
        if let Some(bandwidth) = &self.bandwidth {
            bandwidth.write(out)?;
        }
        if self.exit_code == Exit::NoReport && !self.complaint.is_empty() {
            writeln!(out, "srun says: {}", self.complaint)?;
        }
        if self.job.nodes.len() == 1 {
            writeln!(
                out,
                "a job of one node has no link to another: `sbatch -N` says of how many it shall be"
            )?;
        }
        let verdict = if self.exit_code == Exit::Done { "verified" } else { "NOT verified" };
        let (nodes, domains) = (count(self.job.nodes.len(), "node"), count(self.domains.len(), "domain"));
        writeln!(out, "job {}: {verdict}: {nodes} in {domains}", self.job.id)
    }

    fn domain(&self, part: &Part, out: &mut dyn Write) -> io::Result<()> {
        let by = part.by.as_ref().map(|by| format!(" of {by}")).unwrap_or_default();
        let state = if part.wrong.is_empty() { "verified" } else { "NOT verified" };
        writeln!(out, "domain{by}: {state}: {}", compress(&part.nodes))?;
        let spared = match &part.nodes[..] {
            [only] => self.members.get(only).and_then(|report| report.spared),
            _ => None,
        };
        match spared {
            Some(Spared::ChannelOnly) => {
                writeln!(out, "  alone in its NVLink partition: by jobs.one_node a channel and no domain")?;
            }
            Some(Spared::Skipped) => {
                writeln!(
                    out,
                    "  alone in its NVLink partition: by jobs.one_node neither domain nor channel"
                )?;
            }
            None => {}
        }
        let reported = part.nodes.iter().any(|node| self.members.contains_key(node));
        if reported && spared != Some(Spared::Skipped) && !verdict::has_channels(part, &self.members) {
            writeln!(out, "  no channel was checked: the drivers have none, or channels.use is off")?;
        }
        for Wrong { exit_code: _, nodes, what } in &part.wrong {
            writeln!(out, "  {nodes}: {what}")?;
        }
        if part.nodes.iter().filter_map(|node| self.members.get(node)).any(|report| report.denied) {
            writeln!(
                out,
                "  hint: ask as root, or let users in: OPENIMEX_CMD_SOCKET_MODE=0666 in a config.cfg that they may read"
            )?;
        }
        Ok(())
    }
}

/// The table of a domain, each row in its own member's words; in the order of the first map that is told.
fn assembled(part: &Part, reports: &Reports) -> Option<DomainTable> {
    let tables = || part.nodes.iter().filter_map(|node| Some((node, reports.get(node)?.table.as_ref()?)));
    let (_, first) = tables().next()?;
    let len = first.members.len();
    let rows: Vec<NodeRow> = first
        .members
        .iter()
        .map(|member| {
            let address: Arc<str> = member.address.as_str().into();
            let told = tables().find_map(|(node, table)| {
                Some((node, table.own_row().filter(|row| row.address == member.address)?))
            });
            let Some((node, row)) = told.filter(|(_, row)| row.links.len() == len) else {
                return NodeRow::no_answer(address, len);
            };
            let state = |word: &str| LinkState::ALL.into_iter().find(|state| state.word() == word);
            let links = row.links.iter().map(|word| LinkReport {
                state: state(word).unwrap_or(LinkState::Invalid),
                cause: None,
                since: Duration::ZERO,
            });
            NodeRow {
                state: NodeState::ALL
                    .into_iter()
                    .find(|state| state.word() == row.state)
                    .unwrap_or(NodeState::Unavailable),
                version: row.version.as_str().into(),
                host: node.as_str().into(),
                evidence: Evidence::Asked,
                links: links.collect(),
                ..NodeRow::no_answer(address, len)
            }
        })
        .collect();
    let state = DomainTable::judge(&rows);
    Some(DomainTable { viewer: None, rows, state })
}
