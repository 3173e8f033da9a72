//! One node of a domain.

use std::collections::BTreeSet;
use std::sync::Arc;

use thiserror::Error;

use crate::{
    Action, DomainSummary, Hello, Input, InstanceId, LinkReport, LinkState, Moment, NodeId, NodeMap,
    NodeState, QuorumMode, Timing,
};

/// What a node starts from.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The node map.
    pub map: NodeMap,
    /// This daemon's introduction; it names the node, its instance and its domain.
    pub hello: Arc<Hello>,
    /// Whom to wait for.
    pub quorum: QuorumMode,
    /// The nodes that had imported from this one when its last run ended uncleanly.
    pub importers: BTreeSet<NodeId>,
    /// The intervals.
    pub timing: Timing,
    /// Whether peers must authenticate.
    pub security: bool,
    /// Where the jitter of the retries starts: different on every node.
    pub seed: u64,
}

/// Why a machine cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SetupError {
    /// The introduction names a node that the map does not have.
    #[error("node {node} is not in the map, which has {len} entries")]
    NotInMap {
        /// The node.
        node: NodeId,
        /// The length of the map.
        len: usize,
    },
    /// The introduction has the digest of another map.
    #[error("the introduction belongs to another node map")]
    OtherMap,
}

/// One node of a domain: its links, its state, and what it knows of the others.
#[derive(Debug)]
pub struct Machine {}

impl Machine {
    /// A node that has not started; the first input is [`Input::Start`].
    pub fn new(_setup: Setup) -> Result<Self, SetupError> {
        todo!()
    }

    /// Takes in something that happened.
    pub fn handle(&mut self, _input: Input, _now: Moment) {
        todo!()
    }

    /// Lets time pass: does what is due at `now`.
    pub fn handle_timeout(&mut self, _now: Moment) {
        todo!()
    }

    /// When [`Machine::handle_timeout`] is to be called at the latest, and why, in a word for the log.
    pub fn poll_timeout(&self) -> Option<(Moment, &'static str)> {
        todo!()
    }

    /// The next thing to do, until there is none.
    pub fn poll_action(&mut self) -> Option<Action> {
        todo!()
    }

    /// This node's state.
    pub fn state(&self) -> NodeState {
        todo!()
    }

    /// The domain as this node knows it. Costs the same for any number of nodes.
    pub fn domain(&self) -> DomainSummary {
        todo!()
    }

    /// This node's row: one report per node of the map, in order.
    pub fn row(&self, _now: Moment) -> Vec<LinkReport> {
        todo!()
    }

    /// One cell of this node's row.
    pub fn link(&self, _peer: NodeId) -> LinkState {
        todo!()
    }

    /// The instance with which this node's link to `peer` is connected, if it is.
    pub fn linked_instance(&self, _peer: NodeId) -> Option<InstanceId> {
        todo!()
    }

    /// The instance of `peer` whose own link to this node has been admitted and confirmed, if there is one.
    pub fn admitted_instance(&self, _peer: NodeId) -> Option<InstanceId> {
        todo!()
    }

    /// This daemon's introduction.
    pub fn hello(&self) -> &Arc<Hello> {
        todo!()
    }

    /// The node map.
    pub fn map(&self) -> &NodeMap {
        todo!()
    }

    /// Counts up with every change that an outsider could see: of the state, of the row, of the domain.
    pub fn changes(&self) -> u64 {
        todo!()
    }
}
