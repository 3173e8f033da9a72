//! The states that tools parse: exactly these words and letters.
//!
//! Words and letters are those of NVIDIA's service (DCGM field 1503 for nodes, the legend of `nvidia-imex-ctl -N` for
//! links, DCGM field 1502 for domains); scripts and monitors compare them.

use std::fmt;

/// Where a node is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeState {
    /// From process start until its files are read and its port is bound.
    Initializing,
    /// Setting up security before peers may connect.
    StartingAuthServer,
    /// Quorum FULL: waiting for a link to every node.
    WaitingForPeers,
    /// Quorum RECOVERY after an unclean end: waiting for the nodes that had imported from this one.
    WaitingForRecovery,
    /// Attaching to the GPU driver.
    InitGpu,
    /// Serving.
    Ready,
    /// Leaving: peers are being told, nothing new is accepted.
    ShuttingDown,
    /// Given by a viewer to a node that does not answer; a daemon is never in it.
    Unavailable,
}

impl NodeState {
    /// Every state, in the order of DCGM's numbers.
    pub const ALL: [NodeState; 8] = [
        NodeState::Initializing,
        NodeState::StartingAuthServer,
        NodeState::WaitingForPeers,
        NodeState::WaitingForRecovery,
        NodeState::InitGpu,
        NodeState::Ready,
        NodeState::ShuttingDown,
        NodeState::Unavailable,
    ];

    /// The word, as `imexctl -q` prints it.
    pub const fn word(self) -> &'static str {
        match self {
            NodeState::Initializing => "INITIALIZING",
            NodeState::StartingAuthServer => "STARTING_AUTH_SERVER",
            NodeState::WaitingForPeers => "WAITING_FOR_PEERS",
            NodeState::WaitingForRecovery => "WAITING_FOR_RECOVERY",
            NodeState::InitGpu => "INIT_GPU",
            NodeState::Ready => "READY",
            NodeState::ShuttingDown => "SHUTTING_DOWN",
            NodeState::Unavailable => "UNAVAILABLE",
        }
    }
}

impl fmt::Display for NodeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// What one node sees of its own directed connection to another: a cell of the From→To table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkState {
    /// The viewer could not ask the node whose cell this is; a daemon never has it in its own row.
    Invalid,
    /// No connection since start.
    NeverConnected,
    /// Lost; what came from the peer is not yet cleaned up.
    Recovering,
    /// Lost, and cleaned up.
    Disconnected,
    /// Mutual authentication is under way.
    Authenticating,
    /// The peer runs another version; nothing is exchanged.
    VersionMismatch,
    /// The peer has another node map, or is not the node that the map has at its address; nothing is exchanged.
    MapMismatch,
    /// Connected and ready for use.
    Connected,
}

impl LinkState {
    /// Every state, in the order of the legend.
    pub const ALL: [LinkState; 8] = [
        LinkState::Invalid,
        LinkState::NeverConnected,
        LinkState::Recovering,
        LinkState::Disconnected,
        LinkState::Authenticating,
        LinkState::VersionMismatch,
        LinkState::MapMismatch,
        LinkState::Connected,
    ];

    /// The letters of the text table.
    pub const fn letter(self) -> &'static str {
        match self {
            LinkState::Invalid => "I",
            LinkState::NeverConnected => "N",
            LinkState::Recovering => "R",
            LinkState::Disconnected => "D",
            LinkState::Authenticating => "A",
            LinkState::VersionMismatch => "!V!",
            LinkState::MapMismatch => "!M!",
            LinkState::Connected => "C",
        }
    }

    /// The word of the JSON table.
    pub const fn word(self) -> &'static str {
        match self {
            LinkState::Invalid => "INVALID",
            LinkState::NeverConnected => "NEVER_CONNECTED",
            LinkState::Recovering => "RECOVERING",
            LinkState::Disconnected => "DISCONNECTED",
            LinkState::Authenticating => "AUTHENTICATING",
            LinkState::VersionMismatch => "VERSION_MISMATCH",
            LinkState::MapMismatch => "MAP_MISMATCH",
            LinkState::Connected => "CONNECTED",
        }
    }
}

impl fmt::Display for LinkState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// What the nodes of a map add up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DomainState {
    /// Every configured node is READY and every ordered pair, the diagonal included, is connected.
    Up,
    /// No configured node is READY.
    Down,
    /// Anything between.
    Degraded,
}

impl DomainState {
    /// Every state.
    pub const ALL: [DomainState; 3] = [DomainState::Up, DomainState::Down, DomainState::Degraded];

    /// The state of a domain of `nodes` nodes of which so many are READY and so many have a complete row.
    pub const fn of(nodes: usize, ready: usize, complete: usize) -> Self {
        if ready == 0 {
            DomainState::Down
        } else if ready == nodes && complete == nodes {
            DomainState::Up
        } else {
            DomainState::Degraded
        }
    }

    /// The word, as the last line of `imexctl -N` has it.
    pub const fn word(self) -> &'static str {
        match self {
            DomainState::Up => "UP",
            DomainState::Down => "DOWN",
            DomainState::Degraded => "DEGRADED",
        }
    }
}

impl fmt::Display for DomainState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}
