//! Whatever happens in whatever order, what a machine keeps stays consistent.

use proptest::prelude::*;

use super::bench_node::{introduction, report};
use super::*;
use crate::cause::Violation;
use crate::peer::Dial;

/// Something that happens to a bench node, in small numbers so that sequences meet each other.
#[derive(Clone, Debug)]
enum Happening {
    Pass(u64),
    Answer { peer: u16, instance: u128 },
    StaleAnswer { peer: u16, instance: u128, attempt: u32 },
    Refusal { peer: u16, instance: u128, which: u8 },
    FailDial(u16),
    Arrive { peer: u16, instance: u128, differs: bool },
    Say { peer: u16, accepted: bool, which: u8, number: u64 },
    Close { peer: u16, accepted: bool, violation: bool },
    Table,
    Redial,
    GpuReady,
}

fn happening() -> impl Strategy<Value = Happening> {
    let peer = || 0_u16..4;
    let instance = || 10_u128..14;
    prop_oneof![
        4 => (0_u64..4000).prop_map(Happening::Pass),
        4 => (peer(), instance()).prop_map(|(peer, instance)| Happening::Answer { peer, instance }),
        1 => (peer(), instance(), 0_u32..9)
            .prop_map(|(peer, instance, attempt)| Happening::StaleAnswer { peer, instance, attempt }),
        2 => (peer(), instance(), 0_u8..6)
            .prop_map(|(peer, instance, which)| Happening::Refusal { peer, instance, which }),
        2 => peer().prop_map(Happening::FailDial),
        4 => (peer(), instance(), prop::bool::weighted(0.1))
            .prop_map(|(peer, instance, differs)| Happening::Arrive { peer, instance, differs }),
        8 => (peer(), any::<bool>(), 0_u8..6, 0_u64..20)
            .prop_map(|(peer, accepted, which, number)| Happening::Say { peer, accepted, which, number }),
        2 => (peer(), any::<bool>(), any::<bool>())
            .prop_map(|(peer, accepted, violation)| Happening::Close { peer, accepted, violation }),
        1 => Just(Happening::Table),
        1 => Just(Happening::Redial),
        1 => Just(Happening::GpuReady),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn counts_and_phases_agree_after_every_happening(
        happenings in prop::collection::vec(happening(), 1..120),
        grace in prop_oneof![Just(Grace::Forever), (0_u64..5).prop_map(|s| Grace::For(Duration::from_secs(s)))],
    ) {
        let mut bench = BenchNode::with(|setup| setup.timing.grace = grace);
        bench.put(Input::Start);
        for happening in happenings {
            perform(&mut bench, happening);
            check(&mut bench);
        }
    }
}

fn perform(bench: &mut BenchNode, happening: Happening) {
    match happening {
        Happening::Pass(ms) => bench.pass(Duration::from_millis(ms)),
        Happening::Answer { peer, instance } => {
            let answer = Answer::Hello(hello(bench, peer, instance));
            let attempt = newest(bench, peer);
            bench.put(Input::Answered { peer: node(peer), attempt, answer });
        }
        Happening::StaleAnswer { peer, instance, attempt } => {
            let answer = Answer::Hello(hello(bench, peer, instance));
            bench.put(Input::Answered { peer: node(peer), attempt, answer });
        }
        Happening::Refusal { peer, instance, which } => {
            let by = hello(bench, peer, instance);
            let refusal = match which {
                0 => Refusal::Version { by },
                1 => Refusal::Map { by, entries: ["x".to_owned()].into(), len: 3 },
                2 => Refusal::NotAtItsAddress { by },
                3 => Refusal::OtherDomain,
                4 => Refusal::EndedInstance,
                _ => Refusal::Leaving,
            };
            let attempt = newest(bench, peer);
            bench.put(Input::Answered { peer: node(peer), attempt, answer: Answer::Refusal(refusal) });
        }
        Happening::FailDial(peer) => {
            let attempt = newest(bench, peer);
            bench.put(Input::DialFailed { peer: node(peer), attempt, why: DialFailure::NameUnknown });
        }
        Happening::Arrive { peer, instance, differs } => {
            bench.serial += 1;
            let source = if differs { Source::Differs } else { Source::Matches };
            let hello = hello(bench, peer, instance);
            bench.put(Input::Arrived { serial: bench.serial, hello, source });
        }
        Happening::Say { peer, accepted, which, number } => {
            let message = match which {
                0 => report(number, NodeState::Ready, 0),
                1 => report(number, NodeState::InitGpu, 2),
                2 => PeerMessage::Ping(number),
                3 => PeerMessage::Leaving { instance: InstanceId::new(u128::from(number)) },
                4 => PeerMessage::RowRequest { question: number },
                _ => PeerMessage::Row { question: number, state: NodeState::Ready, links: Vec::new() },
            };
            let stream = stream(bench, peer, accepted);
            bench.say(stream, message);
        }
        Happening::Close { peer, accepted, violation } => {
            let why = if violation { Closure::Violation(Violation::Malformed) } else { Closure::Reset };
            let stream = stream(bench, peer, accepted);
            bench.put(Input::Closed { stream, why });
        }
        Happening::Table => bench.put(Input::TableAsked { ticket: 1 }),
        Happening::Redial => bench.put(Input::Redial),
        Happening::GpuReady => bench.put(Input::GpuReady),
    }
}

fn check(bench: &mut BenchNode) {
    let actions = bench.actions().len();
    assert!(actions < 400, "{actions} actions for one happening");
    let machine = &bench.machine;
    let count = |f: fn(&Peer) -> bool| machine.peers.iter().filter(|peer| f(peer)).count();
    assert_eq!(machine.connected, count(|peer| peer.link == Link::Connected));
    assert_eq!(machine.ready, count(|peer| peer.standing().ready));
    assert_eq!(machine.complete, count(|peer| peer.standing().complete));
    assert_eq!(machine.met.len(), count(Peer::is_met));
    assert_eq!(machine.dials_under_way(), count(|peer| matches!(peer.dial, Dial::Asking(_))));
    assert_eq!(count(|peer| matches!(peer.dial, Dial::Queued(_))), 0, "there is a place for each of three");
    for peer in &machine.peers {
        let open = peer.is_open();
        let asking = matches!(peer.dial, Dial::Asking(_) | Dial::Queued(_));
        assert!(!open || peer.link == Link::Connected, "an open stream without a connected link");
        assert!(open || asking || peer.link != Link::Connected, "a connected link without a stream");
        assert!(open || asking || machine.dial_due(peer).is_some(), "a peer that is never dialled again");
        assert!(peer.grace.is_none() || peer.link != Link::Connected, "a grace time that runs on");
    }
    let (due, _) = machine.poll_timeout().expect("a started machine always has a next beat");
    assert!(
        due >= bench.now || machine.poll_timeout() == Some((due, "heartbeat")),
        "{due:?} {:?}",
        bench.now
    );
}

fn hello(bench: &BenchNode, peer: u16, instance: u128) -> Arc<Hello> {
    // Node 0 is the machine itself: an answer from its own address is from its own instance, or from an impostor.
    let instance = if peer == 0 && instance < 13 { 100 } else { instance };
    Arc::new(Hello::check(introduction(bench.machine.map(), peer, instance)).unwrap())
}

fn newest(bench: &BenchNode, peer: u16) -> u32 {
    bench.machine.peers.get(usize::from(peer)).map_or(1, |peer| peer.attempt)
}

fn stream(bench: &BenchNode, peer: u16, accepted: bool) -> StreamId {
    let serial = bench.machine.peers.get(usize::from(peer)).and_then(|peer| {
        let arriving = peer.arriving.as_ref().map(|arriving| arriving.serial);
        arriving.or(peer.accepted.as_ref().map(|accepted| accepted.serial))
    });
    if accepted {
        StreamId::Accepted { peer: node(peer), serial: serial.unwrap_or(1) }
    } else {
        StreamId::Dialled { peer: node(peer), attempt: newest(bench, peer) }
    }
}
