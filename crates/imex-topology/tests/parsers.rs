//! What must hold for every text that a parser is given: it is understood or refused, never a panic, and what is
//! understood keeps its invariants.

use std::sync::Arc;

use imex_topology::corpus::{self, Case};
use imex_topology::lint::{Context, Verdict, lint};
use imex_topology::source::{
    aws_json, features, inventory_file, nvml_reports, show_topology, slurm_conf, topology_file,
};
use imex_topology::{Form, SourceReport, held, render, resting};
use proptest::prelude::*;

/// Valid inputs of every parser, to be damaged.
const SEEDS: &[&str] = &[
    "blocks:\n  - block: rack1\n    nodes: n[1-18]\n  - fabric: 5b1e6f4e-8d3a-4c0b-9a52-0123456789ab.7\n    nodes: m1\nothers: l1\n",
    "BlockName=rack1 BlockIndex=0 Nodes=node[1-18] BlockSize=18\nAggregatedBlock=r[1-2] BlockIndex=2 Nodes=n BlockSize=36\n",
    "NodeName=node[1-2] Feature=a,b\nPartitionName=p Nodes=ALL Topology=t OverSubscribe=EXCLUSIVE\n",
    "BlockName=a Nodes=n[1-2]\nBlockName=b \\\n Nodes=\"m\"\nBlockSizes=2,4\n",
    "- topology: t\n  cluster_default: yes\n  block:\n    block_sizes: [2, 4]\n    blocks:\n      - {block: a, nodes: \"n[1-2]\"}\n",
    r#"{"Instances":[{"InstanceId":"i-1","CapacityBlockId":"cb"}]}{"Reservations":[]}"#,
    r#"{"nodes":[{"name":"n1","features":["nvl-a"]}]}"#,
    r#"{"schema_version":1,"time":"2026-05-04T06:08:10Z","node":"n1","fabric":null,"no_fabric":null,"gpus":[]}"#,
];

proptest! {
    #[test]
    fn no_text_breaks_a_parser(
        seed in 0..SEEDS.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), "[\\PC\n\t\\[\\]:,\"'&*!%-]{0,3}", 0_usize..4), 0..6),
    ) {
        let mut letters: Vec<char> = SEEDS[seed].chars().collect();
        for (place, text, lost) in edits {
            let place = place.index(letters.len() + 1);
            let end = (place + lost).min(letters.len());
            letters.splice(place..end, text.chars());
        }
        let text: String = letters.into_iter().collect();
        every_parser(&text);
    }

    #[test]
    fn any_text_at_all_breaks_no_parser(text in "\\PC{0,80}") {
        every_parser(&text);
    }
}

#[test]
fn what_lint_lets_load_can_be_read_and_written_again() {
    for case in corpus::cases(3, 100) {
        let Case { form, text, .. } = &case;
        let read = topology_file::parse(text, *form);
        assert_eq!(
            read.is_ok(),
            lint(text, *form, &Context::default()).verdict() == Verdict::Loads,
            "{}",
            case.name
        );
        if let (Ok(topologies), Form::Yaml) = (read, form) {
            let mut again = Vec::new();
            render::yaml(&topologies, &[], &mut again).expect("memory takes it");
            let again = String::from_utf8(again).expect("text is written");
            assert_eq!(
                topology_file::parse(&again, Form::Yaml).expect("it is read back"),
                topologies,
                "{}",
                case.name
            );
        }
    }
}

fn every_parser(text: &str) {
    let from: Arc<str> = "text".into();
    let reports = [
        inventory_file::parse(text, &from),
        nvml_reports::parse(text, &from),
        features::parse(text, &"nvl-*".parse().expect("a pattern"), &from),
        aws_json::parse(text).and_then(|ec2| ec2.report(&aws_json::NameBy::InstanceId, &from)),
    ];
    for report in reports.into_iter().flatten() {
        let SourceReport { nodes, .. } = report;
        assert!(
            !nodes.is_empty() && nodes.values().all(|entry| !entry.evidence.is_empty()),
            "a report says something"
        );
    }
    drop(slurm_conf::parse(text));
    drop(resting::parse(text));
    if let Ok(blocks) = show_topology::parse(text) {
        assert_eq!(held::difference(&blocks, &blocks), None, "what is shown is what is held");
        let nodes: usize = blocks.blocks.iter().map(|block| block.nodes.len()).sum();
        assert!(topology_file::report(&blocks, &from).nodes.len() <= nodes, "each node comes from a block");
    }
    for form in [Form::Yaml, Form::Conf] {
        let lines = text.lines().count() + 1;
        let found = lint(text, form, &Context::default()).findings;
        assert!(
            found.iter().all(|finding| finding.line.is_none_or(|line| (1..=lines).contains(&line))),
            "{found:?}"
        );
    }
}
