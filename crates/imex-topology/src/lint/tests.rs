//! One breach of each rule, at its line.

use super::*;
use crate::model::NodeSet;
use crate::source::slurm_conf;

#[test]
fn a_good_file_has_no_findings() {
    let context = Context { nodes: Some(NodeSet::parse("node[1-36]").unwrap()), ..Context::default() };
    assert_eq!(lint(GOOD, Form::Yaml, &context), Report::default());
}

#[test]
fn each_rule_about_the_file_is_broken_by_its_line() {
    let cases: &[(&str, &str, &str)] = &[
        ("  block:", "  colour: red\n  block:", "T101:3 `colour` is ignored"),
        (
            "block_sizes",
            "BlockSizes",
            "T101:4 `BlockSizes` is ignored; `block_sizes` is known|T112:4 `t1` gives no block_sizes",
        ),
        ("node[19-36]", "node[18-36]", "T102:9 block `rack2` has node18, which block `rack1` has as well"),
        ("node[1-18]", "'node[1-18],node1'", "T103:7 block `rack1` names node1 again"),
        ("node[19-36]", "node[19-30]", "T104:9 block `rack2` has 12 nodes, the base size is 18"),
        ("[18]", "[20]", "T105:4 the base size is 20, the largest block has 18"),
        ("\n        nodes: node[19-36]", "", "T106:8 block `rack2` has no nodes"),
        ("rack2", "'rack 2'", "T111:8 the name is `rack 2`"),
        ("[18]", "[18, 36, 72]", "T113:4 block size 72 joins 4 blocks; there are 2"),
        ("[18]", "[18, 18]", "T114:4 block size 18 again"),
        ("  block:", "  topology: t2\n  block:", "T115:3 `topology` stands here again"),
        ("default: true", "default: maybe", "T116:2 cluster_default is `maybe`"),
        ("rack2", "32766", "T120:8 the name is `32766`"),
        ("node[19-36]\n", "node[19-36]\n---\n- x\n", "T121:10 another document begins here"),
        ("rack2", "rack1", "T009:8 block `rack1` is defined at line 6 already"),
        (
            "block: rack2",
            "Block: rack2",
            "T010:8 a block without a name|T101:8 `Block` is ignored; `block` is known",
        ),
        ("node[1-18]", "node[1-18", "T011:7 `node[1-18`: `[` is never closed at character 5"),
        ("[18]", "[18, 54]", "T008:4 block size 54 is not 18 times a power of two"),
        ("[18]", "[x]", "T007:4 `x` is not a block size|T112:4 `t1` gives no block_sizes"),
        ("  cluster_default: true", "  flat: true", "T006:2 `flat` beside `block`"),
    ];
    for (before, after, expected) in cases {
        assert!(GOOD.contains(before), "{before}");
        assert_eq!(told(&lint(&GOOD.replacen(before, after, 1), Form::Yaml, &Context::default())), *expected);
    }
}

#[test]
fn rules_about_several_topologies_are_kept() {
    let second = |head: &str| format!("{GOOD}- {head}\n  flat: true\n");
    let of = |text: &str| told(&lint(text, Form::Yaml, &Context::default()));
    assert_eq!(of(&second("topology: t2")), "");
    assert_eq!(of(&second("topology: t1")), "T109:10 `t1` is the name of an earlier topology");
    assert_eq!(of(&second("cluster_default: no")), "T110:10 a topology without a name");
    assert_eq!(
        of(&second("topology: t2\n  cluster_default: true")),
        "T107:10 a second topology says cluster_default"
    );
    assert_eq!(
        of(&second("topology: t2").replace("default: true", "default: false")),
        "T108:- no topology says cluster_default"
    );
}

#[test]
fn a_list_given_twice_loses_a_topology_unless_it_is_the_last() {
    let twice = GOOD.replace("    block_sizes: [18]\n", "    block_sizes: [18]\n    block_sizes: [18]\n");
    let of = |text: &str| told(&lint(text, Form::Yaml, &Context::default()));
    assert_eq!(of(&twice), "T013:5 `block_sizes` stands here again");
    let first = format!("{twice}- topology: t2\n  cluster_default: true\n  flat: true\n");
    assert_eq!(of(&first), "T123:5 `block_sizes` stands here again");
}

