//! A node's life from start to end.
//!
//! ```text
//! INITIALIZING ─► [STARTING_AUTH_SERVER] ─► [WAITING_FOR_PEERS | WAITING_FOR_RECOVERY] ─► INIT_GPU ─► READY
//!       └──────────────────────┴────────────────────────┴─────────────────────────────────┴───────────┴─► SHUTTING_DOWN
//! ```
//!
//! States in brackets are passed only where the configuration asks for them. A quorum that was reached once is not
//! taken back: the links tell what is missing.

use crate::NodeState;
use crate::quorum::QuorumVerdict;

/// What can happen to a node as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LifeEvent {
    /// Files are read, the port is bound, and peers must authenticate.
    StartedSecure,
    /// Files are read and the port is bound.
    Started(QuorumVerdict),
    /// Security is set up.
    AuthServerReady(QuorumVerdict),
    /// The links changed.
    Quorum(QuorumVerdict),
    /// The GPU driver is attached.
    GpuReady,
    /// The node was told to leave.
    Left,
}

/// The state after an event. An event that has no meaning in a state changes nothing.
pub(crate) fn after(state: NodeState, event: LifeEvent) -> NodeState {
    use LifeEvent::{AuthServerReady, GpuReady, Left, Quorum, Started, StartedSecure};
    match (state, event) {
        (NodeState::Initializing, StartedSecure) => NodeState::StartingAuthServer,
        (NodeState::Initializing, Started(verdict)) => waiting(verdict),
        (NodeState::Initializing, AuthServerReady(_) | Quorum(_) | GpuReady) => state,

        (NodeState::StartingAuthServer, AuthServerReady(verdict)) => waiting(verdict),
        (NodeState::StartingAuthServer, StartedSecure | Started(_) | Quorum(_) | GpuReady) => state,

        (NodeState::WaitingForPeers | NodeState::WaitingForRecovery, Quorum(verdict)) => waiting(verdict),
        (
            NodeState::WaitingForPeers | NodeState::WaitingForRecovery,
            StartedSecure | Started(_) | AuthServerReady(_) | GpuReady,
        ) => state,

        (NodeState::InitGpu, GpuReady) => NodeState::Ready,
        (NodeState::InitGpu, StartedSecure | Started(_) | AuthServerReady(_) | Quorum(_)) => state,

        (NodeState::Ready, StartedSecure | Started(_) | AuthServerReady(_) | Quorum(_) | GpuReady) => state,

        (
            NodeState::ShuttingDown | NodeState::Unavailable,
            StartedSecure | Started(_) | AuthServerReady(_) | Quorum(_) | GpuReady | Left,
        ) => state,

        (
            NodeState::Initializing
            | NodeState::StartingAuthServer
            | NodeState::WaitingForPeers
            | NodeState::WaitingForRecovery
            | NodeState::InitGpu
            | NodeState::Ready,
            Left,
        ) => NodeState::ShuttingDown,
    }
}

fn waiting(verdict: QuorumVerdict) -> NodeState {
    match verdict {
        QuorumVerdict::Reached => NodeState::InitGpu,
        QuorumVerdict::AwaitPeers => NodeState::WaitingForPeers,
        QuorumVerdict::AwaitImporters => NodeState::WaitingForRecovery,
    }
}

#[cfg(test)]
mod tests {
    use super::LifeEvent::{AuthServerReady, GpuReady, Left, Quorum, Started, StartedSecure};
    use super::*;
    use crate::quorum::QuorumVerdict::{AwaitImporters, AwaitPeers, Reached};

    const EVENTS: [LifeEvent; 12] = [
        StartedSecure,
        Started(Reached),
        Started(AwaitPeers),
        Started(AwaitImporters),
        AuthServerReady(Reached),
        AuthServerReady(AwaitPeers),
        AuthServerReady(AwaitImporters),
        Quorum(Reached),
        Quorum(AwaitPeers),
        Quorum(AwaitImporters),
        GpuReady,
        Left,
    ];

    /// One line per state in the order of [`NodeState::ALL`], one column per event: the number of the next state.
    const TABLE: [&str; 8] = [
        "1 4 2 3 0 0 0 0 0 0 0 6",
        "1 1 1 1 4 2 3 1 1 1 1 6",
        "2 2 2 2 2 2 2 4 2 3 2 6",
        "3 3 3 3 3 3 3 4 2 3 3 6",
        "4 4 4 4 4 4 4 4 4 4 5 6",
        "5 5 5 5 5 5 5 5 5 5 5 6",
        "6 6 6 6 6 6 6 6 6 6 6 6",
        "7 7 7 7 7 7 7 7 7 7 7 7",
    ];

    #[test]
    fn every_pair_of_state_and_event_is_as_tabled() {
        for (state, line) in NodeState::ALL.into_iter().zip(TABLE) {
            let found: Vec<String> = EVENTS.into_iter().map(|event| number(after(state, event))).collect();
            assert_eq!(found.join(" "), line, "{state}");
        }
    }

    fn number(state: NodeState) -> String {
        NodeState::ALL.iter().position(|s| *s == state).unwrap().to_string()
    }
}
