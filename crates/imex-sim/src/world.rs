//! A simulated cluster: hosts, a network between them, and time.
//!
//! One event at a time is taken from the queue, handed to one daemon, what the daemon asks for is performed, and the
//! [invariants](crate::invariants) are checked for the daemon and the peers that the event touched. Nothing in here
//! depends on anything but the [`Plan`] and the [`Operation`]s that are applied.

mod deliver;
mod operate;
mod perform;
mod quiet;
mod watch;

use std::time::Duration;

use imex_core::{Input, InstanceId, LinkState, Machine, Moment, NodeId, Timing};

use crate::event::{Done, Event, Packet, Told};
use crate::host::{CleanUpSeen, Config, Host, MapFile};
use crate::invariants::{Invariant, Violation};
use crate::log::{Keep, Line, Log};
use crate::network::{Delay, Network};
use crate::operation::Operation;
use crate::stream::{Side, StreamKey, Streams};
use crate::{Address, Chance, MapChoice};

/// What a world is made from.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How many hosts there are, at least 1; their addresses are the numbers below.
    pub hosts: usize,
    /// Where all chance comes from.
    pub seed: u64,
    /// What is configured on every host at first.
    pub config: Config,
    /// The intervals of every daemon; the grace time is taken from [`Config::grace`].
    pub timing: Timing,
    /// How long packets take.
    pub delay: Delay,
    /// How much of the run is kept.
    pub keep: Keep,
}

impl Plan {
    /// A rack of `hosts` hosts with everything as it is by default.
    pub fn new(hosts: usize, seed: u64) -> Self {
        Plan {
            hosts,
            seed,
            config: Config::default(),
            timing: Timing::default(),
            delay: Delay::RACK,
            keep: Keep::Nothing,
        }
    }
}

/// How much has happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events taken from the queue.
    pub events: u64,
    /// Dials.
    pub dials: u64,
    /// Messages between members, without the hellos.
    pub messages: u64,
    /// Those of them that were reports.
    pub reports: u64,
    /// How often time was passed to a daemon.
    pub timeouts: u64,
    /// Clean-ups.
    pub clean_ups: u64,
}

/// A simulated cluster.
#[derive(Debug)]
pub struct World {
    now: Moment,
    timing: Timing,
    chance: Chance,
    queue: crate::time::EventQueue<Event>,
    network: Network,
    streams: Streams,
    hosts: Vec<Host>,
    right_map: MapFile,
    log: Log,
    counts: Counts,
    sees_up: usize,
    tickets: u64,
    touched: Vec<NodeId>,
    /// Who dialled the stream that the present event is the first message of, and which run of it.
    confirmed: Option<(NodeId, u32)>,
}

impl World {
    /// A cluster in which no daemon runs yet.
    ///
    /// # Panics
    ///
    /// If there is no host, or there are more than a node map has entries.
    pub fn new(plan: Plan) -> Self {
        let mut chance = Chance::new(plan.seed);
        World {
            now: Moment::ZERO,
            timing: plan.timing,
            chance: chance.fork(),
            queue: crate::time::EventQueue::new(),
            network: Network::new(plan.delay),
            streams: Streams::default(),
            hosts: (0..plan.hosts).map(|_| Host::new(plan.config)).collect(),
            right_map: MapFile::make(MapChoice::Right, plan.hosts, Address::new(0)),
            log: Log::new(plan.keep),
            counts: Counts::default(),
            sees_up: 0,
            tickets: 0,
            touched: Vec::new(),
            confirmed: None,
        }
    }

    /// The present.
    pub fn now(&self) -> Moment {
        self.now
    }

    /// The intervals of the daemons, but for the grace time.
    pub fn timing(&self) -> Timing {
        self.timing
    }

    /// All addresses.
    pub fn addresses(&self) -> impl ExactSizeIterator<Item = Address> + use<> {
        (0..self.hosts.len()).map(Address::at)
    }

    /// How much has happened so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What was recorded.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Takes out what was recorded since the last time.
    pub fn take_lines(&mut self) -> impl Iterator<Item = Line> + use<> {
        self.log.take().into_iter()
    }

    /// The daemon at an address, if one runs.
    pub fn machine(&self, address: Address) -> Option<&Machine> {
        self.hosts[address.index()].process.as_ref().map(|process| &process.machine)
    }

