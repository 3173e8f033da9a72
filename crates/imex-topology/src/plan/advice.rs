//! What else could be asked for.

use serde::Serialize;

use crate::model::BlockTopology;

use super::choose::Ask;
use super::{Board, Request, View};

/// How far from the asked number of nodes another is looked for, in segments or nodes. Beyond this it is another job.
const REACH: usize = 64;

/// When a request could start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// At once.
    Now,
    /// On an empty cluster.
    Later,
}

/// A request near to one that does not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Alternative {
    /// `--nodes`.
    pub nodes: usize,
    /// `--segment`.
    pub segment: Option<usize>,
    /// When it could start.
    pub start: Start,
}

/// The segment for a job whose GPUs work in groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GroupAdvice {
    /// `--segment`: the nodes of one group. The smallest segment that keeps every group in a block: it can be placed
    /// where larger ones cannot.
    pub segment: usize,
    /// How many groups the job has.
    pub groups: usize,
}

/// Why there is no segment for a group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum GroupError {
    /// A group would need a part of a node.
    #[error("a group of {gpus} GPUs is no whole number of nodes with {per_node} GPUs")]
    PartOfNode {
        /// GPUs of a group.
        gpus: usize,
        /// GPUs of a node.
        per_node: usize,
    },
    /// No block holds a group.
    #[error("a group needs {nodes} nodes and the largest block has {largest}")]
    LargerThanBlock {
        /// Nodes of a group.
        nodes: usize,
        /// Nodes of the largest block.
        largest: usize,
    },
    /// The groups do not make up the nodes.
    #[error("{nodes} nodes are no whole number of groups of {group}; {}", nearest(*.below, *.above))]
    Uneven {
        /// Nodes of the job.
        nodes: usize,
        /// Nodes of a group.
        group: usize,
        /// The next lower number of nodes; 0 if there is none.
        below: usize,
        /// The next higher.
        above: usize,
    },
}

fn nearest(below: usize, above: usize) -> String {
    match below {
        0 => format!("the nearest is {above}"),
        _ => format!("the nearest are {below} and {above}"),
    }
}

/// The segment that keeps each group of GPUs in one block.
///
/// # Errors
///
/// If there is none.
pub fn best_segment(
    topology: &BlockTopology,
    nodes: usize,
    gpus: usize,
    per_node: usize,
) -> Result<GroupAdvice, GroupError> {
    let whole = gpus.checked_rem(per_node) == Some(0) || gpus < per_node;
    if !whole || per_node == 0 {
        return Err(GroupError::PartOfNode { gpus, per_node });
    }
    let group = (gpus / per_node).max(1);
    let largest = topology.blocks.iter().map(|block| block.nodes.len()).max().unwrap_or(0);
    if group > largest {
        return Err(GroupError::LargerThanBlock { nodes: group, largest });
    }
    let groups = nodes / group;
    if groups * group != nodes {
        let below = groups * group;
        return Err(GroupError::Uneven { nodes, group, below, above: below + group });
    }
    Ok(GroupAdvice { segment: group, groups })
}

/// The nearest requests that start now, else those that could: the same nodes in other segments, then fewer and more
/// nodes in the same.
pub(super) fn alternatives(board: &Board<'_>, request: &Request) -> Vec<Alternative> {
    let mut found = Vec::new();
    let segments = || divisors(request.nodes).filter(|segment| Some(*segment) != request.segment);
    found.extend(first(board, request, segments().map(|segment| (request.nodes, Some(segment)))));
    let step = request.segment.filter(|segment| *segment < request.nodes).unwrap_or(1);
    let below = request.nodes.saturating_sub(1) / step * step;
    let lower = (0..REACH).map_while(|steps| below.checked_sub(steps * step)).filter(|nodes| *nodes > 0);
    found.extend(first(board, request, lower.map(|nodes| (nodes, request.segment))));
    let higher = (1..=REACH).map(|steps| below + (steps * step)).filter(|nodes| *nodes > request.nodes);
    found.extend(first(board, request, higher.map(|nodes| (nodes, request.segment))));
    found
}

/// The first that starts now, else the first that could.
fn first(
    board: &Board<'_>,
    request: &Request,
    mut asked: impl Iterator<Item = (usize, Option<usize>)> + Clone,
) -> Option<Alternative> {
    let at = |view: View, start: Start| {
        move |(nodes, segment): (usize, Option<usize>)| {
            let other = Request { nodes, segment, ..request.clone() };
            let ask = Ask::new(&other).filter(|_| nodes > 1)?;
            board.segments(&other, ask, view).map(|_| Alternative { nodes, segment, start })
        }
    };
    let mut later = asked.clone();
    asked.find_map(at(View::Now, Start::Now)).or_else(|| later.find_map(at(View::Empty, Start::Later)))
}

/// The numbers that divide `nodes` and are smaller, largest first.
fn divisors(nodes: usize) -> impl Iterator<Item = usize> + Clone {
    (2..=nodes).filter(move |part| nodes.is_multiple_of(*part)).map(move |part| nodes / part)
}