#[test]
fn rules_about_trees_are_kept() {
    let tree = "- topology: t\n  tree:\n    switches:\n      - switch: root\n        children: s[1-2]\n      - switch: s1\n        \
                nodes: node[1-18]\n      - switch: s2\n        nodes: node[19-36]\n";
    let cases = [
        ("", "", ""),
        (
            "switch: s2",
            "switch: s1",
            "T014:8 switch `s1` is defined twice|T016:4 switch `root` has the child `s2`|T119:6 switch `s1` is not below the first one",
        ),
        ("s[1-2]", "s[1-3]", "T016:4 switch `root` has the child `s3`"),
        ("nodes: node[19-36]", "children: root", "T017:4 switch `root` is below itself"),
        (
            "s[1-2]\n",
            "s[1-2]\n        nodes: x\n",
            "T117:4 switch `root` has nodes and children|T119:9 switch `s2` is not below the first one",
        ),
        ("19-36", "18-36", "T118:8 node node18 is attached to `s1` and `s2`"),
        ("s[1-2]", "s1", "T119:8 switch `s2` is not below the first one"),
    ];
    for (before, after, expected) in cases {
        let mut found = lint(&tree.replacen(before, after, 1), Form::Yaml, &Context::default());
        found.findings.sort_by_key(|finding| finding.rule.id);
        assert_eq!(told(&found), expected);
    }
}

#[test]
fn the_version_the_nodes_and_the_partitions_are_judged() {
    let conf = slurm_conf::parse(
        "NodeName=node[1-37]\nPartitionName=a Nodes=ALL\nPartitionName=b Topology=t9 OverSubscribe=EXCLUSIVE\n",
    )
    .unwrap();
    let version = Some("24.11".parse().unwrap());
    let context =
        Context { version, nodes: Some(conf.nodes), partitions: conf.partitions, queues: Vec::new() };
    let text = GOOD.replace("node[1-18]", "node[1-17],x1");
    assert_eq!(
        told(&lint(&text, Form::Yaml, &context)),
        "T201:- Slurm is 24.11|T205:- partition `b` (line 3) names the topology `t9`|\
         T206:- partition `a` (line 2) lets jobs share nodes unless they ask for --exclusive|\
         T204:4 in no block: node[18,37]|T203:7 block `rack1` has x1"
    );
}

#[test]
fn queues_of_pcs_keep_the_rules_of_ultraservers() {
    let group = |name: &str, count, blocks: &[&str]| Group {
        name: name.to_owned(),
        instance_types: Vec::new(),
        max_instances: count,
        capacity_blocks: blocks.iter().map(|block| (*block).to_owned()).collect(),
    };
    let judged = |groups: Vec<Group>| {
        let queues = vec![Queue { name: "q".to_owned(), groups }];
        told(&lint(GOOD, Form::Yaml, &Context { queues, ..Context::default() }))
    };
    assert_eq!(judged(vec![group("a", 9, &["cb1"]), group("b", 18, &["cb2"])]), "");
    assert_eq!(
        judged(vec![group("a", 12, &["cb1"]), group("b", 18, &["cb2"])]),
        "T207:- queue `q` has groups of 12 (`a`) and 18 (`b`) instances"
    );
    assert_eq!(
        judged(vec![group("a", 18, &["cb1"]), group("b", 4, &[])]),
        "T208:- queue `q` has the UltraServer group `a` and the group `b`"
    );
    assert_eq!(
        judged(vec![group("a", 18, &["cb1", "cb2"])]),
        "T209:- queue `q` has the group `a` with 2 capacity blocks"
    );
}

fn told(report: &Report) -> String {
    let line = |finding: &Finding| finding.line.map_or("-".to_owned(), |line| line.to_string());
    let told = report.findings.iter().map(|one| format!("{}:{} {}", one.rule.id, line(one), one.what));
    told.collect::<Vec<_>>().join("|")
}

const GOOD: &str = "- topology: t1\n  cluster_default: true\n  block:\n    block_sizes: [18]\n    blocks:\n      - block: rack1\n        \
                    nodes: node[1-18]\n      - block: rack2\n        nodes: node[19-36]\n";
