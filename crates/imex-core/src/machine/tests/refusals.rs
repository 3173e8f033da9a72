//! Who does not belong, and how it heals.

use super::bench_node::introduction;
use super::*;

#[test]
fn a_member_of_another_domain_is_turned_away_and_never_shown() {
    let mut bench = BenchNode::started();
    bench.actions();
    let stream = arrive_as(&mut bench, |said| said.token = DomainToken::new("job-7").unwrap());
    assert!(bench.actions().contains(&Action::Refuse { stream, refusal: Refusal::OtherDomain }));
    assert_eq!(bench.letters(), "N N N");
    bench.answer_with(1, Answer::Refusal(Refusal::OtherDomain));
    assert_eq!(bench.letters(), "N N N");
    assert_eq!(bench.machine.row(bench.now)[1].cause, Some(Cause::OtherDomain));
}

#[test]
fn another_version_is_refused_both_ways() {
    let mut bench = BenchNode::started();
    bench.actions();
    let stream = arrive_as(&mut bench, |said| said.driver = "580.95.05".into());
    let by = Arc::clone(bench.machine.hello());
    assert!(bench.actions().contains(&Action::Refuse { stream, refusal: Refusal::Version { by } }));
    let hello = hello_as(&bench, |said| said.driver = "580.95.05".into());
    bench.answer_with(1, Answer::Hello(hello));
    assert_eq!(bench.letters(), "N !V! N");
    let cause = bench.machine.row(bench.now)[1].cause.clone().unwrap();
    assert_eq!(
        cause.to_string(),
        "it runs protocol 1 with driver 580.95.05, this node runs protocol 1 with driver NO_GPU"
    );
}

#[test]
fn another_protocol_version_is_refused() {
    let mut bench = BenchNode::started();
    let hello = hello_as(&bench, |said| said.protocol = PROTOCOL_VERSION + 1);
    bench.answer_with(1, Answer::Hello(hello));
    assert_eq!(bench.letters(), "N !V! N");
}

#[test]
fn another_map_is_refused_with_the_own_one_and_the_difference_is_named() {
    let mut bench = BenchNode::started();
    bench.actions();
    let other = NodeMap::new(["a", "b", "x"]).unwrap();
    let stream = arrive_as(&mut bench, |said| said.digest = other.digest());
    let refusal = Refusal::Map {
        by: Arc::clone(bench.machine.hello()),
        entries: ["a", "b", "c"].map(str::to_owned).into(),
        len: 3,
    };
    assert!(bench.actions().contains(&Action::Refuse { stream, refusal }));

    let by = far_hello(&other, 1, 10);
    let entries = ["a", "b", "x"].map(str::to_owned).into();
    bench.answer_with(1, Answer::Refusal(Refusal::Map { by, entries, len: 3 }));
    assert_eq!(bench.letters(), "N !M! N");
    let cause = bench.machine.row(bench.now)[1].cause.clone().unwrap();
    assert_eq!(cause.to_string(), "its node map differs: entry 2: c here, x there");
}

#[test]
fn a_mismatch_is_tried_again_at_the_slow_pace_and_heals() {
    let mut bench = BenchNode::started();
    let other = NodeMap::new(["a", "b", "x"]).unwrap();
    let refusal = Refusal::Map { by: far_hello(&other, 1, 10), entries: ["a".to_owned()].into(), len: 3 };
    bench.answer_with(1, Answer::Refusal(refusal));
    bench.actions();
    bench.pass(Duration::from_millis(2249));
    assert!(!bench.dials().contains(&1));
    bench.pass(Duration::from_millis(751));
    assert!(bench.dials().contains(&1));
    bench.answer(1, 11);
    assert_eq!(bench.letters(), "N C N");
    assert_eq!(bench.clean_ups(), [], "nothing ever came from who was turned away");
}

#[test]
fn a_mismatch_stays_on_show_while_its_node_is_down_for_repair() {
    let mut bench = BenchNode::started();
    let other = NodeMap::new(["a", "b", "x"]).unwrap();
    let by = far_hello(&other, 1, 10);
    let entries = ["a", "b", "x"].map(str::to_owned).into();
    bench.answer_with(1, Answer::Refusal(Refusal::Map { by, entries, len: 3 }));
    bench.pass(Duration::from_secs(3));
    bench.fail_dial(1);
    assert_eq!(bench.letters(), "N !M! N");
    let cause = bench.machine.row(bench.now)[1].cause.clone().unwrap();
    assert!(cause.to_string().starts_with("its node map differs"), "{cause}");
}

#[test]
fn a_node_that_restarts_with_a_wrong_map_is_cleaned_up_after() {
    let mut bench = BenchNode::up(|_| {});
    bench.reset(1);
    bench.pass(Duration::from_millis(50));
    let other = NodeMap::new(["a", "b", "x"]).unwrap();
    let refusal = Refusal::Map { by: far_hello(&other, 1, 11), entries: [].into(), len: 3 };
    bench.answer_with(1, Answer::Refusal(refusal));
    assert_eq!(bench.letters(), "C !M! C");
    assert_eq!(bench.clean_ups(), [(1, 10, CleanUpReason::NewInstance)]);
}

#[test]
fn a_node_that_does_not_come_from_its_address_is_refused() {
    let mut bench = BenchNode::started();
    bench.actions();
    let hello = far_hello(bench.machine.map(), 1, 10);
    bench.put(Input::Arrived { serial: 1, hello, source: Source::Differs });
    let stream = StreamId::Accepted { peer: node(1), serial: 1 };
    let by = Arc::clone(bench.machine.hello());
    assert!(bench.actions().contains(&Action::Refuse { stream, refusal: Refusal::NotAtItsAddress { by } }));
}

#[test]
fn a_source_that_cannot_be_told_is_given_the_benefit_of_the_doubt() {
    let mut bench = BenchNode::started();
    bench.actions();
    let hello = far_hello(bench.machine.map(), 1, 10);
    bench.put(Input::Arrived { serial: 1, hello, source: Source::Unknown });
    let stream = StreamId::Accepted { peer: node(1), serial: 1 };
    assert!(bench.actions().contains(&Action::Admit { stream }));
}

#[test]
fn two_nodes_with_one_id_do_not_meet() {
    let mut bench = BenchNode::started();
    bench.actions();
    let stream = bench.arrive(0, 666);
    let by = Arc::clone(bench.machine.hello());
    assert!(bench.actions().contains(&Action::Refuse { stream, refusal: Refusal::NotAtItsAddress { by } }));
    bench.answer(0, 666);
    assert_eq!(bench.letters(), "!M! N N");
    let hello = far_hello(bench.machine.map(), 2, 20);
    bench.answer_with(1, Answer::Hello(hello));
    assert_eq!(bench.letters(), "!M! !M! N");
    assert_eq!(bench.machine.row(bench.now)[1].cause, Some(Cause::NotAtItsAddress { claimed: 2 }));
}

fn hello_as(bench: &BenchNode, change: impl FnOnce(&mut Introduction)) -> Arc<Hello> {
    let mut said = introduction(bench.machine.map(), 1, 10);
    change(&mut said);
    Arc::new(Hello::check(said).unwrap())
}

fn arrive_as(bench: &mut BenchNode, change: impl FnOnce(&mut Introduction)) -> StreamId {
    let hello = hello_as(bench, change);
    bench.serial += 1;
    bench.put(Input::Arrived { serial: bench.serial, hello, source: Source::Matches });
    StreamId::Accepted { peer: node(1), serial: bench.serial }
}
