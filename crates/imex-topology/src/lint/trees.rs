//! Rules about the switches of a tree.

use std::collections::HashMap;

use crate::written::{WrittenSwitch, WrittenTree};

use super::{Finding, rules};

/// Judges the switches of one topology.
pub(super) fn judge(tree: &WrittenTree, findings: &mut Vec<Finding>) {
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (index, WrittenSwitch { name, .. }) in tree.switches.iter().enumerate() {
        if places.insert(&name.text, index).is_some() {
            let what = format!("switch `{}` is defined twice", name.text);
            findings.push(Finding::at(&rules::DUPLICATE_SWITCH, name.line, what));
        }
    }
    children(tree, &places, findings);
    leaves(tree, findings);
    shape(tree, &places, findings);
}

fn children(tree: &WrittenTree, places: &HashMap<&str, usize>, findings: &mut Vec<Finding>) {
    for WrittenSwitch { name, children, nodes } in &tree.switches {
        if !children.is_empty() && !nodes.is_empty() {
            let what = format!("switch `{}` has nodes and children", name.text);
            findings.push(Finding::at(&rules::NOT_LEAF, name.line, what));
            continue;
        }
        for child in
            children.iter().filter(|child| **child == name.text || !places.contains_key(child.as_str()))
        {
            let what = format!("switch `{}` has the child `{child}`", name.text);
            findings.push(Finding::at(&rules::UNKNOWN_CHILD, name.line, what));
        }
    }
}

fn leaves(tree: &WrittenTree, findings: &mut Vec<Finding>) {
    let mut owner: HashMap<&str, &str> = HashMap::new();
    for WrittenSwitch { name, nodes, .. } in &tree.switches {
        for node in nodes {
            if let Some(other) = owner.insert(node, &name.text).filter(|other| **other != *name.text) {
                let what = format!("node {node} is attached to `{other}` and `{}`", name.text);
                findings.push(Finding::at(&rules::TWO_LEAVES, name.line, what));
            }
        }
    }
}

/// A switch is visited, its visit goes on, or it is done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    Not,
    Open,
    Done,
}

fn shape(tree: &WrittenTree, places: &HashMap<&str, usize>, findings: &mut Vec<Finding>) {
    // Of a switch with nodes Slurm ignores the children.
    let below = |index: usize| {
        let switch = &tree.switches[index];
        let children = if switch.nodes.is_empty() { switch.children.as_slice() } else { &[] };
        children.iter().filter_map(|child| places.get(child.as_str()).copied())
    };
    let mut is_child = vec![false; tree.switches.len()];
    (0..tree.switches.len()).flat_map(below).for_each(|child| is_child[child] = true);
    let mut visits = vec![Visit::Not; tree.switches.len()];
    for start in 0..tree.switches.len() {
        let mut path = vec![(start, below(start).collect::<Vec<_>>())];
        while let Some((switch, children)) = path.last_mut() {
            visits[*switch] = Visit::Open;
            let Some(child) = children.pop() else {
                visits[*switch] = Visit::Done;
                path.pop();
                continue;
            };
            match visits[child] {
                Visit::Not => path.push((child, below(child).collect())),
                Visit::Open if child != *switch => {
                    let name = &tree.switches[child].name;
                    let what = format!("switch `{}` is below itself", name.text);
                    findings.push(Finding::at(&rules::NOT_A_TREE, name.line, what));
                }
                Visit::Open | Visit::Done => {}
            }
        }
    }
    let roots =
        tree.switches.iter().zip(&is_child).filter(|(_, child)| !**child).map(|(switch, _)| &switch.name);
    if let Some(second) = roots.skip(1).last() {
        let what = format!("switch `{}` is not below the first one", second.text);
        findings.push(Finding::at(&rules::SEVERAL_ROOTS, second.line, what));
    }
}