    /// What is configured at an address.
    pub fn config(&self, address: Address) -> Config {
        self.hosts[address.index()].config
    }

    /// The instance of a run at an address, counted from 0, if there has been such a run.
    pub fn instance(&self, address: Address, run: usize) -> Option<InstanceId> {
        self.hosts[address.index()].runs.get(run).map(|run| run.hello.instance())
    }

    /// All clean-ups that daemons at an address have asked for.
    pub fn clean_ups(&self, address: Address) -> &[CleanUpSeen] {
        &self.hosts[address.index()].clean_ups
    }

    /// All tables with which daemons at an address have answered, with their tickets.
    pub fn tables(&self, address: Address) -> &[(u64, imex_core::DomainTable)] {
        &self.hosts[address.index()].tables
    }

    /// A cell of the From→To table; INVALID if no daemon runs at `from`.
    pub fn link(&self, from: Address, to: NodeId) -> LinkState {
        self.machine(from).map_or(LinkState::Invalid, |machine| machine.link(to))
    }

    /// Whether a daemon runs on every host and sees the domain UP.
    pub fn is_up_everywhere(&self) -> bool {
        self.sees_up == self.hosts.len()
    }

    /// Lets everything happen that happens until `limit`.
    pub fn run_until(&mut self, limit: Moment) -> Result<(), Box<Violation>> {
        while let Some((at, event)) = self.queue.pop_until(limit) {
            self.now = at;
            self.happen(event)?;
        }
        self.now = limit;
        Ok(())
    }

    /// Lets everything happen that happens within `span`.
    pub fn run_for(&mut self, span: Duration) -> Result<(), Box<Violation>> {
        self.run_until(self.now + span)
    }

    /// Goes on until every host sees the domain UP, for `span` at most. Returns the time that it took.
    pub fn run_until_up(&mut self, span: Duration) -> Result<Option<Duration>, Box<Violation>> {
        let begin = self.now;
        while !self.is_up_everywhere() {
            let Some((at, event)) = self.queue.pop_until(begin + span) else {
                return Ok(None);
            };
            self.now = at;
            self.happen(event)?;
        }
        Ok(Some(self.now.since(begin)))
    }

    /// Does something to the cluster from outside. What does not apply (to start what runs, to kill what does not) is
    /// left alone, so that a part of a schedule is a schedule too.
    pub fn apply(&mut self, operation: &Operation) -> Result<(), Box<Violation>> {
        self.log.write(self.now, None, format_args!("== {operation}"));
        self.operate(operation)
    }

    fn happen(&mut self, event: Event) -> Result<(), Box<Violation>> {
        self.counts.events += 1;
        self.confirmed = None;
        match event {
            Event::Wake { address, run } => self.wake(address, run),
            Event::Packet { stream, toward, packet } => self.arrive(stream, toward, packet),
            Event::Done { address, run, what } => self.done(address, run, what),
        }
    }

    fn done(&mut self, address: Address, run: u32, what: Done) -> Result<(), Box<Violation>> {
        let Some(process) = self.hosts[address.index()].process_of(run) else {
            return Ok(());
        };
        if process.paused {
            process.inbox.push_back(Event::Done { address, run, what });
            return Ok(());
        }
        let input = match what {
            Done::AuthServer => Input::AuthServerReady,
            Done::Gpu => Input::GpuReady,
        };
        self.hand(address, input)
    }

    fn wake(&mut self, address: Address, run: u32) -> Result<(), Box<Violation>> {
        let now = self.now;
        let Some(process) = self.hosts[address.index()].process_of(run) else {
            return Ok(());
        };
        // An entry that an earlier one has overtaken; the earlier one has looked after it.
        if process.wake != Some(now) {
            return Ok(());
        }
        if process.paused {
            process.inbox.push_back(Event::Wake { address, run });
            return Ok(());
        }
        process.wake = None;
        if process.machine.poll_timeout().is_some_and(|(at, _)| at <= now) {
            self.counts.timeouts += 1;
            process.machine.handle_timeout(now);
            self.count_wake(address)?;
            self.settle(address, None)
        } else {
            self.arm(address);
            Ok(())
        }
    }

