//! What is done to the cluster from outside.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use imex_core::{Input, Machine, NodeId, NodeState, PeerMessage, Setup};

use super::World;
use super::perform::Ending;
use crate::event::{Event, Packet};
use crate::host::{MapFile, Process, Run, instance_id, introduce};
use crate::invariants::{Pair, Violation};
use crate::operation::Operation;
use crate::stream::{Side, Stage, StreamKey};
use crate::{Address, MapChoice};

impl World {
    /// Performs an operation; one that names no host of this world is left alone.
    pub(super) fn operate(&mut self, operation: &Operation) -> Result<(), Box<Violation>> {
        match *operation {
            Operation::Start(a) if self.has(a) => return self.start(a),
            Operation::Kill(a) if self.has(a) => self.end_process(a, Ending::Told),
            Operation::PowerOff(a) if self.has(a) => self.power_off(a),
            Operation::Leave(a) if self.has(a) => return self.leave(a),
            Operation::Pause(a) if self.has(a) => self.pause(a),
            Operation::Continue(a) if self.has(a) => self.go_on(a),
            Operation::Redial(a) if self.has(a) => return self.hand_if_running(a, Input::Redial),
            Operation::AskTable(a) if self.has(a) => {
                self.tickets += 1;
                let ticket = self.tickets;
                return self.hand_if_running(a, Input::TableAsked { ticket });
            }
            Operation::Cut(a, b, cut) => self.network.change(a, b, |wire| wire.cut = Some(cut)),
            Operation::Join(a, b) => {
                self.network.change(a, b, |wire| wire.cut = None);
                self.release_held();
            }
            Operation::Slow(a, b, ms) => {
                let slower = Duration::from_millis(ms.into());
                self.network.change(a, b, |wire| wire.slower = slower);
            }
            Operation::Duplicate(permille) => self.network.duplicates = permille,
            Operation::Sever(a, b) if self.has(a) && self.has(b) => self.sever(a, b),
            Operation::StaleNotice(a, b) if self.has(a) && self.has(b) => self.stale_notice(a, b),
            Operation::Heal => {
                self.network.heal();
                self.release_held();
            }
            Operation::Map(a, choice) if self.has(a) => self.hosts[a.index()].config.map = choice,
            Operation::Authority(a, authority) if self.has(a) => {
                self.hosts[a.index()].config.authority = authority;
            }
            Operation::Token(a, token) if self.has(a) => self.hosts[a.index()].config.token = token,
            Operation::Driver(a, driver) if self.has(a) => self.hosts[a.index()].config.driver = driver,
            Operation::Quorum(a, mode) if self.has(a) => self.hosts[a.index()].config.quorum = mode,
            Operation::Grace(a, grace) if self.has(a) => self.hosts[a.index()].config.grace = grace,
            Operation::Importers(a, ref nodes) if self.has(a) => {
                let nodes = nodes.iter().copied().map(NodeId::new).collect();
                return self.hand_if_running(a, Input::ImportersChanged(nodes));
            }
            Operation::Start(_)
            | Operation::Kill(_)
            | Operation::PowerOff(_)
            | Operation::Leave(_)
            | Operation::Pause(_)
            | Operation::Continue(_)
            | Operation::Redial(_)
            | Operation::AskTable(_)
            | Operation::Sever(..)
            | Operation::StaleNotice(..)
            | Operation::Map(..)
            | Operation::Authority(..)
            | Operation::Token(..)
            | Operation::Driver(..)
            | Operation::Quorum(..)
            | Operation::Grace(..)
            | Operation::Importers(..) => {}
        }
        Ok(())
    }

    fn has(&self, address: Address) -> bool {
        address.index() < self.hosts.len()
    }

    /// Hands an input to a daemon that runs and is not stopped.
    fn hand_if_running(&mut self, address: Address, input: Input) -> Result<(), Box<Violation>> {
        match &self.hosts[address.index()].process {
            Some(process) if !process.paused => self.hand(address, input),
            Some(_) | None => Ok(()),
        }
    }

    fn start(&mut self, address: Address) -> Result<(), Box<Violation>> {
        let host = &mut self.hosts[address.index()];
        host.powered = true;
        if host.process.is_some() {
            return Ok(());
        }
        let run = self.new_run(address);
        let len = run.map.nodes.len();
        let machine = self.new_machine(&run);
        let host = &mut self.hosts[address.index()];
        host.process = Some(Process {
            machine,
            run: next_number(&host.runs),
            paused: false,
            inbox: VecDeque::new(),
            wake: None,
            dialled: vec![StreamKey::NONE; len],
            kept: vec![StreamKey::NONE; len],
            accepted: Vec::new(),
            pairs: vec![Pair::default(); len],
            sees_up: false,
            was: NodeState::Initializing,
            second: 0,
            wakes: 0,
        });
        host.runs.push(run);
        self.hand(address, Input::Start)
    }

