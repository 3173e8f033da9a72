//! Starting, connecting, and reaching UP.

use super::bench_node::{introduction, report};
use super::*;
use crate::timing::{DIALS_AT_ONCE, URGENT_DIALS_AT_ONCE};

#[test]
fn a_start_dials_every_node_this_one_first() {
    let mut bench = BenchNode::with(|setup| {
        setup.hello = far_hello(&setup.map, 1, 7);
    });
    bench.put(Input::Start);
    assert_eq!(bench.dials(), [1, 2, 0]);
    assert_eq!(bench.machine.state(), NodeState::InitGpu);
}

#[test]
fn ready_waits_for_the_gpu_driver() {
    let mut bench = BenchNode::with(|_| {});
    bench.put(Input::Start);
    assert!(bench.actions().contains(&Action::AttachGpu));
    bench.put(Input::GpuReady);
    assert_eq!(bench.machine.state(), NodeState::Ready);
}

#[test]
fn with_security_nothing_is_dialled_before_the_server_is_set_up() {
    let mut bench = BenchNode::with(|setup| setup.security = true);
    bench.put(Input::Start);
    assert_eq!(bench.machine.state(), NodeState::StartingAuthServer);
    assert_eq!(bench.dials(), [0; 0]);
    bench.put(Input::AuthServerReady);
    assert_eq!(bench.dials(), [0, 1, 2]);
}

#[test]
fn an_answer_connects_and_is_followed_by_a_report() {
    let mut bench = BenchNode::started();
    bench.actions();
    bench.answer(1, 10);
    assert_eq!(bench.letters(), "N C N");
    let stream = bench.dialled(1);
    let sends = bench.actions();
    let is_report =
        |a: &Action| matches!(a, Action::Send { stream: s, message: PeerMessage::Report(_) } if *s == stream);
    assert!(sends.iter().any(is_report), "{sends:?}");
}

#[test]
fn a_hello_from_a_peer_is_admitted_and_dialled_back_at_once() {
    let mut bench = BenchNode::started();
    bench.fail_dial(1);
    bench.actions();
    let stream = bench.arrive(1, 10);
    let actions = bench.actions();
    assert!(actions.contains(&Action::Admit { stream }));
    assert!(actions.contains(&Action::Dial { peer: node(1), attempt: 2 }));
}

#[test]
fn a_hello_that_overtakes_the_failure_of_the_own_dial_is_not_forgotten() {
    let mut bench = BenchNode::started();
    bench.actions();
    bench.pass(Duration::from_millis(1));
    bench.arrive(1, 10);
    bench.fail_dial(1);
    assert_eq!(bench.dials(), [1]);
    bench.fail_dial(1);
    bench.fail_dial(1);
    assert_eq!(bench.dials(), [1; 0], "once per hello, not for ever");
}

#[test]
fn the_domain_is_up_when_every_row_is_complete_and_every_node_ready() {
    let mut bench = BenchNode::started();
    for (peer, instance) in [(0, 100), (1, 10), (2, 20)] {
        assert_ne!(bench.machine.domain().state, DomainState::Up);
        bench.answer(peer, instance);
        bench.arrive_and_confirm(peer, instance);
    }
    let summary = DomainSummary { state: DomainState::Up, nodes: 3, ready: 3, complete: 3 };
    assert_eq!(bench.machine.domain(), summary);
}

#[test]
fn one_ready_node_alone_is_a_degraded_domain() {
    let mut bench = BenchNode::with(|_| {});
    assert_eq!(bench.machine.domain().state, DomainState::Down);
    bench.put(Input::Start);
    bench.put(Input::GpuReady);
    assert_eq!(bench.machine.domain().state, DomainState::Degraded);
}

#[test]
fn full_quorum_waits_for_links_both_ways_with_every_node() {
    let mut bench = BenchNode::with(|setup| setup.quorum = QuorumMode::Full);
    bench.put(Input::Start);
    bench.answer(0, 100);
    bench.arrive_and_confirm(0, 100);
    bench.answer(1, 10);
    bench.arrive_and_confirm(1, 10);
    bench.answer(2, 20);
    assert_eq!(bench.machine.state(), NodeState::WaitingForPeers);
    bench.arrive_and_confirm(2, 20);
    assert_eq!(bench.machine.state(), NodeState::InitGpu);
}

#[test]
fn recovery_quorum_waits_for_the_recorded_importers_and_nobody_else() {
    let mut bench = BenchNode::with(|setup| setup.importers = BTreeSet::from([node(2)]));
    bench.put(Input::Start);
    assert_eq!(bench.machine.state(), NodeState::WaitingForRecovery);
    bench.answer(1, 10);
    bench.arrive_and_confirm(1, 10);
    assert_eq!(bench.machine.state(), NodeState::WaitingForRecovery);
    bench.actions();
    bench.answer(2, 20);
    bench.arrive_and_confirm(2, 20);
    assert_eq!(bench.machine.state(), NodeState::InitGpu);
    let forgotten = Action::RecordImporters(BTreeSet::new());
    assert!(bench.actions().contains(&forgotten), "a further crash does not wait for them again");
}

