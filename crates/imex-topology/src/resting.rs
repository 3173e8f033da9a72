//! Nodes that are powered down keep their place.
//!
//! A cloud node that Slurm has powered down is gone for every source: EC2 knows no such instance, its GPUs cannot be
//! asked. It is still the node that Slurm will power up again, and a block that shrank each time would make jobs
//! unplaceable. So what Slurm says is powered down, is going down or is coming up stays in the block that it had, until a
//! source places it elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use crate::generate::{GenerateError, Generated, Options, generate, keep_or_infer};
use crate::inventory::Inventory;
use crate::model::{Block, BlockTopology, NodeSet, Topologies, Topology, TopologyKind};
use crate::show_nodes::{self, ShownNode};
use crate::source::SourceError;

/// What a topology should become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// All topologies of the file.
    pub topologies: Topologies,
    /// The nodes that no source knows and that stay where they were.
    pub kept: NodeSet,
}

/// The nodes that are powered down or on their way there or back, by the output of `scontrol show nodes --json`.
///
/// # Errors
///
/// If it is not that.
pub fn parse(text: &str) -> Result<NodeSet, SourceError> {
    /// slurm.conf(5) on power saving; `POWERING_UP` because a node that boots cannot be asked yet.
    const RESTING: [&str; 4] = ["POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN", "POWERING_UP"];
    let rests = |node: &ShownNode| node.state.iter().any(|state| RESTING.contains(&state.as_str()));
    Ok(show_nodes::parse(text)?.into_iter().filter(rests).map(|node| node.name).collect())
}

/// [`generate`], with the resting nodes of the previous topology kept in their blocks.
///
/// # Errors
///
/// If no block would be left.
pub fn propose(
    inventory: &Inventory,
    options: &Options,
    previous: Option<&Topologies>,
    resting: &NodeSet,
) -> Result<Proposal, GenerateError> {
    let generated = generate(inventory, options, previous);
    let before = previous.and_then(|topologies| topologies.get(&options.name)).and_then(Topology::blocks);
    let Some(before) = before.filter(|_| !resting.is_empty()) else {
        return generated.map(|made| Proposal { topologies: made.topologies, kept: NodeSet::default() });
    };
    let mut topologies = match (generated, previous) {
        (Ok(Generated { topologies, .. }), _) => topologies,
        // Nothing lives: what rests may be all there is.
        (Err(GenerateError::NoBlocks), Some(previous)) => previous.clone(),
        (Err(error), None) => return Err(error),
    };
    let made = topologies.list.iter_mut().find(|topology| topology.name == options.name);
    let Some(TopologyKind::Block(made)) = made.map(|topology| &mut topology.kind) else {
        return Err(GenerateError::NoBlocks);
    };
    let live = if inventory.blocks().is_empty() { BlockTopology::default() } else { made.clone() };
    let (blocks, kept) = joined(live, before, resting);
    if blocks.is_empty() {
        return Err(GenerateError::NoBlocks);
    }
    made.sizes = options.sizes.clone().unwrap_or_else(|| keep_or_infer(Some(before), &blocks).0);
    made.blocks = blocks;
    Ok(Proposal { topologies, kept })
}

