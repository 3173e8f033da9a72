//! A topology file as it is written: every value with its line, nothing judged that slurmctld does not judge.
//!
//! Reading follows slurmctld 26.05. What it would refuse becomes a finding of severity error and is left out, so that
//! one run finds everything.

pub(crate) mod conf;
pub(crate) mod names;
mod yaml;

use imex_host::hostlist::Allowance;

use crate::lint::{Finding, rules};
use crate::model::{
    Block, BlockSizes, BlockTopology, ClusterDefault, NodeSet, Switch, Topologies, Topology, TopologyKind,
    TreeTopology,
};

/// Which of Slurm's two files a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// `topology.yaml`, Slurm 25.05 and later.
    Yaml,
    /// `topology.conf` of topology/block.
    Conf,
}

/// A text and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) line: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Written {
    pub(crate) topologies: Vec<WrittenTopology>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrittenTopology {
    pub(crate) line: usize,
    pub(crate) name: Option<Text>,
    pub(crate) default: ClusterDefault,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Block(WrittenBlocks),
    Tree(WrittenTree),
    Flat,
    Other {
        kind: String,
        body: serde_json::Value,
    },
    /// It has none that Slurm could take.
    Missing,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrittenBlocks {
    pub(crate) line: usize,
    pub(crate) sizes: Vec<WrittenSize>,
    pub(crate) blocks: Vec<WrittenBlock>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrittenSize {
    pub(crate) size: usize,
    pub(crate) line: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrittenBlock {
    pub(crate) name: Text,
    /// The nodes, in the order of the list, repeated ones again; empty if there is no list.
    pub(crate) nodes: Vec<String>,
    /// The line of the list, or of the block.
    pub(crate) line: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrittenTree {
    pub(crate) line: usize,
    pub(crate) switches: Vec<WrittenSwitch>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrittenSwitch {
    pub(crate) name: Text,
    pub(crate) children: Vec<String>,
    pub(crate) nodes: Vec<String>,
}

/// Reads a text. What slurmctld would refuse in it is added to `findings`.
pub(crate) fn read(text: &str, form: Form, findings: &mut Vec<Finding>) -> Written {
    match form {
        Form::Yaml => yaml::read(text, findings),
        Form::Conf => conf::read(text, findings),
    }
}

/// Checks sizes as slurmctld does; those that it refuses are left out.
fn check_sizes(sizes: Vec<WrittenSize>, findings: &mut Vec<Finding>) -> Vec<WrittenSize> {
    let Some(base) = sizes.first().map(|first| first.size) else { return sizes };
    let mut refuse =
        |size: &WrittenSize, what: String| findings.push(Finding::at(&rules::SIZE_STEP, size.line, what));
    let good = |size: &WrittenSize| {
        if !(1..=BlockSizes::MAX).contains(&size.size) {
            refuse(size, format!("block size {} is outside of 1 to {}", size.size, BlockSizes::MAX));
            false
        } else if !BlockSizes::is_step(base, size.size) {
            refuse(size, format!("block size {} is not {base} times a power of two", size.size));
            false
        } else {
            true
        }
    };
    sizes.into_iter().filter(good).collect()
}

/// Expands a list of hosts of a file; one that cannot be parsed, or for which the file has no room left, is a finding.
fn expand(list: &Text, allowance: &mut Allowance, findings: &mut Vec<Finding>) -> Vec<String> {
    match allowance.parse(&list.text) {
        Ok(list) => list.iter().collect(),
        Err(error) => {
            let what = format!("`{}`: {error}", short(&list.text));
            findings.push(Finding::at(&rules::BAD_HOSTLIST, list.line, what));
            Vec::new()
        }
    }
}

/// The start of a text that may be long, for people.
pub(crate) fn short(text: &str) -> String {
    /// About what fits a line of a terminal beside the rest of a finding.
    const ENOUGH: usize = 60;
    match text.char_indices().nth(ENOUGH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl Written {
    /// What slurmctld would hold. Of repeated names the first counts.
    pub(crate) fn meaning(self) -> Topologies {
        Topologies { list: self.topologies.into_iter().map(WrittenTopology::meaning).collect() }
    }
}

impl WrittenTopology {
    fn meaning(self) -> Topology {
        let name = self.name.map(|name| name.text).unwrap_or_default();
        let kind = match self.kind {
            Kind::Block(blocks) => TopologyKind::Block(blocks.meaning()),
            Kind::Tree(tree) => TopologyKind::Tree(tree.meaning()),
            Kind::Flat | Kind::Missing => TopologyKind::Flat,
            Kind::Other { kind, body } => TopologyKind::Other { kind, body },
        };
        Topology { name, default: self.default, kind }
    }
}

impl WrittenBlocks {
    fn meaning(self) -> BlockTopology {
        let sizes = self.sizes.into_iter().map(|size| size.size).collect();
        let block =
            |block: WrittenBlock| Block { name: block.name.text, nodes: NodeSet::from_iter(block.nodes) };
        BlockTopology {
            // Sizes that the checks left over are steps of the first.
            sizes: BlockSizes::new(sizes).unwrap_or_default(),
            blocks: self.blocks.into_iter().map(block).collect(),
        }
    }
}

impl WrittenTree {
    fn meaning(self) -> TreeTopology {
        let switch = |switch: WrittenSwitch| Switch {
            name: switch.name.text,
            children: NodeSet::from_iter(switch.children),
            nodes: NodeSet::from_iter(switch.nodes),
        };
        TreeTopology { switches: self.switches.into_iter().map(switch).collect() }
    }
}
