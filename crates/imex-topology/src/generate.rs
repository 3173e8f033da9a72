//! From an inventory to a topology.

use std::collections::BTreeMap;

use crate::inventory::{Inventory, NoBlock};
use crate::model::{
    Block, BlockSizes, BlockTopology, ClusterDefault, NodeSet, Topologies, Topology, TopologyKind,
};
use crate::naming::{self, Names};

/// What is wanted.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the topology with the blocks.
    pub name: String,
    /// How new blocks are named.
    pub names: Names,
    /// Block sizes; inferred from the blocks if there are none.
    pub sizes: Option<BlockSizes>,
    /// Where nodes without a block get their place.
    pub outside: Outside,
}

/// What becomes of nodes that are in no block.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Outside {
    /// They are left out: Slurm gives them only to jobs that ask for them by name, or for one node.
    #[default]
    LeaveOut,
    /// A flat topology of this name is written for partitions with such nodes. Only `topology.yaml` can hold it.
    Flat(String),
}

/// A topology, and what one should know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// All topologies of the file: the generated one in its place, others as they were.
    pub topologies: Topologies,
    /// How the sizes came about.
    pub sizes: SizeSource,
    /// Nodes that are in no block, with the reason.
    pub outside: Vec<(String, NoBlock)>,
}

/// How sizes came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeSource {
    /// They were given.
    Given,
    /// Every block is a step of the smallest one, which is the base.
    Smallest,
    /// The most frequent size is the base; some blocks differ from it.
    MostFrequent,
}

/// Why no topology can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GenerateError {
    /// No node is in a block.
    #[error("no node is in a block")]
    NoBlocks,
}

impl Default for Options {
    fn default() -> Self {
        Options { name: "nvlink".to_owned(), names: Names::Key, sizes: None, outside: Outside::LeaveOut }
    }
}

/// Makes the topology of an inventory. What `previous` has keeps its names and its order; topologies of other names and
/// the default stay as they are.
///
/// # Errors
///
/// If there is nothing to make it of.
pub fn generate(
    inventory: &Inventory,
    options: &Options,
    previous: Option<&Topologies>,
) -> Result<Generated, GenerateError> {
    let grouped = inventory.blocks();
    if grouped.is_empty() {
        return Err(GenerateError::NoBlocks);
    }
    let before = previous.and_then(|topologies| topologies.get(&options.name)).and_then(Topology::blocks);
    let names = naming::name(&grouped, before, options.names);
    let block = |(name, key)| Block { name, nodes: NodeSet::from_iter(grouped[key].iter().copied()) };
    let blocks: Vec<Block> = names.into_iter().map(block).collect();
    let (sizes, source) = match &options.sizes {
        Some(sizes) => (sizes.clone(), SizeSource::Given),
        None => infer(&blocks),
    };
    let outside = inventory.outside().map(|(node, why)| (node.to_owned(), why.clone())).collect();
    let made = TopologyKind::Block(BlockTopology { sizes, blocks });
    Ok(Generated { topologies: place(made, options, previous), sizes: source, outside })
}

/// The base and its steps for these blocks: the smallest block if all others are steps of it (9 and 18), else the most
/// frequent size, larger ones first, since a smaller block is a rack with nodes missing.
pub fn infer(blocks: &[Block]) -> (BlockSizes, SizeSource) {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for block in blocks {
        *counts.entry(block.nodes.len()).or_default() += 1;
    }
    let smallest = counts.keys().next().copied().unwrap_or(0);
    let frequent = counts.iter().max_by_key(|(size, count)| (**count, **size)).map_or(0, |(size, _)| *size);
    let (base, source) = if counts.keys().all(|size| BlockSizes::is_step(smallest, *size)) {
        (smallest, SizeSource::Smallest)
    } else {
        (frequent, SizeSource::MostFrequent)
    };
    (BlockSizes::steps(base, blocks.len()), source)
}

fn place(made: TopologyKind, options: &Options, previous: Option<&Topologies>) -> Topologies {
    let mut topologies = previous.cloned().unwrap_or_default();
    let sole = topologies.list.is_empty();
    match topologies.list.iter_mut().find(|topology| topology.name == options.name) {
        Some(topology) => topology.kind = made,
        None => {
            let default = if sole { ClusterDefault::Yes } else { ClusterDefault::No };
            topologies.list.push(Topology { name: options.name.clone(), default, kind: made });
        }
    }
    if let Outside::Flat(name) = &options.outside
        && topologies.get(name).is_none()
    {
        let kind = TopologyKind::Flat;
        topologies.list.push(Topology { name: name.clone(), default: ClusterDefault::No, kind });
    }
    topologies
}

#[cfg(test)]
mod tests;
