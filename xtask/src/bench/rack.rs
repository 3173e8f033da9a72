//! A rack under measurement: real daemons, and a listener on each.

use std::ops::Range;
use std::time::Duration;

use imex_lab::{Lab, NodeSignal};
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;

use super::error::BenchError;
use super::program;
use super::watchers::{Awaited, NOT_UP, UP, Watchers};

/// The longest that anything may take before a measurement is given up: several times what is to be reached at 144
/// nodes.
const LIMIT: Duration = Duration::from_secs(90);

/// How long a rack is left alone before an event: longer than the longest wait between two tries of a dial, so that
/// nothing is still on its way and the retries are as slow as they get.
const SETTLE: Duration = Duration::from_secs(4);

/// A lab with everything that a measurement needs.
///
/// It drives its own single-threaded runtime: daemons end with the thread that started them, and one thread disturbs
/// the daemons' cores least.
pub(super) struct Rack {
    lab: Lab,
    watchers: Watchers,
    runtime: Runtime,
}

impl Rack {
    /// Everything made, nothing started.
    pub(super) fn prepare(nodes: usize) -> Result<Self, BenchError> {
        Rack::of(Lab::builder(program("imexd")).nodes(nodes).prepare()?)
    }

    /// A lab that is made, with nothing started.
    pub(super) fn of(lab: Lab) -> Result<Self, BenchError> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(BenchError::Runtime)?;
        let watchers = runtime.block_on(async { Watchers::listen(&lab) });
        Ok(Rack { lab, watchers, runtime })
    }

    /// All nodes running, each seeing the domain UP, and at rest.
    pub(super) fn up(nodes: usize) -> Result<Self, BenchError> {
        let mut rack = Rack::prepare(nodes)?;
        rack.start_all()?;
        rack.rest();
        Ok(rack)
    }

    pub(super) fn lab(&mut self) -> &mut Lab {
        &mut self.lab
    }

    /// Lets time pass while the listeners listen.
    pub(super) fn pass(&mut self, time: Duration) {
        self.runtime.block_on(async { sleep(time).await });
    }

    /// Lets the rack come to rest.
    pub(super) fn rest(&mut self) {
        self.pass(SETTLE);
    }

    /// Starts all nodes; how long until every daemon sees UP.
    pub(super) fn start_all(&mut self) -> Result<Duration, BenchError> {
        let event = self.watchers.now();
        self.lab.start_all()?;
        self.all_say(&self.every_node(), event, UP)
    }

    /// Starts one node; how long until every daemon sees UP.
    pub(super) fn start(&mut self, node: usize) -> Result<Duration, BenchError> {
        let event = self.watchers.now();
        self.lab.start_node(node)?;
        self.all_say(&self.every_node(), event, UP)
    }

    /// Signals one node; how long until every other daemon sees that the domain is not UP.
    pub(super) fn lose(&mut self, node: usize, signal: NodeSignal) -> Result<Duration, BenchError> {
        let event = self.watchers.now();
        self.lab.kill(node, signal)?;
        self.all_say(&self.all_but(node), event, NOT_UP)
    }

    /// Does something to the network; how long until every daemon but one sees that the domain is not UP.
    pub(super) fn lose_by(
        &mut self,
        node: usize,
        cut: impl FnOnce() -> Result<(), BenchError>,
    ) -> Result<Duration, BenchError> {
        let event = self.watchers.now();
        cut()?;
        self.all_say(&self.all_but(node), event, NOT_UP)
    }

    /// Signals some nodes, without waiting for anything.
    pub(super) fn signal(&mut self, nodes: Range<usize>, signal: NodeSignal) -> Result<(), BenchError> {
        for node in nodes {
            self.lab.kill(node, signal)?;
        }
        Ok(())
    }

    /// Waits until every daemon's newest word is that the domain is UP.
    pub(super) fn await_up(&mut self) -> Result<(), BenchError> {
        let nodes = self.every_node();
        self.runtime.block_on(self.watchers.all_know(&nodes, UP, LIMIT))
    }

    /// Waits until `nodes` daemons, which are all but the last few, see each other READY.
    pub(super) fn await_ready(&mut self, nodes: usize) -> Result<(), BenchError> {
        // The count cannot be part of a plain function, so it is compared here with what a daemon counts.
        let lab = &self.lab;
        let ready = async {
            for node in 0..nodes {
                lab.wait_until(node, LIMIT, |summary| summary.ready == nodes).await?;
            }
            Ok(())
        };
        self.runtime.block_on(ready)
    }

    fn all_say(
        &mut self,
        nodes: &[usize],
        event: Duration,
        awaited: Awaited,
    ) -> Result<Duration, BenchError> {
        self.runtime.block_on(self.watchers.all_say(nodes, event, awaited, LIMIT))
    }

    fn every_node(&self) -> Vec<usize> {
        (0..self.lab.nodes()).collect()
    }

    fn all_but(&self, node: usize) -> Vec<usize> {
        (0..self.lab.nodes()).filter(|&other| other != node).collect()
    }
}