    /// Hands an input to the daemon at an address, performs what it asks for, and checks the invariants.
    fn hand(&mut self, address: Address, input: Input) -> Result<(), Box<Violation>> {
        self.log.write(self.now, Some(address), format_args!("< {}", Told(&input)));
        let about = peer_of(&input);
        let quiet = self.must_change_nothing(address, &input);
        let Some(process) = self.hosts[address.index()].process.as_mut() else {
            return Ok(());
        };
        process.machine.handle(input, self.now);
        self.settle(address, about)?;
        match quiet {
            Some(before) => self.check_unchanged(address, before),
            None => Ok(()),
        }
    }

    /// Performs what a daemon asks for, checks the invariants, and arms its timer.
    fn settle(&mut self, address: Address, about: Option<NodeId>) -> Result<(), Box<Violation>> {
        self.touched.clear();
        self.touched.extend(about);
        let mut actions = 0;
        let bound = self.most_actions();
        while let Some(process) = self.hosts[address.index()].process.as_mut() {
            let Some(action) = process.machine.poll_action() else {
                break;
            };
            actions += 1;
            if actions > bound {
                let detail = format!("more than {bound} actions after one input");
                return Err(self.violation(Invariant::WorkIsBounded, address, detail));
            }
            self.perform(address, action)?;
        }
        self.check(address)?;
        self.arm(address);
        Ok(())
    }

    /// What one input may ask for at most: for each peer a close, a dial, a clean-up, two messages, and their notes;
    /// and a few things that are about no peer.
    fn most_actions(&self) -> usize {
        10 * (self.hosts.len() + 1) + 32
    }

    /// Sees to it that a wake-up is in the queue no later than the daemon's next timeout.
    fn arm(&mut self, address: Address) {
        let Some(process) = self.hosts[address.index()].process.as_mut() else {
            return;
        };
        let Some((at, _)) = process.machine.poll_timeout() else {
            return;
        };
        let at = at.max(self.now);
        if process.wake.is_none_or(|wake| at < wake) {
            process.wake = Some(at);
            let run = process.run;
            self.queue.push(at, Event::Wake { address, run });
        }
    }

    /// Puts a packet on the wire.
    fn send(&mut self, key: StreamKey, toward: Side, packet: Packet) {
        let stream = self.streams.get(key);
        let (from, to) = (stream.end(toward.other()).address, stream.end(toward).address);
        let wire = self.network.wire(from, to);
        match wire.cut {
            None => self.launch(key, toward, packet, wire),
            Some(crate::network::Cut::Silent) if matches!(packet, Packet::Dial) => {}
            Some(crate::network::Cut::Silent) => {
                self.streams.get_mut(key).travelling += 1;
                let held = crate::network::Held { stream: key, toward, packet };
                self.network.hold(from, to, held);
            }
            Some(crate::network::Cut::Reject) => {
                let why = imex_core::cause::Unreachable::NoRoute;
                self.launch(key, toward.other(), Packet::End(why), wire);
            }
        }
    }

    /// Lets a packet arrive after the delay of its wire, never before one that was sent earlier on its stream.
    fn launch(&mut self, key: StreamKey, toward: Side, packet: Packet, wire: crate::network::Wire) {
        let again = matches!(packet, Packet::Message(_)) && self.chance.permille(self.network.duplicates);
        let copies = if again { 2 } else { 1 };
        for packet in std::iter::repeat_n(packet, copies) {
            let arrival = self.now + self.network.draw_delay(wire, &mut self.chance);
            let stream = self.streams.get_mut(key);
            stream.travelling += 1;
            let end = stream.end_mut(toward);
            end.latest = end.latest.max(arrival);
            let event = Event::Packet { stream: key, toward, packet };
            self.queue.push(end.latest, event);
        }
    }
}

/// Whom an input is about.
fn peer_of(input: &Input) -> Option<NodeId> {
    match input {
        Input::DialFailed { peer, .. }
        | Input::Reached { peer, .. }
        | Input::AuthenticationStarted { peer, .. }
        | Input::Answered { peer, .. } => Some(*peer),
        Input::Arrived { hello, .. } => Some(hello.node()),
        Input::Received { stream, .. } | Input::Closed { stream, .. } => Some(stream.peer()),
        Input::Start
        | Input::AuthServerReady
        | Input::GpuReady
        | Input::ImportersChanged(_)
        | Input::TableAsked { .. }
        | Input::Redial
        | Input::TellReload
        | Input::Leave => None,
    }
}
