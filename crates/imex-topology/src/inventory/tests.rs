//! Sources that agree, complete one another, and disagree.

use super::*;

#[test]
fn sources_agree_whatever_they_call_their_blocks() {
    let merged =
        merge([report(SourceKind::Nvml, "F1: a b; F2: c d"), report(SourceKind::Ec2, "x: a b; y: c d")]);
    assert_eq!(merged.disagreements, []);
    assert_eq!(shown(&merged), "F1: a b; F2: c d");
    assert_eq!(merged.inventory.get("a").unwrap().evidence.len(), 2);
}

#[test]
fn a_node_that_only_a_later_source_knows_joins_the_matching_block() {
    let merged = merge([report(SourceKind::Nvml, "F1: a b"), report(SourceKind::Ec2, "x: a b c; y: d")]);
    assert_eq!(merged.disagreements, []);
    assert_eq!(shown(&merged), "F1: a b c; y: d");
}

#[test]
fn the_node_that_fits_no_match_is_the_disagreement_and_leaves_its_block() {
    let merged =
        merge([report(SourceKind::Nvml, "F1: a b; F2: c d e"), report(SourceKind::Ec2, "x: a b c; y: d e")]);
    let told: Vec<String> = merged.disagreements.iter().map(tell).collect();
    assert_eq!(told, ["c: F2 (nvml here) x (ec2 here)"]);
    assert_eq!(shown(&merged), "F1: a b; F2: d e");
    let outside: Vec<_> = merged.inventory.outside().map(|(node, why)| format!("{node}: {why}")).collect();
    assert_eq!(outside, ["c: sources disagree about it"]);
}

#[test]
fn one_source_that_has_a_node_twice_disagrees_with_itself() {
    let merged = merge([report(SourceKind::Inventory, "x: a b; y: b c")]);
    let told: Vec<String> = merged.disagreements.iter().map(tell).collect();
    assert_eq!(told, ["b: x (inventory here) y (inventory here)"]);
}

#[test]
fn a_block_that_one_source_splits_is_a_disagreement() {
    let merged = merge([report(SourceKind::Nvml, "F1: a b; F2: c"), report(SourceKind::Ec2, "x: a b c")]);
    assert_eq!(merged.disagreements.len(), 1);
    assert_eq!(shown(&merged), "F1: a b");
}

#[test]
fn a_node_without_a_fabric_takes_the_block_that_another_source_knows() {
    let mut nvml = report(SourceKind::Nvml, "F1: a b");
    nvml.place("c", Placement::NoBlock(NoBlock::Fabric(NoFabric::NoGpu)), evidence(SourceKind::Nvml));
    let merged = merge([nvml.clone(), report(SourceKind::Ec2, "x: a b c")]);
    assert_eq!(shown(&merged), "F1: a b c");
    let merged = merge([report(SourceKind::Ec2, "x: a b c"), nvml]);
    assert_eq!(shown(&merged), "x: a b c");
}

fn report(source: SourceKind, text: &str) -> SourceReport {
    let mut report = SourceReport::default();
    for block in text.split("; ") {
        let (key, nodes) = block.split_once(": ").unwrap();
        for node in nodes.split(' ') {
            report.place(node, Placement::Block(BlockKey::Named(key.to_owned())), evidence(source));
        }
    }
    report
}

fn evidence(source: SourceKind) -> Evidence {
    Evidence { source, from: "here".into(), line: None }
}

fn shown(merged: &Merged) -> String {
    let blocks = merged.inventory.blocks();
    let blocks: Vec<String> =
        blocks.iter().map(|(key, nodes)| format!("{key}: {}", nodes.join(" "))).collect();
    blocks.join("; ")
}

fn tell(one: &Disagreement) -> String {
    format!("{}: {} ({}) {} ({})", one.node, one.placed, one.by, one.other, one.other_by)
}
