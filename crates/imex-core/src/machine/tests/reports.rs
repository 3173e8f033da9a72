//! What a node tells the others, and how often.

use super::bench_node::report;
use super::*;

#[test]
fn what_decides_about_up_is_told_at_once() {
    let mut bench = BenchNode::up(|_| {});
    bench.pass(Duration::from_millis(500));
    bench.actions();
    bench.reset(1);
    assert_eq!(told(&mut bench), [(1, 1), (2, 1)], "node 1 by the stream that it dialled");
}

#[test]
fn a_mere_number_is_told_later_and_only_the_newest() {
    let mut bench = BenchNode::up(|_| {});
    bench.pass(Duration::from_millis(500));
    bench.reset(1);
    bench.actions();
    bench.reset(2);
    assert_eq!(told(&mut bench), []);
    bench.pass(Duration::from_millis(249));
    assert_eq!(told(&mut bench), []);
    bench.pass(Duration::from_millis(1));
    assert_eq!(told(&mut bench), [(1, 2), (2, 2)]);
}

#[test]
fn a_flapping_link_does_not_flood_the_domain() {
    let mut bench = BenchNode::up(|_| {});
    bench.pass(Duration::from_millis(500));
    bench.actions();
    let mut sent = 0;
    for _ in 0..100 {
        bench.reset(1);
        bench.arrive(1, 10);
        bench.answer(1, 10);
        sent += told(&mut bench).iter().filter(|(peer, _)| *peer == 2).count();
        bench.pass(Duration::from_micros(100));
    }
    assert!(sent <= 2, "{sent} reports in 10 ms");
}

#[test]
fn an_older_report_by_another_stream_is_dropped() {
    let mut bench = BenchNode::up(|_| {});
    let stream = bench.dialled(1);
    bench.say(stream, report(7, NodeState::Ready, 2));
    bench.say(stream, report(6, NodeState::Ready, 0));
    assert_eq!(bench.machine.domain().complete, 2);
}

#[test]
fn what_is_known_of_a_peer_ends_with_its_last_stream() {
    let mut bench = BenchNode::up(|_| {});
    bench.reset(1);
    assert_eq!(bench.machine.domain().ready, 3, "the peer's own link is still there");
    let stream = StreamId::Accepted { peer: node(1), serial: 2 };
    bench.put(Input::Closed { stream, why: Closure::Reset });
    assert_eq!(bench.machine.domain().ready, 2);
}

#[test]
fn a_ping_is_answered_with_its_number() {
    let mut bench = BenchNode::up(|_| {});
    let stream = StreamId::Accepted { peer: node(1), serial: 2 };
    bench.say(stream, PeerMessage::Ping(77));
    assert_eq!(bench.actions(), [Action::Send { stream, message: PeerMessage::Pong(77) }]);
}

fn told(bench: &mut BenchNode) -> Vec<(u16, u16)> {
    let report = |action| {
        let Action::Send { stream, message: PeerMessage::Report(report) } = action else { return None };
        Some((stream.peer().number(), report.missing))
    };
    bench.actions().into_iter().filter_map(report).collect()
}
