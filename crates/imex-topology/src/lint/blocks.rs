//! Rules about blocks and their sizes.

use std::collections::{BTreeMap, HashMap};

use crate::model::BlockSizes;
use crate::written::names::awkward;
use crate::written::{WrittenBlock, WrittenBlocks, WrittenTopology};

use super::{Finding, rules};

/// Judges the blocks of one topology.
pub(super) fn judge(topology: &WrittenTopology, block: &WrittenBlocks, findings: &mut Vec<Finding>) {
    names(block, findings);
    let sizes = nodes(block, findings);
    step_sizes(block, findings);
    base_size(topology, block, &sizes, findings);
}

fn names(block: &WrittenBlocks, findings: &mut Vec<Finding>) {
    let base = block.sizes.first().map_or(1, |size| size.size);
    let joins = block.sizes.is_empty() || block.sizes.iter().any(|size| size.size > base);
    if joins && block.blocks.len() > 1 {
        for WrittenBlock { name, .. } in &block.blocks {
            if let Err(error) = imex_host::HostList::parse(&name.text) {
                findings.push(Finding::at(
                    &rules::NAME_AS_LIST,
                    name.line,
                    format!("`{}`: {error}", name.text),
                ));
            }
        }
    }
    let mut first = HashMap::new();
    for WrittenBlock { name, .. } in &block.blocks {
        awkward(&name.text, name.line, findings);
        if let Some(line) = first.insert(name.text.as_str(), name.line) {
            let what = format!("block `{}` is defined at line {line} already", name.text);
            findings.push(Finding::at(&rules::DUPLICATE_BLOCK, name.line, what));
        }
        let number = !name.text.is_empty() && name.text.bytes().all(|byte| byte.is_ascii_digit());
        // 32766 is what GPUs of many racks report that are not partitioned.
        if number && name.text.len() >= 5 {
            findings.push(Finding::at(
                &rules::SHARED_CLIQUE,
                name.line,
                format!("the name is `{}`", name.text),
            ));
        }
    }
}

/// Judges the nodes; gives the number of different ones for each block.
fn nodes(block: &WrittenBlocks, findings: &mut Vec<Finding>) -> Vec<usize> {
    let mut owner: HashMap<&str, usize> = HashMap::new();
    let mut sizes = Vec::with_capacity(block.blocks.len());
    for (index, WrittenBlock { name, nodes, line }) in block.blocks.iter().enumerate() {
        let (mut different, mut repeated) = (0, Vec::new());
        let mut elsewhere: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for node in nodes {
            match owner.insert(node, index) {
                Some(before) if before == index => repeated.push(node.as_str()),
                Some(before) => {
                    elsewhere.entry(before).or_default().push(node);
                    different += 1;
                }
                None => different += 1,
            }
        }
        if !repeated.is_empty() {
            let what = format!("block `{}` names {} again", name.text, imex_host::compress(repeated));
            findings.push(Finding::at(&rules::REPEATED_NODE, *line, what));
        }
        for (before, nodes) in elsewhere {
            let (other, nodes) = (&block.blocks[before].name.text, imex_host::compress(nodes));
            let what = format!("block `{}` has {nodes}, which block `{other}` has as well", name.text);
            findings.push(Finding::at(&rules::TWO_BLOCKS, *line, what));
        }
        let unread = |finding: &Finding| finding.rule == &rules::BAD_HOSTLIST && finding.line == Some(*line);
        if nodes.is_empty() && !findings.iter().any(unread) {
            findings.push(Finding::at(
                &rules::EMPTY_BLOCK,
                *line,
                format!("block `{}` has no nodes", name.text),
            ));
        }
        sizes.push(different);
    }
    sizes
}

fn step_sizes(block: &WrittenBlocks, findings: &mut Vec<Finding>) {
    let mut seen = Vec::new();
    let base = block.sizes.first().map_or(1, |size| size.size);
    for size in &block.sizes {
        if seen.contains(&size.size) {
            findings.push(Finding::at(
                &rules::REPEATED_SIZE,
                size.line,
                format!("block size {} again", size.size),
            ));
            continue;
        }
        seen.push(size.size);
        let joined = size.size / base;
        if joined > block.blocks.len() {
            let what =
                format!("block size {} joins {joined} blocks; there are {}", size.size, block.blocks.len());
            findings.push(Finding::at(&rules::IDLE_SIZE, size.line, what));
        }
    }
}

fn base_size(
    topology: &WrittenTopology,
    block: &WrittenBlocks,
    sizes: &[usize],
    findings: &mut Vec<Finding>,
) {
    let Some(base) = block.sizes.first() else {
        let uneven = sizes.iter().min() != sizes.iter().max();
        let smallest = sizes.iter().min().copied().unwrap_or(0);
        let hint = if uneven { format!("; the smallest block has {smallest}") } else { String::new() };
        let name = topology.name.as_ref().map_or("the topology", |name| name.text.as_str());
        findings.push(Finding::at(
            &rules::NO_SIZES,
            block.line,
            format!("`{name}` gives no block_sizes{hint}"),
        ));
        if !block.blocks.is_empty() && sizes.iter().all(|size| *size == 0) {
            findings.push(Finding::at(&rules::NO_NODES, block.line, "no block has a node"));
        }
        return;
    };
    debug_assert!(BlockSizes::is_step(base.size, base.size), "a base that slurmctld refuses is left out");
    if !sizes.is_empty() && sizes.iter().all(|size| *size < base.size) {
        let largest = sizes.iter().max().copied().unwrap_or(0);
        let what = format!("the base size is {}, the largest block has {largest}", base.size);
        findings.push(Finding::at(&rules::LARGE_BASE, base.line, what));
        return;
    }
    for (WrittenBlock { name, line, .. }, size) in block.blocks.iter().zip(sizes) {
        if (1..base.size).contains(size) {
            let what = format!("block `{}` has {size} nodes, the base size is {}", name.text, base.size);
            findings.push(Finding::at(&rules::SMALL_BLOCK, *line, what));
        }
    }
}
