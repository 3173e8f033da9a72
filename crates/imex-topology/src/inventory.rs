//! Where each node is, and how that is known.
//!
//! A source gives a [`SourceReport`]: for each node that it knows, a block key or the reason why there is none. Several
//! reports become one [`Inventory`] with [`merge()`]: the first report that places a node decides, later ones must agree.
//! Sources name the same block differently (a fabric identity, a capacity block), so agreement is about who is together
//! with whom, not about the keys. What disagrees is reported and left out of every block: never averaged.

mod merge;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use imex_host::{FabricId, NoFabric};
use serde::Serialize;

pub use merge::{Disagreement, Merged, merge};

/// Which kind of source said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// Reports of the nodes' own GPUs.
    Nvml,
    /// EC2: instance topology and capacity blocks.
    Ec2,
    /// A file written by hand.
    Inventory,
    /// A topology that Slurm has or had.
    Slurm,
    /// Node features or comments in Slurm.
    Features,
}

/// How a placement is known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Evidence {
    /// Which kind of source said it.
    pub source: SourceKind,
    /// Where: a file, a command, an address.
    pub from: Arc<str>,
    /// The line in it, from 1, if it has lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

/// What makes nodes belong together, in the words of a source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(tag = "kind", content = "key", rename_all = "snake_case")]
pub enum BlockKey {
    /// The NVLink partition, from the GPUs themselves.
    Fabric(FabricId),
    /// An EC2 capacity block: one UltraServer.
    CapacityBlock(String),
    /// A name that a person or an earlier topology gave.
    Named(String),
}

/// Where a node is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// In this block.
    Block(BlockKey),
    /// In none, for this reason.
    NoBlock(NoBlock),
}

/// Why a node is in no block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "reason", content = "detail", rename_all = "snake_case")]
pub enum NoBlock {
    /// Its GPUs are in no fabric.
    #[error("{0}")]
    Fabric(NoFabric),
    /// The source knows the node and places it nowhere.
    #[error("its source places it in no block")]
    NotMember,
    /// It is part of an UltraServer, and EC2 does not say yet of which: it has just been started.
    #[error("EC2 does not say yet in which UltraServer it is")]
    Pending,
    /// Sources disagree about it.
    #[error("sources disagree about it")]
    Disagreement,
}

/// What a source says of one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Where it is.
    pub placement: Placement,
    /// How that is known: who decided first, then who agrees.
    pub evidence: Vec<Evidence>,
}

/// What one source says.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct SourceReport {
    /// For each node, in the order of its names. A node that a source has twice is in `repeated` as well.
    pub nodes: BTreeMap<String, Entry>,
    /// Nodes that the source places in more than one block, with the other key.
    pub repeated: Vec<(String, BlockKey, Evidence)>,
    /// What people should know of it, each a sentence without its full stop.
    pub warnings: Vec<String>,
}

/// Where every node is that any source knows.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Inventory {
    nodes: BTreeMap<String, Entry>,
}

impl SourceReport {
    /// Notes what the source says of a node. The first word counts, another one is noted as repeated.
    pub fn place(&mut self, node: impl Into<String>, placement: Placement, evidence: Evidence) {
        use std::collections::btree_map::Entry as Slot;
        match self.nodes.entry(node.into()) {
            Slot::Vacant(slot) => {
                slot.insert(Entry { placement, evidence: vec![evidence] });
            }
            Slot::Occupied(slot) => match placement {
                Placement::Block(key) if slot.get().placement != Placement::Block(key.clone()) => {
                    self.repeated.push((slot.key().clone(), key, evidence));
                }
                Placement::Block(_) | Placement::NoBlock(_) => {}
            },
        }
    }
}

impl Inventory {
    /// The nodes and what is known of them, by name.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (&str, &Entry)> {
        self.nodes.iter().map(|(name, entry)| (name.as_str(), entry))
    }

    /// What is known of a node.
    pub fn get(&self, node: &str) -> Option<&Entry> {
        self.nodes.get(node)
    }

    /// The nodes of each block, both in the order of their texts.
    pub fn blocks(&self) -> BTreeMap<&BlockKey, Vec<&str>> {
        let mut blocks: BTreeMap<&BlockKey, Vec<&str>> = BTreeMap::new();
        for (name, entry) in &self.nodes {
            if let Placement::Block(key) = &entry.placement {
                blocks.entry(key).or_default().push(name);
            }
        }
        blocks
    }

    /// The nodes that are in no block, with the reason.
    pub fn outside(&self) -> impl Iterator<Item = (&str, &NoBlock)> {
        self.nodes.iter().filter_map(|(name, entry)| match &entry.placement {
            Placement::NoBlock(why) => Some((name.as_str(), why)),
            Placement::Block(_) => None,
        })
    }
}

impl From<SourceReport> for Inventory {
    fn from(report: SourceReport) -> Self {
        Inventory { nodes: report.nodes }
    }
}

impl fmt::Display for BlockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlockKey::Fabric(id) => id.fmt(f),
            BlockKey::CapacityBlock(name) | BlockKey::Named(name) => f.write_str(name),
        }
    }
}

impl SourceKind {
    /// The word for people.
    pub const fn word(self) -> &'static str {
        match self {
            SourceKind::Nvml => "nvml",
            SourceKind::Ec2 => "ec2",
            SourceKind::Inventory => "inventory",
            SourceKind::Slurm => "slurm",
            SourceKind::Features => "features",
        }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.source.word(), self.from)?;
        match self.line {
            Some(line) => write!(f, ":{line}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
