//! The whole domain's table.

use super::bench_node::report;
use super::*;
use crate::{DomainTable, Evidence};

#[test]
fn a_domain_that_is_up_is_shown_without_asking_anybody() {
    let mut bench = BenchNode::up(|_| {});
    bench.put(Input::TableAsked { ticket: 5 });
    let table = answer(&mut bench, 5).unwrap();
    assert_eq!(table.state, DomainState::Up);
    assert_eq!(table.viewer, Some(node(0)));
    let evidence: Vec<Evidence> = table.rows.iter().map(|row| row.evidence).collect();
    assert_eq!(evidence, [Evidence::Own, Evidence::Reported, Evidence::Reported]);
    assert_eq!(&*table.rows[2].host, "host-2");
    assert_eq!(&*table.rows[2].version, "NO_GPU");
}

#[test]
fn an_incomplete_row_is_fetched_from_its_node() {
    let mut bench = BenchNode::up(|_| {});
    let stream = bench.dialled(1);
    bench.say(stream, report(9, NodeState::Ready, 1));
    bench.actions();
    bench.put(Input::TableAsked { ticket: 5 });
    let actions = bench.actions();
    let asked = Action::Send { stream, message: PeerMessage::RowRequest { question: 1 } };
    assert_eq!(actions, [asked]);
    let links = bench.machine.row(bench.now);
    bench.say(stream, PeerMessage::Row { question: 1, state: NodeState::Ready, links });
    let table = answer(&mut bench, 5).unwrap();
    assert_eq!(table.rows[1].evidence, Evidence::Asked);
}

#[test]
fn a_node_that_does_not_answer_in_time_is_unavailable() {
    let mut bench = BenchNode::up(|_| {});
    let stream = bench.dialled(1);
    bench.say(stream, report(9, NodeState::Ready, 1));
    bench.put(Input::TableAsked { ticket: 5 });
    bench.pass(Duration::from_millis(999));
    assert_eq!(answer(&mut bench, 5), None);
    bench.pass(Duration::from_millis(1));
    let table = answer(&mut bench, 5).unwrap();
    assert_eq!(table.rows[1].state, NodeState::Unavailable);
    assert_eq!(table.rows[1].links[0].state, LinkState::Invalid);
    assert_eq!(table.state, DomainState::Degraded);
}

#[test]
fn a_node_that_is_not_connected_is_not_waited_for() {
    let mut bench = BenchNode::started();
    bench.actions();
    bench.put(Input::TableAsked { ticket: 5 });
    let table = answer(&mut bench, 5).unwrap();
    assert_eq!(table.rows[1].evidence, Evidence::NoAnswer);
}

#[test]
fn a_node_lost_while_it_is_asked_is_not_waited_for() {
    let mut bench = BenchNode::up(|_| {});
    let stream = bench.dialled(1);
    bench.say(stream, report(9, NodeState::Ready, 1));
    bench.put(Input::TableAsked { ticket: 5 });
    bench.reset(1);
    bench.put(Input::Closed { stream: StreamId::Accepted { peer: node(1), serial: 2 }, why: Closure::Reset });
    assert_eq!(answer(&mut bench, 5).unwrap().rows[1].evidence, Evidence::NoAnswer);
}

#[test]
fn a_row_of_the_wrong_length_counts_as_no_answer() {
    let mut bench = BenchNode::up(|_| {});
    let stream = bench.dialled(1);
    bench.say(stream, report(9, NodeState::Ready, 1));
    bench.put(Input::TableAsked { ticket: 5 });
    bench.say(stream, PeerMessage::Row { question: 1, state: NodeState::Ready, links: Vec::new() });
    assert_eq!(answer(&mut bench, 5).unwrap().rows[1].evidence, Evidence::NoAnswer);
}

#[test]
fn many_askers_share_a_bounded_number_of_questions() {
    let mut bench = BenchNode::up(|_| {});
    let stream = bench.dialled(1);
    bench.say(stream, report(9, NodeState::Ready, 1));
    bench.actions();
    for ticket in 0..100 {
        bench.put(Input::TableAsked { ticket });
    }
    let asked = bench.actions().len();
    assert_eq!(asked, crate::timing::OPEN_TABLES);
    bench.pass(Duration::from_secs(1));
    let answered = bench.actions().iter().filter(|a| matches!(a, Action::AnswerTable { .. })).count();
    assert_eq!(answered, 100);
}

fn answer(bench: &mut BenchNode, wanted: u64) -> Option<DomainTable> {
    bench.actions().into_iter().find_map(|action| {
        let Action::AnswerTable { ticket, table } = action else { return None };
        (ticket == wanted).then_some(table)
    })
}
