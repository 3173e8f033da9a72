//! What changes from one set of topologies to another, in terms of nodes and blocks.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::model::{Block, BlockTopology, Topologies, Topology, TopologyKind};

/// All changes. Empty if slurmctld would hold the same.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct Diff {
    /// The changes, in the order of the new topologies, then those that are gone.
    pub topologies: Vec<TopologyDiff>,
}

/// The change of one topology.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TopologyDiff {
    /// Its name.
    pub name: String,
    /// What happens to it.
    #[serde(flatten)]
    pub change: Change,
}

/// What happens to a topology.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// It is new.
    New {
        /// How many blocks it has, if it is made of blocks.
        blocks: usize,
    },
    /// It is gone.
    Gone,
    /// It is another kind, or a kind of which only that it differs is told.
    Replaced,
    /// It becomes the default, or no longer is. Its inside is the same.
    Default,
    /// Its blocks change.
    Blocks(BlocksDiff),
}

/// The change of the blocks of a topology.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct BlocksDiff {
    /// Sizes before and after, if they change.
    pub sizes: Option<(Vec<usize>, Vec<usize>)>,
    /// New blocks and their nodes.
    pub new: Vec<Listed>,
    /// Blocks that are gone, with the nodes they had.
    pub gone: Vec<Listed>,
    /// Nodes that change their block, by both blocks.
    pub moved: Vec<Moved>,
    /// Nodes that come to a block that stays, from no block.
    pub joined: Vec<Listed>,
    /// Nodes that leave a block that stays, for no block.
    pub left: Vec<Listed>,
    /// If blocks that stay change their order.
    pub reordered: bool,
    /// If the topology becomes the default or no longer is.
    pub default: bool,
}

/// Nodes of a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// The block.
    pub block: String,
    /// The nodes, as a list.
    pub nodes: String,
    /// How many they are.
    pub count: usize,
}

/// Nodes that change their block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// The block before.
    pub from: String,
    /// The block after.
    pub to: String,
    /// The nodes, as a list.
    pub nodes: String,
    /// How many they are.
    pub count: usize,
}

/// What changes from `old` to `new`. Topologies are told apart by their names.
pub fn diff(old: &Topologies, new: &Topologies) -> Diff {
    let mut topologies = Vec::new();
    for topology in &new.list {
        let change = match old.get(&topology.name) {
            None => Some(Change::New { blocks: topology.blocks().map_or(0, |blocks| blocks.blocks.len()) }),
            Some(before) => change(before, topology),
        };
        topologies.extend(change.map(|change| TopologyDiff { name: topology.name.clone(), change }));
    }
    let gone = old.list.iter().filter(|topology| new.get(&topology.name).is_none());
    topologies
        .extend(gone.map(|topology| TopologyDiff { name: topology.name.clone(), change: Change::Gone }));
    Diff { topologies }
}

fn change(old: &Topology, new: &Topology) -> Option<Change> {
    let default = old.default != new.default;
    match (&old.kind, &new.kind) {
        (TopologyKind::Block(before), TopologyKind::Block(after)) => {
            let diff = BlocksDiff { default, ..blocks(before, after) };
            (diff != BlocksDiff::default()).then_some(Change::Blocks(diff))
        }
        (before, after) if before != after => Some(Change::Replaced),
        _ => default.then_some(Change::Default),
    }
}

/// What changes from one set of blocks to another.
pub fn blocks(old: &BlockTopology, new: &BlockTopology) -> BlocksDiff {
    let (was, is) = (places(old), places(new));
    let mut diff = BlocksDiff::default();
    if old.sizes != new.sizes {
        diff.sizes = Some((old.sizes.as_slice().to_vec(), new.sizes.as_slice().to_vec()));
    }
    diff.new =
        new.blocks.iter().filter(|block| !was.names.contains_key(block.name.as_str())).map(listed).collect();
    diff.gone =
        old.blocks.iter().filter(|block| !is.names.contains_key(block.name.as_str())).map(listed).collect();
    let mut moved: BTreeMap<(usize, usize), Vec<&str>> = BTreeMap::new();
    for (place, block) in new.blocks.iter().enumerate() {
        let mut joined = Vec::new();
        for node in block.nodes.iter() {
            match was.nodes.get(node) {
                Some(from) if old.blocks[*from].name != block.name => {
                    moved.entry((*from, place)).or_default().push(node)
                }
                Some(_) => {}
                None => joined.push(node),
            }
        }
        if !joined.is_empty() && was.names.contains_key(block.name.as_str()) {
            diff.joined.push(some(block, &joined));
        }
    }
    for block in old.blocks.iter().filter(|block| is.names.contains_key(block.name.as_str())) {
        let left: Vec<&str> = block.nodes.iter().filter(|node| !is.nodes.contains_key(node)).collect();
        if !left.is_empty() {
            diff.left.push(some(block, &left));
        }
    }
    let moved = moved.into_iter().map(|((from, to), nodes)| Moved {
        from: old.blocks[from].name.clone(),
        to: new.blocks[to].name.clone(),
        nodes: imex_host::compress(&nodes),
        count: nodes.len(),
    });
    diff.moved = moved.collect();
    let stay = |blocks: &[Block], other: &Places<'_>| -> Vec<String> {
        let stays = blocks.iter().filter(|block| other.names.contains_key(block.name.as_str()));
        stays.map(|block| block.name.clone()).collect()
    };
    diff.reordered = stay(&old.blocks, &is) != stay(&new.blocks, &was);
    diff
}

struct Places<'t> {
    names: HashMap<&'t str, usize>,
    nodes: HashMap<&'t str, usize>,
}

fn places(blocks: &BlockTopology) -> Places<'_> {
    let numbered = || blocks.blocks.iter().enumerate();
    let names = numbered().map(|(place, block)| (block.name.as_str(), place)).collect();
    let total = blocks.blocks.iter().map(|block| block.nodes.len()).sum();
    let mut nodes = HashMap::with_capacity(total);
    for (place, block) in numbered() {
        nodes.extend(block.nodes.iter().map(|node| (node, place)));
    }
    Places { names, nodes }
}

fn listed(block: &Block) -> Listed {
    Listed { block: block.name.clone(), nodes: block.nodes.to_list(), count: block.nodes.len() }
}

fn some(block: &Block, nodes: &[&str]) -> Listed {
    Listed { block: block.name.clone(), nodes: imex_host::compress(nodes), count: nodes.len() }
}

impl Diff {
    /// If slurmctld would hold the same.
    pub fn is_empty(&self) -> bool {
        self.topologies.is_empty()
    }
}

#[cfg(test)]
mod tests;
