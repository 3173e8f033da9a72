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

/// How often each part runs; the median counts.
const RUNS: usize = 5;

/// One measured part.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What was done.
    pub what: &'static str,
    /// With how many nodes.
    pub nodes: usize,
    /// With how many blocks.
    pub blocks: usize,
    /// How long it took: the median.
    pub time: Duration,
    /// How long it may take, where that is promised.
    pub reach: Option<Duration>,
}

/// Measures every part with 1,000, 10,000 and 100,000 nodes.
pub fn run() -> Vec<Row> {
    [1_000, 10_000, 100_000].into_iter().flat_map(rows).collect()
}

fn rows(nodes: usize) -> Vec<Row> {
    let largest = nodes >= 100_000;
    let blocks = nodes.div_ceil(RACK);
    let row = |what, time, reach: Option<u64>| Row {
        what,
        nodes,
        blocks,
        time,
        reach: reach.filter(|_| largest).map(Duration::from_millis),
    };
    let report = report(nodes);
    let options = Options::default();
    let text = |report: SourceReport| {
        let merged = merge([report]);
        let made = generate(&merged.inventory, &options, None).expect("there are blocks");
        let mut text = Vec::new();
        render::yaml(&made.topologies, &[], &mut text).expect("memory takes it");
        String::from_utf8(text).expect("text is written")
    };
    let yaml = text(report.clone());
    let old = parsed(&yaml);
    let new = parsed(&yaml.replacen("- block: ", "- block: new-", 3));
    let context =
        Context { nodes: Some(report.nodes.keys().cloned().collect::<NodeSet>()), ..Context::default() };
    let lines = lines(nodes);
    let from = "bench".into();
    vec![
        row("read the reports of nodes", median(|| (), |()| nvml_reports::parse(&lines, &from)), None),
        row("generate: merge, name, size, write", median(|| report.clone(), text), Some(150)),
        row(
            "lint: read and judge, with slurm.conf's nodes",
            median(|| (), |()| lint(&yaml, Form::Yaml, &context)),
            Some(100),
        ),
        row("diff of two", median(|| (), |()| diff(&old, &new)), Some(100)),
        planned(nodes, &old),
    ]
}

/// Placing a job of half of the nodes in segments of half a rack.
fn planned(nodes: usize, topologies: &Topologies) -> Row {
    let topology = topologies.cluster_default().and_then(Topology::blocks).expect("there are blocks");
    let states = NodeStates::default();
    let segment = RACK / 2;
    let request =
        Request { nodes: nodes / 2 / segment * segment, segment: Some(segment), ..Request::default() };
    let time = median(|| (), |()| plan(topology, &states, &request));
    let reach = (nodes == 10_000).then(|| Duration::from_millis(10));
    Row { what: "plan half of the nodes", nodes, blocks: nodes.div_ceil(RACK), time, reach }
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

/// The median time of the second function over what the first makes.
#[expect(
    clippy::disallowed_methods,
    reason = "a measurement of this machine; nothing else here reads the clock"
)]
fn median<I, O>(prepare: impl Fn() -> I, measured: impl Fn(I) -> O) -> Duration {
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let input = prepare();
            let start = Instant::now();
            let output = measured(input);
            let time = start.elapsed();
            drop(output);
            time
        })
        .collect();
    times.sort_unstable();
    times[RUNS / 2]
}