    /// A run with what is configured on a host now.
    fn new_run(&mut self, address: Address) -> Run {
        let mixed = self.chance.number();
        let host = &self.hosts[address.index()];
        let config = host.config;
        let map = match config.map {
            MapChoice::Right => self.right_map.clone(),
            MapChoice::Swapped | MapChoice::Short | MapChoice::Long => {
                MapFile::make(config.map, self.hosts.len(), address)
            }
        };
        let node = map.node_at(address).expect("every map of a host names the host");
        // A record of importers made with another map is void (reference: NVIDIA IMEX guide, chapter on recovery).
        let importers =
            if host.disk.map == config.map { host.disk.importers.clone() } else { BTreeSet::new() };
        Run {
            hello: introduce(config, &map, node, instance_id(mixed, address, next_number(&host.runs))),
            config,
            map,
            importers,
            leaving: false,
        }
    }

    fn new_machine(&mut self, run: &Run) -> Machine {
        let setup = Setup {
            map: run.map.nodes.clone(),
            hello: Arc::clone(&run.hello),
            quorum: run.config.quorum,
            importers: run.importers.clone(),
            timing: imex_core::Timing { grace: run.config.grace, ..self.timing },
            security: run.config.security,
            seed: self.chance.number(),
        };
        Machine::new(setup).expect("the hello was made from this map")
    }

    fn power_off(&mut self, address: Address) {
        self.end_process(address, Ending::Silent);
        self.hosts[address.index()].powered = false;
        for held in self.network.forget_sent_by(address) {
            self.streams.get_mut(held.stream).travelling -= 1;
            self.streams.release_if_over(held.stream);
        }
    }

    fn leave(&mut self, address: Address) -> Result<(), Box<Violation>> {
        let host = &mut self.hosts[address.index()];
        match &host.process {
            Some(process) if !process.paused => host.runs[process.run as usize].leaving = true,
            Some(_) | None => return Ok(()),
        }
        self.hand(address, Input::Leave)
    }

    fn pause(&mut self, address: Address) {
        if let Some(process) = self.hosts[address.index()].process.as_mut() {
            process.paused = true;
        }
    }

    fn go_on(&mut self, address: Address) {
        // Whether a daemon hears its timer or its peers first is chance.
        let timer_first = self.chance.permille(500);
        let now = self.now;
        let Some(process) = self.hosts[address.index()].process.as_mut() else {
            return;
        };
        process.paused = false;
        let (timer, packets): (Vec<_>, Vec<_>) =
            process.inbox.drain(..).partition(|event| matches!(event, Event::Wake { .. }));
        if !timer.is_empty() {
            process.wake = Some(now);
        }
        let (first, second) = if timer_first { (timer, packets) } else { (packets, timer) };
        for event in first.into_iter().chain(second) {
            self.queue.push(now, event);
        }
    }

    fn release_held(&mut self) {
        for ((from, to), held) in self.network.release() {
            let stream = self.streams.get_mut(held.stream);
            stream.travelling -= 1;
            let wire = self.network.wire(from, to);
            self.launch(held.stream, held.toward, held.packet, wire);
        }
    }

    fn stale_notice(&mut self, from: Address, to: Address) {
        let earlier = self.hosts[from.index()].runs.iter().rev().nth(1).map(|run| run.hello.instance());
        let (Some(instance), Some(process)) = (earlier, &self.hosts[to.index()].process) else {
            return;
        };
        let open = |key: &&StreamKey| {
            **key != StreamKey::NONE && {
                let stream = self.streams.get(**key);
                stream.acceptor.address == from && stream.stage == Stage::Established
            }
        };
        if let Some(key) = process.dialled.iter().find(open).copied() {
            let notice = Packet::Message(PeerMessage::Leaving { instance });
            self.launch(key, Side::Dialler, notice, crate::network::Wire::default());
        }
    }

    fn sever(&mut self, a: Address, b: Address) {
        let why = imex_core::cause::Unreachable::Broken;
        for (from, to) in [(a, b), (b, a)] {
            let Some(process) = &self.hosts[from.index()].process else {
                continue;
            };
            let open =
                |key: &&StreamKey| **key != StreamKey::NONE && self.streams.get(**key).acceptor.address == to;
            for key in process.dialled.iter().chain(&process.kept).filter(open).copied().collect::<Vec<_>>() {
                for toward in [Side::Dialler, Side::Acceptor] {
                    self.launch(key, toward, Packet::End(why), crate::network::Wire::default());
                }
            }
        }
    }
}

fn next_number(runs: &[Run]) -> u32 {
    u32::try_from(runs.len()).expect("fewer than 2^32 runs")
}
