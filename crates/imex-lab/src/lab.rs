//! The rack itself: all of its nodes, owned.

use std::io;
use std::net::Ipv4Addr;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use imex_core::{DomainState, DomainSummary, DomainTable};
use imex_wire::{ClientError, DomainStatus, Endpoint};
use tempfile::TempDir;
use thiserror::Error;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout_at;

use crate::address::Addresses;
use crate::builder::LabBuilder;
use crate::client::ControlError;
use crate::clock::now;
use crate::layout::{Layout, NodePaths, Ownership};
use crate::process::{End, Life, NodeProcess, NodeSignal};
use crate::watch::{WatchError, ask_domain, watch_until};

/// How often a table is asked for while one waits for something in it.
const TABLE_CHECK: Duration = Duration::from_millis(50);

/// A rack of real daemons on this machine. Dropping it ends them all at once.
#[derive(Debug)]
pub struct Lab {
    // The order matters: processes end first (in `drop`), then the directory is given up, then removed.
    nodes: Vec<NodeProcess>,
    addresses: Addresses,
    layout: Layout,
    _ownership: Ownership,
    temporary: Option<TempDir>,
}

/// Why something could not be done to a node.
#[derive(Debug, Error)]
pub enum NodeError {
    /// There is no such node.
    #[error("there is no node {node}: the lab has nodes 0 to {}", nodes - 1)]
    OutOfRange {
        /// The number asked for.
        node: usize,
        /// How many nodes there are.
        nodes: usize,
    },
    /// It runs already.
    #[error("node {node} runs already (process {pid})")]
    Runs {
        /// The node.
        node: usize,
        /// Its process.
        pid: u32,
    },
    /// It does not run.
    #[error("node {node} does not run: it {end}")]
    Dead {
        /// The node.
        node: usize,
        /// How it ended.
        end: End,
    },
    /// The daemon could not be started.
    #[error("node {node} could not be started")]
    Start {
        /// The node.
        node: usize,
        /// What the system said.
        source: io::Error,
    },
    /// The signal could not be sent.
    #[error("node {node} could not be signalled")]
    Signal {
        /// The node.
        node: usize,
        /// What the system said.
        source: io::Error,
    },
}

