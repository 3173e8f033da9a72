//! A node on the workbench: node 0 of three, with the others played by the test.

use super::*;
use crate::AuthFailure;

/// A machine, its clock, and what it asked for since the last look.
pub(super) struct BenchNode {
    pub(super) machine: Machine,
    pub(super) now: Moment,
    pub(super) serial: u32,
}

impl BenchNode {
    pub(super) fn with(change: impl FnOnce(&mut Setup)) -> Self {
        let map = NodeMap::new(["a", "b", "c"]).unwrap();
        let mut setup = Setup {
            hello: Arc::new(Hello::check(introduction(&map, 0, 100)).unwrap()),
            map,
            quorum: QuorumMode::Recovery,
            importers: BTreeSet::new(),
            timing: Timing::default(),
            security: false,
            seed: 1,
        };
        change(&mut setup);
        let machine = Machine::new(setup).unwrap();
        BenchNode { machine, now: Moment::after(Duration::from_secs(1)), serial: 0 }
    }

    /// Node 0 of a large map.
    pub(super) fn of_many(nodes: u16) -> Self {
        Self::with(|setup| {
            setup.map = NodeMap::new((0..nodes).map(|n| format!("node-{n}"))).unwrap();
            setup.hello = far_hello(&setup.map, 0, 100);
        })
    }

    /// A started node without quorum to wait for, its dials under way.
    pub(super) fn started() -> Self {
        let mut bench = Self::with(|_| {});
        bench.put(Input::Start);
        bench.put(Input::GpuReady);
        bench
    }

    /// A started node that is connected both ways with itself and with instance `10 × id` of the others.
    pub(super) fn up(change: impl FnOnce(&mut Setup)) -> Self {
        let mut bench = Self::with(change);
        bench.put(Input::Start);
        // Without security it has no meaning.
        bench.put(Input::AuthServerReady);
        bench.put(Input::GpuReady);
        for (peer, instance) in [(0, 100), (1, 10), (2, 20)] {
            bench.answer(peer, instance);
            bench.arrive_and_confirm(peer, instance);
        }
        bench.actions();
        bench
    }

    pub(super) fn put(&mut self, input: Input) {
        self.machine.handle(input, self.now);
    }

    /// Lets time pass and everything that falls due happen on its moment.
    pub(super) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some((at, _)) = self.machine.poll_timeout().filter(|(at, _)| *at <= end) {
            self.now = at.max(self.now);
            self.machine.handle_timeout(self.now);
        }
        self.now = end;
    }

    /// Lets time pass while these peers answer every ping and send their own.
    pub(super) fn pass_hearing(&mut self, peers: &[u16], time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.pass(Duration::from_millis(100).min(end.since(self.now)));
            for peer in peers {
                let accepted = self.machine.peers[usize::from(*peer)].accepted.as_ref().map(|a| a.serial);
                self.say(self.dialled(*peer), PeerMessage::Pong(0));
                if let Some(serial) = accepted {
                    self.say(StreamId::Accepted { peer: node(*peer), serial }, PeerMessage::Ping(0));
                }
            }
        }
    }

    pub(super) fn answer(&mut self, peer: u16, instance: u128) {
        let hello = far_hello(self.machine.map(), peer, instance);
        self.answer_with(peer, Answer::Hello(hello));
    }

    pub(super) fn answer_with(&mut self, peer: u16, answer: Answer) {
        let attempt = self.attempt(peer);
        self.put(Input::Answered { peer: node(peer), attempt, answer });
    }

    pub(super) fn fail_dial(&mut self, peer: u16) {
        let why = DialFailure::Unreachable(Unreachable::PortClosed);
        let attempt = self.attempt(peer);
        self.put(Input::DialFailed { peer: node(peer), attempt, why });
    }

    pub(super) fn reach(&mut self, peer: u16) {
        let attempt = self.attempt(peer);
        self.put(Input::Reached { peer: node(peer), attempt });
    }

    pub(super) fn begin_authentication(&mut self, peer: u16) {
        let attempt = self.attempt(peer);
        self.put(Input::AuthenticationStarted { peer: node(peer), attempt });
    }

    pub(super) fn fail_authentication(&mut self, peer: u16, why: AuthFailure) {
        let attempt = self.attempt(peer);
        self.put(Input::DialFailed { peer: node(peer), attempt, why: DialFailure::Unauthenticated(why) });
    }

    pub(super) fn arrive(&mut self, peer: u16, instance: u128) -> StreamId {
        self.serial += 1;
        let hello = far_hello(self.machine.map(), peer, instance);
        self.put(Input::Arrived { serial: self.serial, hello, source: Source::Matches });
        StreamId::Accepted { peer: node(peer), serial: self.serial }
    }

    pub(super) fn arrive_and_confirm(&mut self, peer: u16, instance: u128) -> StreamId {
        let stream = self.arrive(peer, instance);
        self.say(stream, report(1, NodeState::Ready, 0));
        stream
    }

    pub(super) fn say(&mut self, stream: StreamId, message: PeerMessage) {
        self.put(Input::Received { stream, message });
    }

    /// The far end of the dialled stream closes it.
    pub(super) fn reset(&mut self, peer: u16) {
        let stream = self.dialled(peer);
        self.put(Input::Closed { stream, why: Closure::Reset });
    }

    pub(super) fn dialled(&self, peer: u16) -> StreamId {
        StreamId::Dialled { peer: node(peer), attempt: self.attempt(peer) }
    }

    pub(super) fn attempt(&self, peer: u16) -> u32 {
        self.machine.peers[usize::from(peer)].attempt
    }

    pub(super) fn actions(&mut self) -> Vec<Action> {
        std::iter::from_fn(|| self.machine.poll_action()).collect()
    }

    pub(super) fn letters(&self) -> String {
        self.machine.row(self.now).iter().map(|link| link.state.letter()).collect::<Vec<_>>().join(" ")
    }

    pub(super) fn clean_ups(&mut self) -> Vec<(u16, u128, CleanUpReason)> {
        let clean_up = |action| {
            let Action::CleanUp { peer, instance, reason } = action else { return None };
            Some((peer.number(), instance.number(), reason))
        };
        self.actions().into_iter().filter_map(clean_up).collect()
    }

    pub(super) fn dials(&mut self) -> Vec<u16> {
        let dial = |action| {
            let Action::Dial { peer, .. } = action else { return None };
            Some(peer.number())
        };
        self.actions().into_iter().filter_map(dial).collect()
    }
}

pub(super) fn node(number: u16) -> NodeId {
    NodeId::new(number)
}

pub(super) fn report(number: u64, state: NodeState, missing: u16) -> PeerMessage {
    PeerMessage::Report(Report { number, state, missing })
}

pub(super) fn far_hello(map: &NodeMap, peer: u16, instance: u128) -> Arc<Hello> {
    Arc::new(Hello::check(introduction(map, peer, instance)).unwrap())
}

pub(super) fn introduction(map: &NodeMap, peer: u16, instance: u128) -> Introduction {
    Introduction {
        protocol: PROTOCOL_VERSION,
        software: "0.1.0".into(),
        driver: Hello::NO_GPU.into(),
        node: node(peer),
        instance: InstanceId::new(instance),
        boot: BootId::default(),
        digest: map.digest(),
        token: DomainToken::default(),
        host: format!("host-{peer}").into(),
    }
}
