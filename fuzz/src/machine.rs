//! Whatever happens to a node, in whatever order.
//!
//! The bytes are read as a script of inputs. Many of them could not come from an honest driver or peer: answers to dials
//! that were never made, streams closed twice, hellos that contradict each other, rows of any length, time standing still.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use imex_core::cause::{AuthFailure, Unreachable, Violation};
use imex_core::hello::Introduction;
use imex_core::input::{Answer, Closure, DialFailure, Source, StreamId};
use imex_core::message::Report;
use imex_core::{
    Action, BootId, Cause, DomainToken, Grace, Hello, Input, InstanceId, LinkReport, LinkState, Machine,
    MapDigest, Moment, NodeId, NodeMap, NodeState, PeerMessage, QuorumMode, Refusal, Setup, Timing,
};
use libfuzzer_sys::arbitrary::{Result, Unstructured};

/// Enough for a third party to every pair.
const NODES: u16 = 4;

/// The most actions that one input may cause: a small number per peer, and a small number besides.
const MOST_ACTIONS: usize = 64 + 16 * NODES as usize;

/// The most inputs of one script; more find nothing that these do not.
const MOST_INPUTS: usize = 512;

/// A machine takes any sequence of inputs without a panic, answers each with a bounded number of actions, never asks to
/// be woken at a time that it has just been given, and always shows a row and a summary that fit its map.
pub fn machine(bytes: &[u8]) {
    // A script that ends in the middle of an input is a script without that input.
    let _ = play(&mut Script(Unstructured::new(bytes)));
}

fn play(script: &mut Script<'_>) -> Result<()> {
    let mut node = Node::new(script)?;
    node.handle(Input::Start);
    for _ in 0..MOST_INPUTS {
        match script.below(8)? {
            0 => node.pass(Duration::from_millis(script.0.arbitrary::<u16>()?.into())),
            1 => node.pass_to_timeout(),
            _ => node.handle(script.input(&node.dialled)?),
        }
    }
    Ok(())
}

/// A machine and what a driver keeps beside it.
struct Node {
    machine: Machine,
    now: Moment,
    /// The newest dial to each peer, so that scripts hit live streams often.
    dialled: Vec<u32>,
}

impl Node {
    fn new(script: &mut Script<'_>) -> Result<Self> {
        let setup = script.setup()?;
        let machine = Machine::new(setup).expect("the script's own hello fits its map");
        Ok(Node { machine, now: Moment::ZERO, dialled: vec![0; NODES.into()] })
    }

    fn handle(&mut self, input: Input) {
        self.machine.handle(input, self.now);
        self.check();
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
        self.machine.handle_timeout(self.now);
        self.check();
        if let Some((due, why)) = self.machine.poll_timeout() {
            assert!(due > self.now, "what was due ({why}) has been done");
        }
    }

    fn pass_to_timeout(&mut self) {
        let due = self.machine.poll_timeout().map_or(self.now, |(due, _)| due);
        self.pass(due.since(self.now));
    }

    fn check(&mut self) {
        for count in 0.. {
            assert!(count < MOST_ACTIONS, "the actions of one input are bounded");
            match self.machine.poll_action() {
                Some(Action::Dial { peer, attempt }) => self.dialled[peer.index()] = attempt,
                Some(_) => {}
                None => break,
            }
        }
        assert_eq!(self.machine.row(self.now).len(), usize::from(NODES));
        let domain = self.machine.domain();
        assert_eq!(domain.nodes, usize::from(NODES));
        assert!(domain.ready <= domain.nodes && domain.complete <= domain.nodes);
    }
}

/// Bytes read as inputs.
struct Script<'a>(Unstructured<'a>);

