//! How long the parts take on a large cluster. Run by `cargo xtask bench topology`, never as a test.

use std::fmt::Write;
use std::time::{Duration, Instant};

use imex_host::fabric::{FabricState, FabricStatus};
use imex_host::{CliqueId, FabricId, GpuFabric, NodeReport};
use jiff::Timestamp;

use crate::diff::diff;
use crate::generate::{Options, generate};
use crate::inventory::{BlockKey, Evidence, Placement, SourceKind, SourceReport, merge};
use crate::lint::{Context, lint};
use crate::model::{NodeSet, Topologies, Topology};
use crate::plan::{NodeStates, Request, plan};
use crate::render;
use crate::source::{nvml_reports, topology_file};
use crate::written::Form;

/// The nodes of an NVL72 rack.
const RACK: usize = 18;

/// A large cluster, in all the forms that the parts read.
#[derive(Clone, Debug)]
pub struct Site {
    nodes: usize,
    lines: String,
    report: SourceReport,
    yaml: String,
    before: Topologies,
    after: Topologies,
    context: Context,
}

impl Site {
    /// A cluster of racks with four GPUs in each node.
    pub fn of(nodes: usize) -> Self {
        let report = report(nodes);
        let yaml = written(report.clone());
        let context =
            Context { nodes: Some(report.nodes.keys().cloned().collect::<NodeSet>()), ..Context::default() };
        Site {
            nodes,
            lines: lines(nodes),
            before: parsed(&yaml),
            after: parsed(&yaml.replacen("- block: ", "- block: new-", 3)),
            report,
            yaml,
            context,
        }
    }

    /// What the nodes print, one line of JSON each: the text that the source `nvml` reads.
    pub fn lines(&self) -> &str {
        &self.lines
    }

    /// The same racks as a person keeps them: the text that the source `inventory` reads.
    pub fn inventory(&self) -> String {
        let rack = |rack: usize| {
            let (first, last) = (rack * RACK + 1, self.nodes.min((rack + 1) * RACK));
            format!("  - block: rack{rack:04}\n    nodes: node[{first:06}-{last:06}]\n")
        };
        (0..self.nodes.div_ceil(RACK)).map(rack).fold("blocks:\n".to_owned(), |text, rack| text + &rack)
    }

    /// Understands what the nodes print.
    pub fn read(&self) -> Duration {
        let from = "bench".into();
        timed(|| nvml_reports::parse(&self.lines, &from))
    }

    /// Merges, names, sizes and writes.
    pub fn generate(&self) -> Duration {
        let report = self.report.clone();
        timed(|| written(report))
    }

    /// Reads and judges the file, with the nodes of a slurm.conf.
    pub fn lint(&self) -> Duration {
        timed(|| lint(&self.yaml, Form::Yaml, &self.context))
    }

    /// Compares two topologies of which three blocks differ.
    pub fn diff(&self) -> Duration {
        timed(|| diff(&self.before, &self.after))
    }

    /// Places a job of half of the nodes in segments of half a rack.
    ///
    /// # Panics
    ///
    /// Never: the topology was made with blocks.
    pub fn plan(&self) -> Duration {
        let topology = self.before.cluster_default().and_then(Topology::blocks).expect("there are blocks");
        let states = NodeStates::default();
        let segment = RACK / 2;
        let nodes = self.nodes / 2 / segment * segment;
        let request = Request { nodes, segment: Some(segment), ..Request::default() };
        timed(|| plan(topology, &states, &request))
    }
}

/// The topology.yaml of a report.
fn written(report: SourceReport) -> String {
    let merged = merge([report]);
    let made = generate(&merged.inventory, &Options::default(), None).expect("there are blocks");
    let mut text = Vec::new();
    render::yaml(&made.topologies, &[], &mut text).expect("memory takes it");
    String::from_utf8(text).expect("text is written")
}

fn parsed(yaml: &str) -> Topologies {
    topology_file::parse(yaml, Form::Yaml).expect("what is written can be read")
}

/// The lines that so many nodes with four GPUs each print.
fn lines(nodes: usize) -> String {
    let gpu = |gpu: usize, cluster: &str| GpuFabric {
        gpu: gpu.to_string(),
        state: FabricState::Completed,
        status: FabricStatus::Success,
        cluster_uuid: Some(cluster.to_owned()),
        clique_id: Some(32_766),
    };
    let line = |node: usize| {
        let cluster = format!("5b1e6f4e-8d3a-4c0b-9a52-{:012x}", node / RACK + 1);
        let gpus = (0..4).map(|index| gpu(index, &cluster)).collect();
        let report = NodeReport::new(format!("node{:06}", node + 1), Timestamp::UNIX_EPOCH, gpus);
        serde_json::to_string(&report).expect("a report can be written") + "\n"
    };
    (0..nodes).map(line).collect()
}

/// What the GPUs of so many nodes say.
fn report(nodes: usize) -> SourceReport {
    let mut report = SourceReport::default();
    let mut name = String::new();
    for node in 0..nodes {
        let cluster = format!("5b1e6f4e-8d3a-4c0b-9a52-{:012x}", node / RACK + 1);
        let cluster = cluster.parse().expect("a UUID is written");
        let key = BlockKey::Fabric(FabricId { cluster, clique: CliqueId(32_766) });
        let evidence = Evidence { source: SourceKind::Nvml, from: "bench".into(), line: Some(node + 1) };
        name.clear();
        write!(name, "node{:06}", node + 1).expect("a string takes it");
        report.place(name.as_str(), Placement::Block(key), evidence);
    }
    report
}

/// How long something takes; what it makes is put away afterwards.
#[expect(
    clippy::disallowed_methods,
    reason = "a measurement of this machine; nothing else here reads the clock"
)]
fn timed<O>(measured: impl FnOnce() -> O) -> Duration {
    let start = Instant::now();
    let output = measured();
    let time = start.elapsed();
    drop(output);
    time
}
