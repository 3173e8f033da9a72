//! What the nodes can do: from `scontrol show nodes --json`, or from a list of those that are down.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Serialize;

use crate::model::NodeSet;
use crate::show_nodes::{self, ShownNode};
use crate::source::SourceError;

use super::gres::{self, Gres};
use super::{Request, Sharing};

/// What a node can do for a new job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Availability {
    /// No job runs on it, and it may have one.
    Free,
    /// Jobs have a part of it.
    Partly,
    /// Jobs have all of it, or one is being cleaned up after.
    Busy,
    /// It may have no job: down, drained, failing, in maintenance, powering down, not responding.
    Down,
}

impl Availability {
    /// If a job gets such a node.
    pub fn takes(self, sharing: Sharing) -> bool {
        match (self, sharing) {
            (Availability::Free, _) | (Availability::Partly, Sharing::Shared) => true,
            (Availability::Partly, Sharing::Exclusive) | (Availability::Busy | Availability::Down, _) => {
                false
            }
        }
    }

    /// From the words of Slurm's `state`: one base state and any flags. Words that are not known change nothing.
    pub fn from_words<'w>(words: impl IntoIterator<Item = &'w str>) -> Self {
        words.into_iter().map(Availability::of_word).max().unwrap_or(Availability::Down)
    }

    fn of_word(word: &str) -> Self {
        match word {
            "MIXED" => Availability::Partly,
            "ALLOCATED" | "COMPLETING" => Availability::Busy,
            "DOWN" | "DRAIN" | "ERROR" | "FAIL" | "FUTURE" | "INVALID_REG" | "MAINTENANCE"
            | "NOT_RESPONDING" | "POWERING_DOWN" | "POWER_DOWN" | "REBOOT_ISSUED" | "REBOOT_REQUESTED"
            | "UNKNOWN" => Availability::Down,
            _ => Availability::Free,
        }
    }
}

/// One node that Slurm knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeState {
    /// Its name.
    pub name: String,
    /// What it can do.
    pub availability: Availability,
    /// Slurm's `Weight`: lighter nodes are given first.
    pub weight: u64,
    /// What it has, jobs or not.
    pub gres: Vec<Gres>,
}

/// The nodes that Slurm knows, in its order. By default it is taken to know the nodes of the topology, all free.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct NodeStates {
    nodes: Vec<NodeState>,
    places: HashMap<String, usize>,
    down: NodeSet,
}

impl NodeStates {
    /// Reads what `scontrol show nodes --json` prints.
    ///
    /// # Errors
    ///
    /// If it is not JSON of that shape, or names no node.
    pub fn parse(text: &str) -> Result<Self, SourceError> {
        let shown = show_nodes::parse(text)?;
        if shown.is_empty() {
            return Err(SourceError::Nothing);
        }
        Ok(shown.into_iter().map(NodeState::from).collect())
    }

    /// With these nodes down, whatever else is known of them.
    #[must_use]
    pub fn with_down(mut self, down: NodeSet) -> Self {
        for node in &mut self.nodes {
            if down.contains(&node.name) {
                node.availability = Availability::Down;
            }
        }
        self.down = down;
        self
    }

    /// The nodes, in Slurm's order. Empty if only the topology tells which there are.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &NodeState> {
        self.nodes.iter()
    }

    /// Whether Slurm knows a node of this name; `None` if only the topology tells which there are.
    pub fn knows(&self, name: &str) -> Option<bool> {
        (!self.nodes.is_empty()).then(|| self.places.contains_key(name))
    }

    /// If a node has what each node of a request must have. If no nodes were given, all have.
    pub(super) fn suit(&self, node: &NodeState, request: &Request) -> bool {
        self.nodes.is_empty() || request.gres.iter().all(|gres| gres.is_held(&node.gres))
    }

    /// A node's place in Slurm's order and what is known of it. A node that Slurm does not know is not there; if no nodes
    /// were given, the node has the place `otherwise`.
    pub(super) fn find(&self, name: &str, otherwise: usize) -> Option<(usize, Cow<'_, NodeState>)> {
        if self.nodes.is_empty() {
            let down = self.down.contains(name);
            let availability = if down { Availability::Down } else { Availability::Free };
            return Some((otherwise, Cow::Owned(NodeState::plain(name, availability))));
        }
        let place = *self.places.get(name)?;
        Some((place, Cow::Borrowed(&self.nodes[place])))
    }
}

impl FromIterator<NodeState> for NodeStates {
    fn from_iter<I: IntoIterator<Item = NodeState>>(nodes: I) -> Self {
        let nodes: Vec<NodeState> = nodes.into_iter().collect();
        let places = nodes.iter().enumerate().map(|(place, node)| (node.name.clone(), place)).collect();
        NodeStates { nodes, places, down: NodeSet::default() }
    }
}

impl NodeState {
    /// A node of which nothing else is known.
    pub fn plain(name: &str, availability: Availability) -> Self {
        NodeState { name: name.to_owned(), availability, weight: show_nodes::one(), gres: Vec::new() }
    }
}

impl From<ShownNode> for NodeState {
    fn from(shown: ShownNode) -> Self {
        let availability = Availability::from_words(shown.state.iter().map(String::as_str));
        // A resource that cannot be read is one that no job can ask for here.
        let gres = gres::list(&shown.gres).unwrap_or_default();
        NodeState { name: shown.name, availability, weight: shown.weight, gres }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gravest_word_of_a_state_counts() {
        let cases: [(&[&str], Availability); 9] = [
            (&["IDLE"], Availability::Free),
            (&["IDLE", "DRAIN"], Availability::Down),
            (&["MIXED"], Availability::Partly),
            (&["ALLOCATED"], Availability::Busy),
            (&["IDLE", "COMPLETING"], Availability::Busy),
            (&["ALLOCATED", "DRAIN"], Availability::Down),
            (&["IDLE", "CLOUD", "POWERED_DOWN"], Availability::Free),
            (&["IDLE", "SOMETHING_NEW"], Availability::Free),
            (&[], Availability::Down),
        ];
        for (words, availability) in cases {
            assert_eq!(Availability::from_words(words.iter().copied()), availability, "{words:?}");
        }
    }

    #[test]
    fn nodes_keep_the_order_of_slurm() {
        let text = r#"{"nodes":[{"name":"b","state":["IDLE"],"weight":7,"gres":"gpu:4"},{"name":"a","state":["DOWN"]}]}"#;
        let states = NodeStates::parse(text).unwrap();
        let find = |name| states.find(name, 9).map(|(place, node)| (place, node.availability, node.weight));
        assert_eq!(find("b"), Some((0, Availability::Free, 7)));
        assert_eq!(find("a"), Some((1, Availability::Down, 1)));
        assert_eq!(find("c"), None);
    }

    #[test]
    fn what_is_not_a_list_of_nodes_is_refused() {
        assert!(matches!(NodeStates::parse("{}"), Err(SourceError::Json { .. })));
        assert!(matches!(NodeStates::parse(r#"{"nodes":[]}"#), Err(SourceError::Nothing)));
    }
}