/// The live blocks with the resting nodes of the ones before, in the order of before, new ones behind.
fn joined(live: BlockTopology, before: &BlockTopology, resting: &NodeSet) -> (Vec<Block>, NodeSet) {
    let placed: BTreeSet<&str> = live.blocks.iter().flat_map(|block| block.nodes.iter()).collect();
    let mut kept: Vec<&str> = Vec::new();
    let mut stay: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for block in &before.blocks {
        let rest = block.nodes.iter().filter(|node| resting.contains(node) && !placed.contains(node));
        let rest: Vec<&str> = rest.collect();
        kept.extend(rest.iter().copied());
        if !rest.is_empty() {
            stay.insert(&block.name, rest);
        }
    }
    let kept = NodeSet::from_iter(kept);
    let mut named: BTreeMap<&str, &Block> =
        live.blocks.iter().map(|block| (block.name.as_str(), block)).collect();
    let mut blocks = Vec::new();
    for Block { name, .. } in &before.blocks {
        let living = named.remove(name.as_str()).into_iter().flat_map(|block| block.nodes.iter());
        let nodes: NodeSet = living.chain(stay.remove(name.as_str()).into_iter().flatten()).collect();
        if !nodes.is_empty() {
            blocks.push(Block { name: name.clone(), nodes });
        }
    }
    let fresh = live.blocks.iter().filter(|block| named.contains_key(block.name.as_str()));
    blocks.extend(fresh.cloned());
    (blocks, kept)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::source::{inventory_file, topology_file};
    use crate::written::Form;

    #[test]
    fn a_node_that_rests_stays_and_one_that_is_gone_leaves() {
        let before = file(&[("a", "n[1-4]"), ("b", "n[5-8]")]);
        let live = inventory(&[("a", "n[1-2]"), ("b", "n[5-8]")]);
        let proposal = proposed(&live, &before, "n3").unwrap();
        assert_eq!(blocks(&proposal.topologies), [("a", "n[1-3]".to_owned()), ("b", "n[5-8]".to_owned())]);
        assert_eq!(proposal.kept.to_list(), "n3");
    }

    #[test]
    fn a_block_whose_nodes_all_rest_stays_in_its_place() {
        let before = file(&[("a", "n[1-2]"), ("b", "n[3-4]")]);
        let live = inventory(&[("b", "n[3-4]")]);
        let proposal = proposed(&live, &before, "n[1-2]").unwrap();
        assert_eq!(proposal.topologies, before);
    }

    #[test]
    fn when_all_nodes_rest_nothing_changes() {
        let before = file(&[("a", "n[1-2]"), ("b", "n[3-4]")]);
        let proposal = proposed(&Inventory::default(), &before, "n[1-4]").unwrap();
        assert_eq!(proposal.topologies, before);
        assert_eq!(proposed(&Inventory::default(), &before, ""), Err(GenerateError::NoBlocks));
    }

    #[test]
    fn a_node_that_came_back_in_another_block_moves() {
        let before = file(&[("a", "n[1-2]"), ("b", "n[3-4]")]);
        let live = inventory(&[("a", "n1"), ("b", "n[2-4]")]);
        let proposal = proposed(&live, &before, "n2").unwrap();
        assert_eq!(blocks(&proposal.topologies), [("a", "n1".to_owned()), ("b", "n[2-4]".to_owned())]);
        assert!(proposal.kept.is_empty());
    }

    #[test]
    fn the_states_of_power_saving_are_read() {
        let text = r#"{"nodes": [{"name": "n1", "state": ["IDLE", "CLOUD", "POWERED_DOWN"]},
            {"name": "n2", "state": ["ALLOCATED", "CLOUD"]}, {"name": "n3", "state": ["POWERING_UP"]}, {"name": "n4"}]}"#;
        assert_eq!(parse(text).unwrap().to_list(), "n[1,3]");
        assert!(parse("slurm_load_node error").is_err());
    }

    fn proposed(
        inventory: &Inventory,
        before: &Topologies,
        resting: &str,
    ) -> Result<Proposal, GenerateError> {
        let options = Options { name: "t".to_owned(), ..Options::default() };
        propose(inventory, &options, Some(before), &set(resting))
    }

    fn set(list: &str) -> NodeSet {
        NodeSet::parse(list).unwrap()
    }

    fn inventory(blocks: &[(&str, &str)]) -> Inventory {
        let mut text = "blocks:\n".to_owned();
        for (block, nodes) in blocks {
            text.push_str(&format!("  - block: {block}\n    nodes: {nodes}\n"));
        }
        inventory_file::parse(&text, &Arc::from("inventory.yaml")).unwrap().into()
    }

    fn file(blocks: &[(&str, &str)]) -> Topologies {
        let mut text = "- topology: t\n  cluster_default: true\n  block:\n    blocks:\n".to_owned();
        for (block, nodes) in blocks {
            text.push_str(&format!("      - block: {block}\n        nodes: {nodes}\n"));
        }
        let mut topologies = topology_file::parse(&text, Form::Yaml).unwrap();
        if let TopologyKind::Block(blocks) = &mut topologies.list[0].kind {
            blocks.sizes = crate::generate::infer(&blocks.blocks).0;
        }
        topologies
    }

    fn blocks(topologies: &Topologies) -> Vec<(&str, String)> {
        let blocks = &topologies.list[0].blocks().unwrap().blocks;
        blocks.iter().map(|block| (block.name.as_str(), block.nodes.to_list())).collect()
    }
}
