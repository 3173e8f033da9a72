//! Each kind of change is told once, and nothing else.

use super::*;
use crate::source::topology_file::parse;
use crate::written::Form;

#[test]
fn equal_meanings_do_not_differ_whatever_their_texts() {
    let other = "# a comment\n".to_owned() + &OLD.replace("node[1-18]", "'node[10-18],node[1-9]'");
    assert!(between(OLD, &other).is_empty());
}

#[test]
fn nodes_that_move_join_or_leave_are_told_by_block() {
    let new = OLD.replace("node[1-18]", "node[1-17]").replace("node[19-36]", "node[18-35,40]");
    let blocks = blocks_between(OLD, &new);
    let nodes =
        |block: &str, nodes: &str| Listed { block: block.to_owned(), nodes: nodes.to_owned(), count: 1 };
    let (from, to) = ("rack1".to_owned(), "rack2".to_owned());
    let expected = BlocksDiff {
        moved: vec![Moved { from, to, nodes: "node18".to_owned(), count: 1 }],
        joined: vec![nodes("rack2", "node40")],
        left: vec![nodes("rack2", "node36")],
        ..BlocksDiff::default()
    };
    assert_eq!(blocks, expected);
}

#[test]
fn a_renamed_block_is_one_gone_and_one_new_with_its_nodes_moved() {
    let blocks = blocks_between(OLD, &OLD.replace("rack2", "pod"));
    assert_eq!((blocks.new[0].block.as_str(), blocks.gone[0].block.as_str()), ("pod", "rack2"));
    assert_eq!((blocks.moved.len(), blocks.moved[0].count), (1, 18));
}

#[test]
fn sizes_default_kind_and_whole_topologies_are_told() {
    let sizes = between(OLD, &OLD.replace("[18]", "[18, 36]"));
    let told = serde_json::to_value(&sizes).unwrap();
    assert_eq!(told["topologies"][0]["sizes"], serde_json::json!([[18], [18, 36]]));

    let more = format!("{OLD}- topology: rest\n  flat: true\n");
    assert_eq!(between(OLD, &more).topologies[0].change, Change::New { blocks: 0 });
    assert_eq!(between(&more, OLD).topologies[0].change, Change::Gone);
    let other = more.replace("flat: true", "cluster_default: true\n  flat: true");
    assert_eq!(between(&more, &other).topologies[0].change, Change::Default);
    assert_eq!(between(OLD, "- topology: t1\n  flat: true\n").topologies[0].change, Change::Replaced);
}

#[test]
fn another_order_of_the_same_blocks_is_told() {
    let turned = OLD.replace("rack1", "x").replace("rack2", "rack1").replace("block: x", "block: rack2");
    let turned = turned
        .replace("node[1-18]", "y")
        .replace("node[19-36]", "node[1-18]")
        .replace("nodes: y", "nodes: node[19-36]");
    let blocks = blocks_between(OLD, &turned);
    assert_eq!(blocks, BlocksDiff { reordered: true, ..BlocksDiff::default() });
}

fn blocks_between(old: &str, new: &str) -> BlocksDiff {
    match between(old, new).topologies.as_slice() {
        [TopologyDiff { change: Change::Blocks(blocks), .. }] => blocks.clone(),
        other => panic!("only blocks change: {other:?}"),
    }
}

fn between(old: &str, new: &str) -> Diff {
    diff(&parse(old, Form::Yaml).unwrap(), &parse(new, Form::Yaml).unwrap())
}

const OLD: &str = "- topology: t1\n  block:\n    block_sizes: [18]\n    blocks:\n      - block: rack1\n        \
                   nodes: node[1-18]\n      - block: rack2\n        nodes: node[19-36]\n";
