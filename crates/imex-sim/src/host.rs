//! A host: one address, what is configured there, and whichever daemon runs.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use imex_core::action::CleanUpReason;
use imex_core::hello::Introduction;
use imex_core::{
    BootId, DomainToken, Grace, Hello, InstanceId, Machine, Moment, NodeId, NodeMap, NodeState, QuorumMode,
};

use crate::Address;
use crate::event::Event;
use crate::invariants::Pair;
use crate::stream::StreamKey;

/// Which node map lies on a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum MapChoice {
    /// All hosts in the order of their addresses.
    #[default]
    Right,
    /// The first two entries exchanged: the same nodes, two of them with other ids.
    Swapped,
    /// Without the last entry (on the last host: without the first, so that all ids shift).
    Short,
    /// With one more entry, an address at which there is no host.
    Long,
}

/// What is configured on a host. A change takes effect at the daemon's next start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The node map.
    pub map: MapChoice,
    /// Which domain the daemon belongs to.
    pub token: u8,
    /// Which driver version runs.
    pub driver: u8,
    /// Whom the daemon waits for.
    pub quorum: QuorumMode,
    /// How long it waits for a lost peer.
    pub grace: Grace,
    /// Whether its peers must prove who they are, and it to them.
    pub security: bool,
    /// Which authority its credentials come from, and whose it believes.
    pub authority: u8,
}

impl Config {
    /// This configuration with everything that must agree between the members of a domain as it is by default.
    pub fn repaired(self) -> Self {
        Config { map: MapChoice::Right, token: 0, driver: 0, authority: 0, ..self }
    }

    /// Whether two daemons with these configurations belong together.
    pub fn agrees_with(&self, other: &Config) -> bool {
        self.map == other.map
            && self.token == other.token
            && self.driver == other.driver
            && self.security == other.security
            && (!self.security || self.authority == other.authority)
    }
}

/// A node map and the addresses behind its entries.
#[derive(Clone, Debug)]
pub(crate) struct MapFile {
    pub(crate) nodes: NodeMap,
    /// Where each node lives; an address beyond the last host has nobody.
    pub(crate) addresses: Arc<[Address]>,
}

impl MapFile {
    /// The map that a host has.
    pub(crate) fn make(choice: MapChoice, hosts: usize, own: Address) -> Self {
        let mut addresses: Vec<Address> = (0..hosts).map(Address::at).collect();
        match choice {
            MapChoice::Right => {}
            MapChoice::Swapped if hosts > 1 => addresses.swap(0, 1),
            MapChoice::Short if hosts > 1 && own.index() == hosts - 1 => drop(addresses.remove(0)),
            MapChoice::Short if hosts > 1 => drop(addresses.pop()),
            MapChoice::Swapped | MapChoice::Short => {}
            MapChoice::Long => addresses.push(Address::at(hosts)),
        }
        let entry = |a: &Address| format!("10.0.{}.{}", a.number() >> 8, a.number() & 0xFF);
        MapFile {
            nodes: NodeMap::new(addresses.iter().map(entry)).expect("the addresses are distinct and few"),
            addresses: addresses.into(),
        }
    }

    pub(crate) fn address(&self, node: NodeId) -> Option<Address> {
        self.addresses.get(node.index()).copied()
    }

    pub(crate) fn node_at(&self, address: Address) -> Option<NodeId> {
        let index = self.addresses.iter().position(|&a| a == address)?;
        u16::try_from(index).ok().map(NodeId::new)
    }
}

/// One run of a daemon, kept after its end.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) hello: Arc<Hello>,
    pub(crate) config: Config,
    pub(crate) map: MapFile,
    /// Who had imported from the run before it.
    pub(crate) importers: BTreeSet<NodeId>,
    /// Whether it was told to leave.
    pub(crate) leaving: bool,
}