impl Script<'_> {
    fn below(&mut self, end: u8) -> Result<u8> {
        if self.0.is_empty() {
            return Err(libfuzzer_sys::arbitrary::Error::NotEnoughData);
        }
        Ok(self.0.arbitrary::<u8>()? % end)
    }

    fn setup(&mut self) -> Result<Setup> {
        let node = NodeId::new(self.below(4)?.into());
        let quorum = [QuorumMode::None, QuorumMode::Recovery, QuorumMode::Full][usize::from(self.below(3)?)];
        let grace = match self.below(3)? {
            0 => Grace::Forever,
            seconds => Grace::For(Duration::from_secs(u64::from(seconds) - 1)),
        };
        let hello = hello(Introduction { node, ..introduction() });
        let importers = self.nodes()?;
        let timing = Timing { grace, ..Timing::default() };
        let security = self.below(2)? == 1;
        Ok(Setup { map: map(), hello, quorum, importers, timing, security, seed: self.below(255)?.into() })
    }

    fn input(&mut self, dialled: &[u32]) -> Result<Input> {
        Ok(match self.below(15)? {
            14 => {
                let (peer, attempt) = self.dial(dialled)?;
                Input::Reached { peer, attempt }
            }
            0 => Input::AuthServerReady,
            1 => Input::GpuReady,
            2 => {
                let (peer, attempt) = self.dial(dialled)?;
                Input::DialFailed { peer, attempt, why: self.dial_failure()? }
            }
            3 => {
                let (peer, attempt) = self.dial(dialled)?;
                Input::AuthenticationStarted { peer, attempt }
            }
            4 | 5 => {
                let (peer, attempt) = self.dial(dialled)?;
                Input::Answered { peer, attempt, answer: self.answer()? }
            }
            6 | 7 => Input::Arrived {
                serial: self.below(32)?.into(),
                hello: self.hello()?,
                source: self.source()?,
            },
            8 | 9 => Input::Received { stream: self.stream(dialled)?, message: self.message()? },
            10 => Input::Closed { stream: self.stream(dialled)?, why: self.closure()? },
            11 => Input::ImportersChanged(self.nodes()?),
            12 => Input::TableAsked { ticket: self.below(40)?.into() },
            _ => match self.below(16)? {
                0 => Input::Leave,
                1 => Input::Start,
                _ => Input::Redial,
            },
        })
    }

    /// A node of the map.
    fn peer(&mut self) -> Result<NodeId> {
        Ok(NodeId::new(u16::from(self.below(255)?) % NODES))
    }

    /// A node that may not be in the map.
    fn claimed(&mut self) -> Result<NodeId> {
        Ok(NodeId::new(match self.below(8)? {
            7 => self.0.arbitrary()?,
            node => node.into(),
        }))
    }

    fn nodes(&mut self) -> Result<BTreeSet<NodeId>> {
        let bits = self.below(64)?;
        Ok((0..6).filter(|bit| bits >> bit & 1 == 1).map(NodeId::new).collect())
    }

    /// A dial that was made, mostly.
    fn dial(&mut self, dialled: &[u32]) -> Result<(NodeId, u32)> {
        let peer = self.peer()?;
        let attempt = match self.below(4)? {
            0 => self.below(8)?.into(),
            _ => dialled[peer.index()],
        };
        Ok((peer, attempt))
    }

    fn stream(&mut self, dialled: &[u32]) -> Result<StreamId> {
        Ok(if self.below(2)? == 0 {
            let (peer, attempt) = self.dial(dialled)?;
            StreamId::Dialled { peer, attempt }
        } else {
            StreamId::Accepted { peer: self.claimed()?, serial: self.below(32)?.into() }
        })
    }

    fn hello(&mut self) -> Result<Arc<Hello>> {
        let mut said = introduction();
        said.node = self.claimed()?;
        said.instance = InstanceId::new(self.below(4)?.into());
        said.boot = BootId::new(self.below(2)?.into());
        match self.below(12)? {
            0 => said.protocol = self.0.arbitrary()?,
            1 => said.driver = "580.1".into(),
            2 => said.digest = MapDigest::from_bytes([7; 32]),
            3 => said.token = DomainToken::new("other").expect("a short word is a token"),
            _ => {}
        }
        Ok(hello(said))
    }

    fn source(&mut self) -> Result<Source> {
        Ok([Source::Matches, Source::Matches, Source::Unknown, Source::Differs][usize::from(self.below(4)?)])
    }

    fn answer(&mut self) -> Result<Answer> {
        Ok(match self.below(12)? {
            0 => Answer::Refusal(Refusal::Version { by: self.hello()? }),
            1 => {
                let entries = ["a".to_owned(), "x".to_owned()].into();
                Answer::Refusal(Refusal::Map {
                    by: self.hello()?,
                    entries,
                    len: self.0.arbitrary::<u16>()?.into(),
                })
            }
            2 => Answer::Refusal(Refusal::NotAtItsAddress { by: self.hello()? }),
            3 => Answer::Refusal(Refusal::OtherDomain),
            4 => Answer::Refusal(Refusal::EndedInstance),
            5 => Answer::Refusal(Refusal::Leaving),
            6 => Answer::Refusal(Refusal::Unproven),
            _ => Answer::Hello(self.hello()?),
        })
    }

    fn dial_failure(&mut self) -> Result<DialFailure> {
        Ok(match self.below(5)? {
            0 => DialFailure::NameUnknown,
            3 => DialFailure::Unauthenticated(AuthFailure::Expired),
            1 => DialFailure::Violation(Violation::NoHello),
            2 => DialFailure::Unreachable(Unreachable::TimedOut),
            _ => DialFailure::Unreachable(Unreachable::PortClosed),
        })
    }

    fn closure(&mut self) -> Result<Closure> {
        Ok(if self.below(3)? == 0 { Closure::Violation(Violation::Malformed) } else { Closure::Reset })
    }

    fn message(&mut self) -> Result<PeerMessage> {
        Ok(match self.below(9)? {
            8 => PeerMessage::Reload,
            0 => PeerMessage::Ping(self.0.arbitrary()?),
            1 => PeerMessage::Pong(self.0.arbitrary()?),
            2 => PeerMessage::Leaving { instance: InstanceId::new(self.below(4)?.into()) },
            3 => PeerMessage::RowRequest { question: self.0.arbitrary()? },
            4 => PeerMessage::Row {
                question: self.below(8)?.into(),
                state: self.state()?,
                links: self.links()?,
            },
            _ => PeerMessage::Report(Report {
                number: self.below(8)?.into(),
                state: self.state()?,
                missing: self.claimed()?.number(),
            }),
        })
    }

    fn state(&mut self) -> Result<NodeState> {
        const STATES: [NodeState; 4] =
            [NodeState::Ready, NodeState::WaitingForPeers, NodeState::ShuttingDown, NodeState::Unavailable];
        Ok(STATES[usize::from(self.below(4)?)])
    }

    /// A row of any length: a peer decides what it sends.
    fn links(&mut self) -> Result<Vec<LinkReport>> {
        let connected = LinkReport { state: LinkState::Connected, cause: None, since: Duration::MAX };
        let lost =
            LinkReport { state: LinkState::Disconnected, cause: Some(Cause::Silent), since: Duration::ZERO };
        (0..self.below(7)?)
            .map(|_| Ok(if self.below(2)? == 0 { connected.clone() } else { lost.clone() }))
            .collect()
    }
}

fn map() -> NodeMap {
    NodeMap::new(["a", "b", "c", "d"]).expect("four names are a map")
}

fn introduction() -> Introduction {
    Introduction {
        protocol: imex_core::hello::PROTOCOL_VERSION,
        software: "fuzz".into(),
        driver: Hello::NO_GPU.into(),
        node: NodeId::new(0),
        instance: InstanceId::new(0),
        boot: BootId::new(0),
        digest: map().digest(),
        token: DomainToken::default(),
        host: "".into(),
    }
}

fn hello(said: Introduction) -> Arc<Hello> {
    Arc::new(Hello::check(said).expect("the script's texts are short and printable"))
}
