//! How a lab fares: its processes as their owner tells, its domain as a daemon that runs sees it.

use std::io::{self, Write};

use imex_config::chain;
use imex_core::DomainTable;
use imex_ctl::commands::domain::domain;
use imex_ctl::{DomainReport, Sources};
use imex_lab::{LabClient, LabStatus, Life, NodeReport, viewer};
use serde::Serialize;

use crate::diagnosis::Diagnosis;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::count;

/// How a lab fares.
#[derive(Debug, Serialize)]
pub(crate) struct Snapshot {
    /// Its directory.
    pub(crate) dir: String,
    /// The process that owns the daemons.
    pub(crate) owner: u32,
    /// What a daemon says of the domain; `None` if none could be asked.
    pub(crate) domain: Option<DomainBody>,
    /// Why none could be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) no_view: Option<String>,
    /// One per node, in order.
    pub(crate) nodes: Vec<NodeBody>,
    #[serde(skip)]
    pub(crate) report: Option<DomainReport>,
}

/// A domain as one daemon sees it.
#[derive(Debug, Serialize)]
pub(crate) struct DomainBody {
    /// Its state.
    pub(crate) state: &'static str,
    /// How many nodes are READY.
    pub(crate) ready: usize,
    /// What is wrong.
    #[serde(flatten)]
    pub(crate) diagnosis: Diagnosis,
}

/// A node: its process, and its state as the viewer sees it.
#[derive(Debug, Serialize)]
pub(crate) struct NodeBody {
    #[serde(flatten)]
    pub(crate) report: NodeReport,
    /// The state's word; `None` without a viewer.
    pub(crate) state: Option<&'static str>,
}

impl Snapshot {
    /// Asks the owner, then a daemon.
    pub(crate) async fn take(lab: &LabClient) -> Result<Self, Failure> {
        let status = lab.status().await?;
        let endpoint = lab.endpoint(viewer(&status));
        let report = domain(&Sources::endpoint(endpoint)).await;
        let (report, no_view) = match report {
            Ok(report) => (Some(report), None),
            Err(error) => (None, Some(chain(&error))),
        };
        Ok(Snapshot::of(lab, status, report, no_view))
    }

    fn of(lab: &LabClient, status: LabStatus, report: Option<DomainReport>, no_view: Option<String>) -> Self {
        let table = report.as_ref().map(|report| &report.table);
        let state = |node: usize| table.and_then(|table| Some(table.rows.get(node)?.state.word()));
        let nodes = status.nodes.into_iter().map(|report| NodeBody { state: state(report.node), report });
        Snapshot {
            dir: lab.layout().dir().display().to_string(),
            owner: status.pid,
            nodes: nodes.collect(),
            domain: table.map(DomainBody::of),
            no_view,
            report,
        }
    }

    /// The exit code for the state of the domain.
    pub(crate) fn exit(&self) -> Exit {
        match &self.report {
            Some(report) => Diagnosis::of(&report.table).exit(report.table.state),
            None => Exit::NoDaemon,
        }
    }

    /// Writes what is said of the domain: its state, and what is wrong.
    pub(crate) fn write_domain(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(domain) = &self.domain else {
            let reason = self.no_view.as_deref().unwrap_or("no daemon runs");
            return writeln!(out, "Domain: not known, for no daemon could be asked: {reason}");
        };
        let nodes = count(self.nodes.len(), "node");
        let view =
            domain.diagnosis.viewer.map(|node| format!(", as node {node} sees it")).unwrap_or_default();
        writeln!(out, "Domain: {}, {} of {nodes} READY{view}", domain.state, domain.ready)?;
        domain.diagnosis.write(out)
    }

    /// Writes everything.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let dir = &self.dir;
        let nodes = count(self.nodes.len(), "node");
        writeln!(out, "Lab in {dir}, owned by process {}: {nodes}", self.owner)?;
        self.write_domain(out)?;
        writeln!(out)?;
        writeln!(out, "{:>4}  {:<15}  {:<20}  Process", "Node", "Address", "State")?;
        for node in &self.nodes {
            let NodeReport { node: k, address, life } = &node.report;
            let process = match life {
                Life::Running { pid } => format!("running ({pid})"),
                Life::Stopped { pid } => format!("stopped ({pid})"),
                Life::Dead { end } => format!("dead: it {end}"),
            };
            // Padding wants text, not an address.
            let address = address.to_string();
            writeln!(out, "{k:>4}  {address:<15}  {:<20}  {process}", node.state.unwrap_or("-"))?;
        }
        Ok(())
    }
}

impl DomainBody {
    fn of(table: &DomainTable) -> Self {
        DomainBody { state: table.state.word(), ready: table.ready(), diagnosis: Diagnosis::of(table) }
    }
}