/// A clean-up that a daemon asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanUpSeen {
    /// When.
    pub at: Moment,
    /// By which run at the address, from 0.
    pub run: u32,
    /// The peer.
    pub peer: NodeId,
    /// Its instance.
    pub instance: InstanceId,
    /// Why.
    pub reason: CleanUpReason,
}

/// A running daemon.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) machine: Machine,
    pub(crate) run: u32,
    pub(crate) paused: bool,
    /// What came while it was paused.
    pub(crate) inbox: VecDeque<Event>,
    /// The earliest time for which an [`Event::Wake`] is in the queue.
    pub(crate) wake: Option<Moment>,
    /// The newest dialled stream to each node.
    pub(crate) dialled: Vec<StreamKey>,
    /// The one before it, which is in use until the newest is up.
    pub(crate) kept: Vec<StreamKey>,
    /// Accepted streams by serial.
    pub(crate) accepted: Vec<StreamKey>,
    /// What is known to be true of each peer.
    pub(crate) pairs: Vec<Pair>,
    /// Whether this node sees the domain UP.
    pub(crate) sees_up: bool,
    /// Its state after the last event.
    pub(crate) was: NodeState,
    /// The second that `wakes` counts in.
    pub(crate) second: u64,
    /// How often time was passed to it in that second.
    pub(crate) wakes: u32,
}

/// What a host's disk holds for the next run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Disk {
    pub(crate) importers: BTreeSet<NodeId>,
    pub(crate) map: MapChoice,
}

/// One host.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) config: Config,
    /// Whether its kernel answers.
    pub(crate) powered: bool,
    pub(crate) process: Option<Process>,
    pub(crate) runs: Vec<Run>,
    pub(crate) disk: Disk,
    pub(crate) clean_ups: Vec<CleanUpSeen>,
    pub(crate) tables: Vec<(u64, imex_core::DomainTable)>,
}

impl Host {
    pub(crate) fn new(config: Config) -> Self {
        Host {
            config,
            powered: true,
            process: None,
            runs: Vec::new(),
            disk: Disk::default(),
            clean_ups: Vec::new(),
            tables: Vec::new(),
        }
    }

    /// The running daemon, if it is this run.
    pub(crate) fn process_of(&mut self, run: u32) -> Option<&mut Process> {
        self.process.as_mut().filter(|process| process.run == run)
    }

    pub(crate) fn is_running(&self, run: u32) -> bool {
        self.process.as_ref().is_some_and(|process| process.run == run)
    }
}

/// The introduction of a run.
pub(crate) fn introduce(config: Config, map: &MapFile, node: NodeId, instance: InstanceId) -> Arc<Hello> {
    let introduction = Introduction {
        protocol: imex_core::hello::PROTOCOL_VERSION,
        software: "sim".into(),
        driver: match config.driver {
            0 => Hello::NO_GPU.into(),
            other => format!("{other}.0").into(),
        },
        node,
        instance,
        boot: BootId::default(),
        digest: map.nodes.digest(),
        token: match config.token {
            0 => DomainToken::default(),
            other => DomainToken::new(&format!("job-{other}")).expect("short and printable"),
        },
        host: "".into(),
    };
    Arc::new(Hello::check(introduction).expect("within all bounds"))
}

/// An instance id that tells which run it is of: `mixed` in the upper half, so that instances do not sort by age.
pub(crate) fn instance_id(mixed: u64, address: Address, run: u32) -> InstanceId {
    InstanceId::new(u128::from(mixed) << 64 | u128::from(address.number()) << 32 | u128::from(run))
}

/// The run of an instance id made by [`instance_id`].
pub(crate) fn run_of(instance: InstanceId) -> (Address, u32) {
    let low = instance.number() & u128::from(u64::MAX);
    let address = u16::try_from(low >> 32 & 0xFFFF).expect("16 bits");
    let run = u32::try_from(low & 0xFFFF_FFFF).expect("32 bits");
    (Address::new(address), run)
}
