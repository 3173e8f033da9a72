//! What a lab's owner is asked, and what it answers: one JSON line each way over a Unix socket.
//!
//! There is no state file: the owner alone knows how its processes fare, and it is asked.

use std::net::Ipv4Addr;
use std::time::Duration;

use imex_config::chain;
use serde::{Deserialize, Serialize};

use crate::lab::NodeError;
use crate::process::{Life, NodeSignal};

/// The longest question in bytes; the longest real one has 50.
pub(crate) const MAX_REQUEST: u64 = 1024;

/// The longest answer in bytes. A node takes at most about 600, with the last words of a daemon.
pub(crate) const MAX_REPLY: u64 = 1024 * 1024;

/// How long asking, and separately answering, may take on a busy machine.
pub(crate) const DEADLINE: Duration = Duration::from_secs(5);

/// How long the nodes have to leave when a lab ends. One leaves within milliseconds; 144 that leave together on two
/// cores take some seconds, for each of them tells all others.
pub(crate) const END_GRACE: Duration = Duration::from_secs(10);

/// A question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Request {
    /// How does everything fare?
    Status,
    /// Send a signal to a node.
    Kill {
        /// Which.
        node: usize,
        /// What.
        signal: NodeSignal,
    },
    /// Start a node that has ended.
    Start {
        /// Which.
        node: usize,
    },
    /// End all nodes and the lab.
    Down,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "lowercase")]
pub(crate) enum Reply {
    /// How everything fares.
    Status(LabStatus),
    /// It is done; the process that it was done to.
    Done {
        /// The process id.
        pid: u32,
    },
    /// All nodes have ended.
    Ended {
        /// How many of them had to be killed because they did not leave in time.
        killed: usize,
    },
    /// It is not done.
    Refused(Refused),
}

/// How a lab fares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabStatus {
    /// The process that owns the daemons.
    pub pid: u32,
    /// One per node, in order.
    pub nodes: Vec<NodeReport>,
}

/// How one node fares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeReport {
    /// Its number.
    pub node: usize,
    /// Its address.
    pub address: Ipv4Addr,
    /// Its process.
    #[serde(flatten)]
    pub life: Life,
}

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The class of the reason.
    pub why: RefusedWhy,
    /// The reason.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// The classes of reasons for which something is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusedWhy {
    /// There is no such node.
    NoSuchNode,
    /// The node runs already.
    NodeRuns,
    /// The node does not run.
    NodeDead,
    /// The system would not do it.
    System,
    /// The question was not understood.
    Malformed,
}

impl From<&NodeError> for Refused {
    fn from(error: &NodeError) -> Self {
        let why = match error {
            NodeError::OutOfRange { .. } => RefusedWhy::NoSuchNode,
            NodeError::Runs { .. } => RefusedWhy::NodeRuns,
            NodeError::Dead { .. } => RefusedWhy::NodeDead,
            NodeError::Start { .. } | NodeError::Signal { .. } => RefusedWhy::System,
        };
        Refused { why, message: chain(error), hint: error.hint().to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::End;

    #[test]
    fn questions_read_as_people_would_write_them() {
        for (text, request) in [
            (r#"{"ask":"status"}"#, Request::Status),
            (
                r#"{"ask":"kill","node":3,"signal":"STOP"}"#,
                Request::Kill { node: 3, signal: NodeSignal::Stop },
            ),
            (r#"{"ask":"start","node":3}"#, Request::Start { node: 3 }),
            (r#"{"ask":"down"}"#, Request::Down),
        ] {
            assert_eq!(serde_json::from_str::<Request>(text).unwrap(), request);
            assert_eq!(serde_json::to_string(&request).unwrap(), text);
        }
        assert!(serde_json::from_str::<Request>(r#"{"ask":"kill","node":-1,"signal":"STOP"}"#).is_err());
    }

    #[test]
    fn a_node_is_one_flat_object() {
        let report = NodeReport {
            node: 2,
            address: Ipv4Addr::new(127, 1, 2, 3),
            life: Life::Dead { end: End::Killed { signal: 9 } },
        };
        let text = r#"{"node":2,"address":"127.1.2.3","process":"dead","end":"killed","signal":9}"#;
        assert_eq!(serde_json::to_string(&report).unwrap(), text);
        assert_eq!(serde_json::from_str::<NodeReport>(text).unwrap(), report);
    }
}
