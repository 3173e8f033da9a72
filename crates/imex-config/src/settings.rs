//! What the files mean on this machine: everything a daemon needs to know before it opens a port.

use std::net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::path::PathBuf;
use std::time::Duration;

use imex_core::{DomainToken, NodeId, NodeMap, QuorumMode, Timing};

use crate::nodes::NodeAddress;
use crate::security::Security;

/// A daemon's settings, all judged.
///
/// Made by [`crate::load()`]; one per daemon, read once at its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The domain's nodes.
    pub map: NodeMap,
    /// The same entries, parsed, in the same order.
    pub addresses: Vec<NodeAddress>,
    /// Which of them this machine is.
    pub node: NodeId,
    /// Where peers are listened for.
    pub bind: Bind,
    /// The TCP port for peers, the same on every node; 0 takes any free one, which only makes sense in tests.
    pub port: u16,
    /// Whom the daemon waits for at its start.
    pub quorum: QuorumMode,
    /// Intervals of the peer protocol, with the grace time; paced for the map's length unless the file sets them.
    pub timing: Timing,
    /// How peers prove who they are.
    pub security: Security,
    /// Where questions are answered.
    pub command: Command,
    /// Where and what is logged.
    pub log: Log,
    /// Where statistics go.
    pub stats: Stats,
    /// Whether to detach. Under systemd's notify protocol the daemon stays in the foreground whatever this says.
    pub process: Process,
    /// The file that remembers who imports from this node.
    pub persist: PathBuf,
    /// Which of the domains with this map.
    pub token: DomainToken,
}

/// The address for peers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bind {
    /// The address. Always a local one.
    pub address: IpAddr,
    /// For a link-local IPv6 address the index of its interface, else 0. Peers' link-local addresses that name no
    /// interface are reached by the same one.
    pub scope_id: u32,
    /// The interface that has the address.
    pub interface: String,
}

impl Bind {
    /// The address with a port, for `bind`.
    pub fn socket_addr(&self, port: u16) -> SocketAddr {
        socket_addr(self.address, port, self.scope_id)
    }
}

impl CommandTcp {
    /// The address with the port, for `bind`; `None` means all interfaces.
    pub fn socket_addr(&self) -> Option<SocketAddr> {
        self.bind.map(|address| socket_addr(address, self.port, self.scope_id))
    }
}

fn socket_addr(address: IpAddr, port: u16, scope_id: u32) -> SocketAddr {
    match address {
        IpAddr::V4(address) => SocketAddrV4::new(address, port).into(),
        IpAddr::V6(address) => SocketAddrV6::new(address, port, 0, scope_id).into(),
    }
}

/// The command service: read-only questions about this node and its domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The Unix socket; always served.
    pub socket: PathBuf,
    /// Its permission bits, at most 0777.
    pub socket_mode: u32,
    /// The TCP service, if it is asked for.
    pub tcp: Option<CommandTcp>,
}

/// The command service over TCP. It asks nobody who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandTcp {
    /// The address; `None` means all interfaces, by IPv6 and IPv4.
    pub bind: Option<IpAddr>,
    /// For a link-local IPv6 address the index of its interface, else 0. A control tool's settings have 0.
    pub scope_id: u32,
    /// The port; `imexctl -N` asks other nodes on the same one. 0 takes any free one, for tests.
    pub port: u16,
}

/// The log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// What is written; the rest is kept in memory for SIGHUP.
    pub level: LogLevel,
    /// Where to.
    pub destination: LogDestination,
    /// What happens to a file from an earlier run.
    pub start: LogStart,
    /// When a file is full, in bytes; at least 1 MiB.
    pub max_size: u64,
    /// How many full files are kept; 0 means that logging stops when the file is full.
    pub rotate_count: u32,
    /// Where SIGHUP writes what `level` held back.
    pub verbose_file: PathBuf,
}

/// How much is logged. A level includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// What ends the daemon.
    Critical,
    /// What failed.
    Error,
    /// What may fail.
    Warning,
    /// What happened.
    Info,
}

/// Where the log goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogDestination {
    /// To a file; if it cannot be opened, to standard error.
    File(PathBuf),
    /// To standard error.
    Stderr,
    /// To the system's log.
    Syslog,
}

/// What happens to a log file that is already there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogStart {
    /// It is continued.
    Append,
    /// It is emptied.
    Overwrite,
}

/// The statistics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Where to.
    pub destination: StatsDestination,
    /// How often; at least 1 s.
    pub interval: Duration,
}

/// Where statistics go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatsDestination {
    /// To a file of their own; if it cannot be opened, to standard error.
    File(PathBuf),
    /// To the log's file: both keys name the same one.
    Log,
    /// To standard error.
    Stderr,
}

/// How the daemon runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// In the foreground.
    Foreground,
    /// Detached, once it is ready to be detached.
    Daemon,
}

/// What the command line says instead of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `-p`: instead of `SERVER_PORT`.
    pub port: Option<u16>,
}