#[test]
fn quorum_none_ignores_the_recorded_importers() {
    let mut bench = BenchNode::with(|setup| {
        setup.quorum = QuorumMode::None;
        setup.importers = BTreeSet::from([node(2)]);
    });
    bench.put(Input::Start);
    assert_eq!(bench.machine.state(), NodeState::InitGpu);
}

#[test]
fn an_arriving_stream_is_believed_only_after_its_first_report() {
    let mut bench = BenchNode::started();
    let stream = bench.arrive(1, 10);
    assert_eq!(bench.machine.admitted_instance(node(1)), None);
    bench.say(stream, report(1, NodeState::Ready, 2));
    assert_eq!(bench.machine.admitted_instance(node(1)), Some(InstanceId::new(10)));
}

#[test]
fn an_arriving_stream_that_begins_with_anything_but_a_report_is_closed() {
    let mut bench = BenchNode::started();
    let stream = bench.arrive(1, 10);
    bench.say(stream, PeerMessage::Ping(1));
    assert!(bench.actions().contains(&Action::Close { stream }));
    bench.say(stream, report(1, NodeState::Ready, 0));
    assert_eq!(bench.machine.admitted_instance(node(1)), None);
}

#[test]
fn retries_double_up_to_three_seconds() {
    let mut bench = BenchNode::started();
    let mut waits = Vec::new();
    for _ in 0..10 {
        bench.fail_dial(1);
        let before = bench.now;
        while bench.machine.peers[1].attempt == u32::try_from(waits.len()).unwrap() + 1 {
            bench.pass(Duration::from_millis(1));
        }
        waits.push(bench.now.since(before).as_millis());
    }
    for (step, wait) in waits.iter().enumerate() {
        let whole = (50 << step).min(3000);
        assert!((whole * 3 / 4..=whole + 1).contains(wait), "retry {step} after {wait} ms");
    }
}

#[test]
fn a_dial_without_an_answer_is_given_up_after_its_deadline() {
    let mut bench = BenchNode::started();
    let stream = bench.dialled(1);
    bench.actions();
    bench.pass(Timing::default().dial_deadline);
    assert!(bench.actions().contains(&Action::Close { stream }));
    bench.put(Input::Answered {
        peer: node(1),
        attempt: 1,
        answer: Answer::Hello(far_hello(bench.machine.map(), 1, 10)),
    });
    assert_eq!(bench.letters(), "N N N", "an answer to a question that was given up");
}

#[test]
fn a_large_map_is_dialled_a_few_nodes_at_a_time() {
    let mut bench = BenchNode::of_many(200);
    bench.put(Input::Start);
    let first: Vec<u16> = (0..32).collect();
    assert_eq!(bench.dials(), first);
    bench.fail_dial(0);
    bench.answer(1, 10);
    assert_eq!(bench.dials(), [32, 33], "each that ends makes place for one");
    assert_eq!(bench.machine.dials_under_way(), DIALS_AT_ONCE);
}

#[test]
fn a_peer_that_says_hello_does_not_wait_behind_those_without_power() {
    let mut bench = BenchNode::of_many(200);
    bench.put(Input::Start);
    bench.actions();
    for peer in 100..150 {
        bench.arrive(peer, 10);
    }
    let living: Vec<u16> = (100..132).collect();
    assert_eq!(bench.dials(), living);
    assert_eq!(bench.machine.dials_under_way(), URGENT_DIALS_AT_ONCE);
    bench.answer(100, 10);
    assert_eq!(bench.dials(), [132], "before those that have not been heard of");
}

#[test]
fn every_node_of_a_large_map_gets_its_turn_though_most_are_dead() {
    let mut bench = BenchNode::of_many(200);
    bench.put(Input::Start);
    let mut dialled = BTreeSet::new();
    for _ in 0..200 {
        bench.pass(Duration::from_millis(100));
        dialled.extend(bench.dials());
    }
    assert_eq!(dialled.len(), 200);
}

#[test]
fn a_machine_refuses_a_setup_that_does_not_fit() {
    let map = NodeMap::new(["a"]).unwrap();
    let setup = |hello: Introduction| Setup {
        map: map.clone(),
        hello: Arc::new(Hello::check(hello).unwrap()),
        quorum: QuorumMode::None,
        importers: BTreeSet::new(),
        timing: Timing::default(),
        security: false,
        seed: 0,
    };
    let beyond = Machine::new(setup(introduction(&map, 1, 1))).unwrap_err();
    assert_eq!(beyond, SetupError::NotInMap { node: node(1), len: 1 });
    let other = NodeMap::new(["b"]).unwrap();
    assert_eq!(Machine::new(setup(introduction(&other, 0, 1))).unwrap_err(), SetupError::OtherMap);
}
