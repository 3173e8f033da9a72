//! What a plan does not go by, so that nobody takes it for more than it is.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{Availability, Gres, NodeStates, Request, Sharing};

/// Something that Slurm places a job by, and the plan does not. What it says may then be wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Uncovered {
    /// The job asks for resources otherwise than for each node.
    #[error("it asks for {asked}: how many nodes of which block that takes")]
    Resources {
        /// What it asks for, in Slurm's words.
        asked: String,
    },
    /// The nodes' resources are not known.
    #[error("which nodes have {asked} is not known: give what `scontrol show nodes --json` prints")]
    NodesUnknown {
        /// What it asks for.
        asked: String,
    },
    /// The nodes that have enough have different numbers of it.
    #[error(
        "it asks for {asked}, and the nodes that will do have {counts}: Slurm then chooses by these as well"
    )]
    Unequal {
        /// What it asks for.
        asked: String,
        /// How many nodes have.
        counts: String,
    },
    /// The nodes' weights differ.
    #[error("the nodes have the weights {weights}: Slurm then chooses blocks and nodes by these as well")]
    Weights {
        /// Which ones.
        weights: String,
    },
    /// The job asks for features.
    #[error("it asks for nodes with the features {features}")]
    Features {
        /// In Slurm's words.
        features: String,
    },
    /// The job takes a range of nodes.
    #[error("it takes up to {most} nodes: the plan is for {least}")]
    Range {
        /// The fewest that it takes.
        least: usize,
        /// The most.
        most: usize,
    },
    /// Slurm's options for segments that contradict one another.
    #[error("--spread-segments and --consolidate-segments at once: the plan is for the first")]
    BothSegmentOptions,
    /// The nodes are shared with other jobs.
    #[error("jobs that share nodes: Slurm also weighs how much of each is left")]
    Shared,
    /// An option of the job that has a say in where it lands.
    #[error("{option}")]
    Option {
        /// The option.
        option: &'static str,
    },
}

/// What a plan for this request on these nodes does not go by.
pub fn uncovered(states: &NodeStates, request: &Request) -> Vec<Uncovered> {
    let mut found: Vec<Uncovered> = request.gres.iter().filter_map(|gres| unequal(states, gres)).collect();
    found.extend(weights(states, request));
    if request.sharing == Sharing::Shared {
        found.push(Uncovered::Shared);
    }
    found
}

/// A job of one node gets one of the lightest; what else weights lead to is not known.
fn weights(states: &NodeStates, request: &Request) -> Option<Uncovered> {
    let up = states.iter().filter(|node| node.availability != Availability::Down);
    let suited = up.filter(|node| states.suit(node, request));
    let weights: BTreeSet<u64> = suited.map(|node| node.weight).collect();
    (request.nodes > 1 && weights.len() > 1).then(|| Uncovered::Weights { weights: listed(&weights) })
}

fn listed(numbers: &BTreeSet<u64>) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

fn unequal(states: &NodeStates, gres: &Gres) -> Option<Uncovered> {
    let asked = gres.to_string();
    if states.iter().len() == 0 {
        return Some(Uncovered::NodesUnknown { asked });
    }
    let up = states.iter().filter(|node| node.availability != Availability::Down);
    let enough = up.filter(|node| gres.is_held(&node.gres));
    let counts: BTreeSet<u64> = enough.map(|node| gres.held(&node.gres)).collect();
    (counts.len() > 1).then(|| Uncovered::Unequal { asked, counts: listed(&counts) })
}
