//! A topology as Slurm holds it: blocks of nodes and the sizes that jobs are placed by.
//!
//! This is the meaning of a file, not its text: [`Topologies`] equal one another if slurmctld would hold the same.

mod nodes;
mod sizes;

pub use nodes::NodeSet;
pub use sizes::{BlockSizes, SizesError};

/// All topologies of one file, in its order. The first is the default if none says that it is.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Topologies {
    /// The topologies.
    pub list: Vec<Topology>,
}

/// One topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Its name, to which partitions refer. Empty in `topology.conf`, which has one without a name.
    pub name: String,
    /// What partitions that name no topology use.
    pub default: ClusterDefault,
    /// What it is.
    pub kind: TopologyKind,
}

/// If a topology is for partitions that name none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ClusterDefault {
    /// It is.
    Yes,
    /// Only for partitions that name it.
    #[default]
    No,
}

/// What a topology is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopologyKind {
    /// Blocks of nodes with uniform bandwidth inside.
    Block(BlockTopology),
    /// Switches that form a tree.
    Tree(TreeTopology),
    /// No structure.
    Flat,
    /// A kind that is kept but not understood (`ring`, `torus3d`): its key and its body in canonical JSON.
    Other {
        /// The key in the file.
        kind: String,
        /// What stands under the key.
        body: serde_json::Value,
    },
}

/// The blocks of a topology/block.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct BlockTopology {
    /// The sizes by which jobs are placed.
    pub sizes: BlockSizes,
    /// The blocks, in the order of the file, which slurmctld numbers them by.
    pub blocks: Vec<Block>,
}

/// One block: for NVLink, the nodes of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its name.
    pub name: String,
    /// Its nodes.
    pub nodes: NodeSet,
}

/// The switches of a topology/tree.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct TreeTopology {
    /// The switches, in the order of the file.
    pub switches: Vec<Switch>,
}

/// One switch of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Its name.
    pub name: String,
    /// The switches below it.
    pub children: NodeSet,
    /// The nodes that are attached to it.
    pub nodes: NodeSet,
}

impl Topologies {
    /// The topology that partitions without one use: the first that says so, else the first.
    pub fn cluster_default(&self) -> Option<&Topology> {
        let named = self.list.iter().find(|topology| topology.default == ClusterDefault::Yes);
        named.or_else(|| self.list.first())
    }

    /// The topology with this name.
    pub fn get(&self, name: &str) -> Option<&Topology> {
        self.list.iter().find(|topology| topology.name == name)
    }
}

impl Topology {
    /// Its blocks, if it is made of blocks.
    pub fn blocks(&self) -> Option<&BlockTopology> {
        match &self.kind {
            TopologyKind::Block(block) => Some(block),
            TopologyKind::Tree(_) | TopologyKind::Flat | TopologyKind::Other { .. } => None,
        }
    }
}

impl BlockTopology {
    /// The size by which a job is said to fit a block, as slurmctld takes it: the base size that is given, else the size
    /// of the first block (shown by `scontrol show topology` of 26.05.5; it is not the smallest).
    pub fn base(&self) -> usize {
        self.sizes.base().unwrap_or_else(|| self.blocks.first().map_or(0, |block| block.nodes.len()))
    }

    /// The block that a node is in: the first that has it.
    pub fn block_of(&self, node: &str) -> Option<&Block> {
        self.blocks.iter().find(|block| block.nodes.contains(node))
    }
}