/// Why a lab's domain did not come to a state.
#[derive(Debug, Error)]
pub enum WaitError {
    /// A node has ended, so that the domain cannot come UP.
    #[error("node {node} {end}")]
    NodeDead {
        /// The first such node.
        node: usize,
        /// How it ended.
        end: End,
    },
    /// The domain as a daemon sees it was not in that state in time.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// The lab's owner cannot be asked how its processes fare.
    #[error("the lab's owner cannot be asked")]
    Owner(#[source] ControlError),
    /// Ends of processes cannot be noticed.
    #[error("the system does not tell of ended processes")]
    Signals(#[source] io::Error),
    /// The daemon could not be asked for its table.
    #[error("the table could not be had")]
    Ask(#[from] ClientError),
}

impl Lab {
    /// A lab whose nodes run `imexd`: that program, or any that behaves like it when called by that name.
    pub fn builder(imexd: impl AsRef<Path>) -> LabBuilder {
        LabBuilder::new(imexd.as_ref())
    }

    /// Takes what the builder has prepared.
    pub(crate) fn prepared(
        layout: Layout,
        ownership: Ownership,
        addresses: Addresses,
        temporary: Option<TempDir>,
    ) -> Self {
        let nodes = (0..addresses.count()).map(|node| NodeProcess::new(layout.node(node))).collect();
        Lab { nodes, addresses, layout, _ownership: ownership, temporary }
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Where its files are.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// A node's files.
    ///
    /// # Panics
    ///
    /// If there is no such node, as the other methods that return no error.
    pub fn paths(&self, node: usize) -> &NodePaths {
        self.nodes[node].paths()
    }

    /// A node's address.
    pub fn address(&self, node: usize) -> Ipv4Addr {
        self.addresses.of(node)
    }

    /// Where a node's daemon answers commands.
    pub fn endpoint(&self, node: usize) -> Endpoint {
        Endpoint::Unix(self.paths(node).socket.clone())
    }

    /// A node's process, `None` if it does not run.
    pub fn pid(&mut self, node: usize) -> Option<u32> {
        self.life(node).pid()
    }

    /// How a node's process fares.
    pub fn life(&mut self, node: usize) -> Life {
        self.nodes[node].life()
    }

    /// How all of them fare, in order.
    pub fn lives(&mut self) -> Vec<Life> {
        self.nodes.iter_mut().map(NodeProcess::life).collect()
    }

    /// Sets a variable of a node's environment for its next start.
    pub fn set_variable(&mut self, node: usize, name: impl Into<String>, value: impl Into<String>) {
        self.nodes[node].set_variable(name.into(), value.into());
    }

    /// Starts every node that does not run, without waiting for any.
    pub fn start_all(&mut self) -> Result<(), NodeError> {
        for node in 0..self.nodes() {
            if let Life::Dead { .. } = self.life(node) {
                self.start_node(node)?;
            }
        }
        Ok(())
    }

    /// Starts a node that does not run. Returns its process id without waiting for it to do anything.
    pub fn start_node(&mut self, node: usize) -> Result<u32, NodeError> {
        let imexd = self.layout.program("imexd");
        let process = self.node_mut(node)?;
        match process.life() {
            Life::Running { pid } | Life::Stopped { pid } => Err(NodeError::Runs { node, pid }),
            Life::Dead { .. } => process.start(&imexd).map_err(|source| NodeError::Start { node, source }),
        }
    }

    /// Sends a signal to a node that runs. Returns its process id. After [`NodeSignal::Kill`] the node has ended and
    /// can be started again; the effect of the others is not waited for.
    pub fn kill(&mut self, node: usize, what: NodeSignal) -> Result<u32, NodeError> {
        let process = self.node_mut(node)?;
        match process.life() {
            Life::Dead { end } => Err(NodeError::Dead { node, end }),
            Life::Running { pid } | Life::Stopped { pid } if what == NodeSignal::Kill => {
                process.kill();
                Ok(pid)
            }
            Life::Running { pid } | Life::Stopped { pid } => match process.signal(what) {
                Ok(()) => Ok(pid),
                Err(source) => Err(NodeError::Signal { node, source }),
            },
        }
    }

    /// Waits until the first node that runs sees the domain UP. Ends early when a node's process has ended.
    pub async fn wait_up(&mut self, deadline: Duration) -> Result<DomainSummary, WaitError> {
        let mut ended = signal(SignalKind::child()).map_err(WaitError::Signals)?;
        let lives = self.lives();
        self.none_dead(&lives)?;
        let viewer = lives.iter().position(|life| matches!(life, Life::Running { .. })).unwrap_or(0);
        let endpoint = self.endpoint(viewer);
        let mut up = std::pin::pin!(watch_until(&endpoint, deadline, is_up));
        loop {
            tokio::select! {
                found = &mut up => return Ok(found?),
                _ = ended.recv() => {
                    let lives = self.lives();
                    self.none_dead(&lives)?;
                }
            }
        }
    }

    /// Waits until every node sees the domain UP.
    pub async fn wait_all_up(&mut self, deadline: Duration) -> Result<(), WaitError> {
        let end = now() + deadline;
        self.wait_up(deadline).await?;
        // One after the other: the watches of those that see it already end at once.
        for node in 0..self.nodes() {
            let left = end.saturating_duration_since(now());
            watch_until(&self.endpoint(node), left, is_up).await?;
        }
        Ok(())
    }

    /// Waits until what a node sees of the domain satisfies `hoped_for`, and returns it.
    pub async fn wait_until(
        &self,
        node: usize,
        deadline: Duration,
        hoped_for: impl Fn(&DomainSummary) -> bool,
    ) -> Result<DomainSummary, WaitError> {
        let judge = |summary| match hoped_for(&summary) {
            true => ControlFlow::Break(summary),
            false => ControlFlow::Continue(()),
        };
        Ok(watch_until(&self.endpoint(node), deadline, judge).await?)
    }

    /// Waits until the table that a node's daemon gives satisfies `hoped_for`, and returns it. It is asked for again
    /// at each change that the daemon tells, and now and then: single links change without a word.
    pub async fn wait_table(
        &self,
        node: usize,
        deadline: Duration,
        hoped_for: impl Fn(&DomainTable) -> bool,
    ) -> Result<DomainTable, WaitError> {
        let end = now() + deadline;
        let mut known = self.wait_until(node, deadline, |_| true).await?;
        loop {
            let table = self.table(node).await?.table;
            if hoped_for(&table) {
                return Ok(table);
            }
            let left = end.saturating_duration_since(now());
            let changed = self.wait_until(node, left.min(TABLE_CHECK), |summary| *summary != known).await;
            match changed {
                Ok(summary) => known = summary,
                Err(error) if left <= TABLE_CHECK => return Err(error),
                Err(_) => {}
            }
        }
    }

    /// The domain as a node's daemon knows it.
    pub async fn table(&self, node: usize) -> Result<DomainStatus, WaitError> {
        Ok(ask_domain(&self.endpoint(node)).await?)
    }

    /// Ends all nodes: gracefully within `grace`, stopped ones included, then at once. Returns how many did not end
    /// gracefully in time.
    pub async fn end(&mut self, grace: Duration) -> usize {
        let until = now() + grace;
        let ended = signal(SignalKind::child());
        for process in &mut self.nodes {
            // A node that cannot be signalled is ended below.
            drop(process.signal(NodeSignal::Term));
            drop(process.signal(NodeSignal::Cont));
        }
        if let Ok(mut ended) = ended {
            while self.alive() > 0 && timeout_at(until, ended.recv()).await.is_ok() {}
        }
        let late = self.alive();
        self.nodes.iter_mut().for_each(NodeProcess::kill);
        late
    }

    /// Keeps a temporary directory when the lab ends.
    pub fn keep(&mut self) {
        if let Some(directory) = &mut self.temporary {
            directory.disable_cleanup(true);
        }
    }

    fn alive(&mut self) -> usize {
        self.lives().iter().filter(|life| life.pid().is_some()).count()
    }

    fn none_dead(&self, lives: &[Life]) -> Result<(), WaitError> {
        for (node, life) in lives.iter().enumerate() {
            if let Life::Dead { end } = life {
                let end = end.clone();
                return Err(WaitError::NodeDead { node, end });
            }
        }
        Ok(())
    }

    fn node_mut(&mut self, node: usize) -> Result<&mut NodeProcess, NodeError> {
        let nodes = self.nodes();
        self.nodes.get_mut(node).ok_or(NodeError::OutOfRange { node, nodes })
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.nodes.iter_mut().for_each(NodeProcess::kill);
    }
}

/// Ends a watch when the domain is UP.
pub(crate) fn is_up(summary: DomainSummary) -> ControlFlow<DomainSummary> {
    match summary.state {
        DomainState::Up => ControlFlow::Break(summary),
        DomainState::Down | DomainState::Degraded => ControlFlow::Continue(()),
    }
}

impl NodeError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            NodeError::OutOfRange { .. } => "`imex lab status --dir DIR` lists the nodes",
            NodeError::Runs { .. } => "end it first with `imex lab kill K --dir DIR`",
            NodeError::Dead { .. } => "start it with `imex lab start K --dir DIR`",
            NodeError::Start { .. } => "check the limits on processes and open files",
            NodeError::Signal { .. } => "`imex lab status --dir DIR` tells how it fares",
        }
    }
}
