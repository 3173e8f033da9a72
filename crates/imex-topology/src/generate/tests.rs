//! Names that stay, sizes that fit, places for the rest.

use super::*;
use crate::inventory::{BlockKey, Evidence, Placement, SourceKind, SourceReport, merge};
use crate::render;

#[test]
fn a_block_keeps_its_name_when_another_comes_and_one_goes() {
    let first = made("rack2: b1 b2; rack1: a1 a2", None);
    assert_eq!(shown(&first), "rack1: a[1-2]; rack2: b[1-2]");
    let more = made("rack0: z1 z2; rack2: b1 b2; rack1: a1 a2", Some(&first));
    assert_eq!(shown(&more), "rack1: a[1-2]; rack2: b[1-2]; rack0: z[1-2]");
    let less = made("rack0: z1 z2; rack2: b1 b2", Some(&more));
    assert_eq!(shown(&less), "rack2: b[1-2]; rack0: z[1-2]");
}

#[test]
fn a_block_keeps_its_name_when_its_key_changes_or_nodes_are_replaced() {
    let first = made("left: a1 a2 a3; right: b1 b2 b3", None);
    let renamed = made("one: a1 a2 a3; two: b1 b2 b9", Some(&first));
    assert_eq!(shown(&renamed), "left: a[1-3]; right: b[1-2,9]");
    let replaced = made("left: x1 x2 x3; right: b1 b2 b3", Some(&first));
    assert_eq!(shown(&replaced), "left: x[1-3]; right: b[1-3]");
}

#[test]
fn of_a_block_that_splits_the_larger_part_keeps_the_name() {
    let first = made("rack: a1 a2 a3", None);
    let split = made("p: a1; q: a2 a3", Some(&first));
    assert_eq!(shown(&split), "rack: a[2-3]; p: a1");
}

#[test]
fn short_names_differ_although_their_keys_begin_alike() {
    let keys = ["5b1e6f4e-8d3a-4c0b-9a52-000000000001.1", "5b1e6f4e-9d3a-4c0b-9a52-000000000001.1"];
    let mut report = SourceReport::default();
    for (node, key) in ["n1", "n2"].into_iter().zip(keys) {
        report.place(node, Placement::Block(BlockKey::Fabric(key.parse().unwrap())), evidence());
    }
    let options = Options { names: Names::Short, ..Options::default() };
    let made = generate(&merge([report]).inventory, &options, None).unwrap().topologies;
    assert_eq!(shown(&made), "nvl-5b1e6f4e-1: n1; nvl-5b1e6f4e9-1: n2");
}

#[test]
fn sizes_come_from_the_blocks() {
    let sizes = |counts: &[usize]| {
        let block = |(index, count): (usize, &usize)| Block {
            name: format!("b{index}"),
            nodes: (0..*count).map(|node| format!("n{index}x{node}")).collect(),
        };
        let blocks: Vec<Block> = counts.iter().enumerate().map(block).collect();
        let (sizes, source) = infer(&blocks);
        (sizes.as_slice().to_vec(), source)
    };
    assert_eq!(sizes(&[18, 18]), (vec![18, 36], SizeSource::Smallest));
    assert_eq!(sizes(&[9, 18]), (vec![9, 18], SizeSource::Smallest));
    assert_eq!(sizes(&[18, 18, 9]), (vec![18, 36], SizeSource::MostFrequent));
    assert_eq!(sizes(&[18, 17, 18, 18]), (vec![18, 36, 72], SizeSource::MostFrequent));
    assert_eq!(sizes(&[18, 12]), (vec![18, 36], SizeSource::MostFrequent));
}

#[test]
fn sizes_stay_when_nodes_go_missing_and_grow_when_blocks_do() {
    let sizes = |topologies: &Topologies| topologies.list[0].blocks().unwrap().sizes.as_slice().to_vec();
    let first = made("rack1: a1 a2 a3 a4; rack2: b1 b2 b3 b4", None);
    assert_eq!(sizes(&first), [4, 8]);
    assert_eq!(sizes(&made("rack1: a1 a2; rack2: b1 b2 b3 b4", Some(&first))), [4, 8]);
    assert_eq!(sizes(&made("rack1: a1 a2; rack2: b1 b2", Some(&first))), [2, 4]);
    assert_eq!(sizes(&made("rack1: a1 a2 a3 a4 a5; rack2: b1 b2 b3 b4 b5", Some(&first))), [5, 10]);
}

#[test]
fn other_topologies_and_the_default_stay_and_the_rest_gets_a_flat_one() {
    let previous = Topologies {
        list: vec![Topology {
            name: "tree".to_owned(),
            default: ClusterDefault::Yes,
            kind: TopologyKind::Flat,
        }],
    };
    let inventory = merge([report("rack: a1")]).inventory;
    let options = Options { outside: Outside::Flat("rest".to_owned()), ..Options::default() };
    let made = generate(&inventory, &options, Some(&previous)).unwrap().topologies;
    let told: Vec<_> = made.list.iter().map(|one| (one.name.as_str(), one.default)).collect();
    let no = ClusterDefault::No;
    assert_eq!(told, [("tree", ClusterDefault::Yes), ("nvlink", no), ("rest", no)]);
}

#[test]
fn the_same_inventory_gives_the_same_bytes() {
    let write = |topologies: &Topologies| {
        let mut text = Vec::new();
        render::yaml(topologies, &["a header".to_owned()], &mut text).unwrap();
        String::from_utf8(text).unwrap()
    };
    let first = made("rack2: b1 b2; rack1: a1 a2", None);
    let again = made("rack1: a2 a1; rack2: b2 b1", Some(&first));
    assert_eq!(write(&first), write(&again));
    assert_eq!(
        write(&first),
        "# a header\n---\n- topology: nvlink\n  cluster_default: true\n  block:\n    block_sizes: [2, 4]\n    blocks:\n      \
         - block: rack1\n        nodes: a[1-2]\n      - block: rack2\n        nodes: b[1-2]\n"
    );
}

fn made(blocks: &str, previous: Option<&Topologies>) -> Topologies {
    generate(&merge([report(blocks)]).inventory, &Options::default(), previous).unwrap().topologies
}

fn report(blocks: &str) -> SourceReport {
    let mut report = SourceReport::default();
    for block in blocks.split("; ") {
        let (key, nodes) = block.split_once(": ").unwrap();
        for node in nodes.split(' ') {
            report.place(node, Placement::Block(BlockKey::Named(key.to_owned())), evidence());
        }
    }
    report
}

fn evidence() -> Evidence {
    Evidence { source: SourceKind::Inventory, from: "here".into(), line: None }
}

fn shown(topologies: &Topologies) -> String {
    let blocks = topologies.get("nvlink").and_then(Topology::blocks).unwrap();
    let blocks: Vec<String> =
        blocks.blocks.iter().map(|one| format!("{}: {}", one.name, one.nodes.to_list())).collect();
    blocks.join("; ")
}
