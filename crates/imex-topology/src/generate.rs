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
    /// They are those of the previous topology: blocks may have lost nodes since, none has become larger.
    Kept,
    /// Every block is a step of the smallest one, which is the base and as frequent as any other size.
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
        None => keep_or_infer(before, &blocks),
    };
    let outside = inventory.outside().map(|(node, why)| (node.to_owned(), why.clone())).collect();
    let made = TopologyKind::Block(BlockTopology { sizes, blocks });
    Ok(Generated { topologies: place(made, options, previous), sizes: source, outside })
}

/// The sizes of the topology before, unless the blocks ask for a larger base, or none has as many nodes as the base any
/// more. A node that is missing for a while must not change how jobs are placed.
pub(crate) fn keep_or_infer(before: Option<&BlockTopology>, blocks: &[Block]) -> (BlockSizes, SizeSource) {
    let (inferred, source) = infer(blocks);
    let largest = blocks.iter().map(|block| block.nodes.len()).max();
    match before.map(|before| &before.sizes).filter(|sizes| sizes.base() >= inferred.base()) {
        Some(sizes) if sizes.base() <= largest => (sizes.clone(), SizeSource::Kept),
        Some(_) | None => (inferred, source),
    }
}

/// The base and its steps for these blocks. The base is the most frequent size, since a smaller block is a rack with
/// nodes missing; but if every block is a step of the smallest (9 and 18) and no size is more frequent, it is that one.
pub fn infer(blocks: &[Block]) -> (BlockSizes, SizeSource) {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for block in blocks {
        *counts.entry(block.nodes.len()).or_default() += 1;
    }
    let (smallest, times) = counts.first_key_value().map_or((0, 0), |(size, times)| (*size, *times));
    let frequent = counts.iter().max_by_key(|(size, times)| (**times, **size)).map_or(0, |(size, _)| *size);
    let steps = counts.iter().all(|(size, other)| BlockSizes::is_step(smallest, *size) && *other <= times);
    let (base, source) =
        if steps { (smallest, SizeSource::Smallest) } else { (frequent, SizeSource::MostFrequent) };
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
