//! Slurm's topology files, and what they are made from and judged with.

use std::sync::Arc;

use imex_host::{HostList, hostlist};
use imex_topology::inventory::SourceReport;
use imex_topology::lint::{Context, Verdict, lint};
use imex_topology::model::{Topologies, TopologyKind};
use imex_topology::plan::nodes::NodeStates;
use imex_topology::plan::{Sharing, Spread, job};
use imex_topology::source::features::Pattern;
use imex_topology::source::{
    SourceError, aws_json, features, inventory_file, nvml_reports, show_topology, slurm_conf,
    topology_file as file,
};
use imex_topology::{Form, NodeSet, SlurmVersion, render, resting};

/// Texts that name more nodes are passed over: each list is bounded, and expanding many of them only takes time.
const ENOUGH: usize = 1 << 12;

/// A text is refused, or what is read of it has what its source promises; a topology can be written and read again.
pub fn topology_file(bytes: &[u8]) {
    let readers: [fn(&str); 12] = [
        |text| topologies(text, Form::Yaml),
        |text| topologies(text, Form::Conf),
        version,
        shown_topology,
        configuration,
        |text| placed(inventory_file::parse(text, &from())),
        |text| placed(nvml_reports::parse(text, &from())),
        |text| placed(features::parse(text, &pattern(), &from())),
        ec2,
        node_states,
        shown_job,
        resting_nodes,
    ];
    if let Some((read, text)) = crate::by_first_byte(bytes, &readers)
        && named(text) <= ENOUGH
    {
        read(text);
    }
}

/// About how many nodes a text names.
fn named(text: &str) -> usize {
    let lists = text.split(['=', ':', '"', '\'', '\n']).filter_map(|piece| HostList::parse(piece).ok());
    lists.map(|list| list.len()).sum()
}

fn from() -> Arc<str> {
    Arc::from("fuzz")
}

fn pattern() -> Pattern {
    "nvl-*".parse().expect("it is a pattern")
}

fn topologies(text: &str, form: Form) {
    let alone = lint(text, form, &Context::default());
    let read = file::parse(text, form);
    assert_eq!(
        read.is_ok(),
        alone.verdict() == Verdict::Loads,
        "reader and judge agree: {:?}",
        alone.findings
    );

    let nodes = NodeSet::parse("n[1-8]").expect("it is a list");
    let around = Context { version: Some(SlurmVersion::NEWEST), nodes: Some(nodes), ..Context::default() };
    let within = lint(text, form, &around);
    assert!(alone.findings.iter().all(|one| within.findings.contains(one)), "what is known adds findings");
    assert!(within.findings.iter().all(|one| one.line != Some(0)), "lines begin at 1");

    if let Ok(read) = read
        && can_be_written(&read)
    {
        let again = |text: Vec<u8>, form| {
            let text = String::from_utf8(text).expect("what is written is text");
            let again = file::parse(&text, form);
            assert_eq!(again.expect("what is written is read"), read, "{text}");
        };
        let mut yaml = Vec::new();
        render::yaml(&read, &[], &mut yaml).expect("memory takes all");
        again(yaml, Form::Yaml);
        let mut conf = Vec::new();
        if form == Form::Conf && render::conf(&read, &[], &mut conf).is_ok() {
            again(conf, Form::Conf);
        }
    }
}

/// If all nodes have names that a list can hold.
fn can_be_written(topologies: &Topologies) -> bool {
    let good = |set: &NodeSet| set.iter().all(|name| hostlist::is_name(name));
    topologies.list.iter().all(|topology| match &topology.kind {
        TopologyKind::Block(blocks) => blocks.blocks.iter().all(|block| good(&block.nodes)),
        TopologyKind::Tree(tree) => tree.switches.iter().all(|one| good(&one.nodes) && good(&one.children)),
        TopologyKind::Flat | TopologyKind::Other { .. } => true,
    })
}

fn version(text: &str) {
    if let Ok(version) = text.parse::<SlurmVersion>() {
        assert_eq!(version.to_string().parse(), Ok(version), "a version is read as it is written");
    }
}

fn shown_topology(text: &str) {
    if let Ok(blocks) = show_topology::parse(text) {
        assert!(!blocks.blocks.is_empty() && blocks.sizes.base().is_some(), "there are blocks of a size");
    }
}

fn configuration(text: &str) {
    let Ok(conf) = slurm_conf::parse(text) else { return };
    let known = |set: &NodeSet| set.iter().all(|node| conf.nodes.contains(node));
    assert!(conf.features.iter().all(|(nodes, _)| known(nodes)), "features are those of nodes");
    assert!(
        conf.partitions.is_sorted_by(|one, next| one.line < next.line),
        "one partition a line, in their order"
    );
}

fn ec2(text: &str) {
    let Ok(ec2) = aws_json::parse(text) else { return };
    for name in
        [aws_json::NameBy::PrivateDns, aws_json::NameBy::InstanceId, aws_json::NameBy::Tag("Name".to_owned())]
    {
        let report = ec2.report(&name, &from());
        if let Ok(report) = &report {
            assert!(report.nodes.keys().all(|node| hostlist::is_name(node)), "a list can hold the names");
        }
        placed(report);
    }
}

fn placed(report: Result<SourceReport, SourceError>) {
    if let Ok(report) = report {
        assert!(!report.nodes.is_empty(), "a report says something");
        assert!(report.nodes.values().all(|entry| !entry.evidence.is_empty()), "a placement has evidence");
    }
}

fn node_states(text: &str) {
    if let Ok(states) = NodeStates::parse(text) {
        assert_ne!(states.iter().len(), 0, "there are nodes");
    }
}

fn shown_job(text: &str) {
    if let Ok(job) = job::parse(text, 1, Sharing::Exclusive, Spread::default()) {
        assert_eq!(job.id, 1, "it is the job that was asked for");
        assert!(job.request.nodes >= 1 && job.request.segment != Some(0), "it asks for something");
    }
}

fn resting_nodes(text: &str) {
    if let (Ok(resting), Ok(states)) = (resting::parse(text), NodeStates::parse(text)) {
        let known = |node: &str| states.iter().any(|state| state.name == node);
        assert!(resting.iter().all(known), "a node that rests is one that Slurm has");
    }
}
