//! What stands around the file: Slurm's version, its nodes and partitions, the queues of AWS PCS.

use std::collections::HashSet;

use crate::model::{BlockSizes, NodeSet};
use crate::source::aws_json::is_ultraserver;
use crate::source::slurm_conf::{Exclusive, Partition};
use crate::version::SlurmVersion;
use crate::written::{Form, Kind, Written};

use super::{Finding, Rule, rules};

/// What a file is judged with. What is not known is not judged.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The version of Slurm.
    pub version: Option<SlurmVersion>,
    /// The nodes that Slurm knows.
    pub nodes: Option<NodeSet>,
    /// The partitions of Slurm.
    pub partitions: Vec<Partition>,
    /// The queues of AWS PCS.
    pub queues: Vec<Queue>,
}

/// A queue and its compute node groups (`pcs:GetQueue`, `pcs:GetComputeNodeGroup`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// The queue's name.
    pub name: String,
    /// Its groups.
    pub groups: Vec<Group>,
}

/// A compute node group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The group's name.
    pub name: String,
    /// Its instance types.
    pub instance_types: Vec<String>,
    /// How many instances it can have.
    pub max_instances: usize,
    /// Its UltraServer capacity blocks.
    pub capacity_blocks: Vec<String>,
}

impl Context {
    /// Judges if this Slurm reads such a file.
    pub(super) fn judge_version(&self, form: Form, findings: &mut Vec<Finding>) {
        let Some(version) = self.version else { return };
        if form == Form::Yaml && !version.reads_yaml() {
            findings.push(Finding::at(&rules::OLD_VERSION, None, format!("Slurm is {version}")));
        }
        if !version.has_block() {
            findings.push(Finding::at(&rules::NO_BLOCK_PLUGIN, None, format!("Slurm is {version}")));
        }
    }

    /// Judges the file against what is around it.
    pub(super) fn judge(&self, written: &Written, findings: &mut Vec<Finding>) {
        if let Some(nodes) = &self.nodes {
            judge_nodes(written, nodes, findings);
        }
        for partition in &self.partitions {
            judge_partition(written, partition, findings);
        }
        for queue in &self.queues {
            judge_queue(queue, findings);
        }
    }
}

fn judge_nodes(written: &Written, known: &NodeSet, findings: &mut Vec<Finding>) {
    let known_names: HashSet<&str> = known.iter().collect();
    for topology in &written.topologies {
        let Kind::Block(block) = &topology.kind else { continue };
        let mut placed: HashSet<&str> = HashSet::with_capacity(known.len());
        for block in &block.blocks {
            let unknown: Vec<&String> =
                block.nodes.iter().filter(|node| !known_names.contains(node.as_str())).collect();
            if !unknown.is_empty() {
                let what = format!("block `{}` has {}", block.name.text, imex_host::compress(unknown));
                findings.push(Finding::at(&rules::UNKNOWN_NODE, block.line, what));
            }
            placed.extend(block.nodes.iter().map(String::as_str));
        }
        let mut nodes = block.blocks.iter().flat_map(|block| &block.nodes).peekable();
        let named = nodes.peek().is_some();
        if named && block.sizes.is_empty() && nodes.all(|node| !known_names.contains(node.as_str())) {
            findings.push(Finding::at(&rules::NO_NODES, block.line, "Slurm knows no node of any block"));
        }
        let missing: Vec<&str> = known.iter().filter(|node| !placed.contains(node)).collect();
        if !missing.is_empty() {
            let what = format!("in no block: {}", crate::written::short(&imex_host::compress(missing)));
            findings.push(Finding::at(&rules::MISSING_NODE, block.line, what));
        }
    }
}

fn judge_partition(written: &Written, partition: &Partition, findings: &mut Vec<Finding>) {
    let about = |rule: &'static Rule, what: String| {
        Finding::at(rule, None, format!("partition `{}` (line {}) {what}", partition.name, partition.line))
    };
    let topology = match &partition.topology {
        Some(name) => {
            let named = |text: &crate::written::Text| text.text == *name;
            let found = written.topologies.iter().find(|topology| topology.name.as_ref().is_some_and(named));
            if found.is_none() {
                findings.push(about(&rules::UNKNOWN_TOPOLOGY, format!("names the topology `{name}`")));
            }
            found
        }
        None => written.topologies.first(),
    };
    let over_blocks = topology.is_some_and(|topology| matches!(topology.kind, Kind::Block(_)));
    if over_blocks && partition.exclusive == Exclusive::No {
        findings.push(about(
            &rules::NOT_EXCLUSIVE,
            "lets jobs share nodes unless they ask for --exclusive".to_owned(),
        ));
    }
}

fn judge_queue(queue: &Queue, findings: &mut Vec<Finding>) {
    let (ultra, others): (Vec<&Group>, Vec<&Group>) =
        queue.groups.iter().partition(|group| group.is_ultraserver());
    let about =
        |rule: &'static Rule, what: String| Finding::at(rule, None, format!("queue `{}` {what}", queue.name));
    if let (Some(one), Some(other)) = (ultra.first(), others.first()) {
        let what = format!("has the UltraServer group `{}` and the group `{}`", one.name, other.name);
        findings.push(about(&rules::MIXED_QUEUE, what));
    }
    for group in ultra.iter().filter(|group| group.capacity_blocks.len() != 1) {
        let what =
            format!("has the group `{}` with {} capacity blocks", group.name, group.capacity_blocks.len());
        findings.push(about(&rules::SHARED_CAPACITY, what));
    }
    let Some(smallest) = ultra.iter().min_by_key(|group| group.max_instances) else { return };
    for group in
        ultra.iter().filter(|group| !BlockSizes::is_step(smallest.max_instances, group.max_instances))
    {
        let what = format!(
            "has groups of {} (`{}`) and {} (`{}`) instances",
            smallest.max_instances, smallest.name, group.max_instances, group.name
        );
        findings.push(about(&rules::GROUP_RATIO, what));
    }
}

impl Group {
    /// If its instances are parts of UltraServers.
    pub fn is_ultraserver(&self) -> bool {
        let mut types = self.instance_types.iter();
        !self.capacity_blocks.is_empty() || types.any(|kind| is_ultraserver(kind))
    }
}
