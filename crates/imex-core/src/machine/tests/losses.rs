//! Losing peers: resets, silence, restarts, notices, grace time.

use super::bench_node::report;
use super::*;

const GRACE: Duration = Duration::from_secs(10);

#[test]
fn a_reset_link_is_recovering_and_dialled_again_soon() {
    let mut bench = BenchNode::up(|_| {});
    bench.reset(1);
    assert_eq!(bench.letters(), "C R C");
    assert_eq!(bench.machine.domain().state, DomainState::Degraded);
    bench.pass(Duration::from_millis(50));
    assert_eq!(bench.dials(), [1]);
}

#[test]
fn without_end_of_grace_nothing_is_cleaned_up_for_a_mere_loss() {
    let mut bench = BenchNode::up(|_| {});
    bench.reset(1);
    bench.pass(Duration::from_secs(100_000));
    assert_eq!(bench.clean_ups(), []);
    assert_eq!(bench.letters().chars().nth(2), Some('R'));
}

#[test]
fn grace_zero_cleans_up_at_once() {
    let mut bench = BenchNode::up(|setup| setup.timing.grace = Grace::For(Duration::ZERO));
    bench.reset(1);
    assert_eq!(bench.clean_ups(), [(1, 10, CleanUpReason::GraceOver)]);
    assert_eq!(bench.letters(), "C D C");
}

#[test]
fn a_grace_time_is_waited_out_and_then_cleans_up_once() {
    let mut bench = BenchNode::up(|setup| setup.timing.grace = Grace::For(GRACE));
    bench.reset(1);
    bench.pass_hearing(&[0, 2], GRACE - Duration::from_millis(1));
    assert_eq!(bench.clean_ups(), []);
    assert_eq!(bench.letters(), "C R C");
    bench.pass_hearing(&[0, 2], Duration::from_millis(1));
    assert_eq!(bench.clean_ups(), [(1, 10, CleanUpReason::GraceOver)]);
    assert_eq!(bench.letters(), "C D C");
    bench.pass_hearing(&[0, 2], GRACE * 3);
    assert_eq!(bench.clean_ups(), []);
}

#[test]
fn the_same_instance_back_within_the_grace_time_cleans_up_nothing() {
    let mut bench = BenchNode::up(|setup| setup.timing.grace = Grace::For(GRACE));
    bench.reset(1);
    bench.pass(Duration::from_millis(50));
    bench.answer(1, 10);
    assert_eq!(bench.letters(), "C C C");
    bench.pass_hearing(&[0, 1, 2], GRACE * 2);
    assert_eq!(bench.clean_ups(), []);
    assert_eq!(bench.letters(), "C C C");
}

#[test]
fn a_new_instance_that_answers_is_cleaned_up_after_once_whatever_the_grace() {
    let mut bench = BenchNode::up(|_| {});
    bench.reset(1);
    bench.pass(Duration::from_millis(50));
    bench.answer(1, 11);
    assert_eq!(bench.clean_ups(), [(1, 10, CleanUpReason::NewInstance)]);
    bench.arrive_and_confirm(1, 11);
    assert_eq!(bench.clean_ups(), []);
    assert_eq!(bench.letters(), "C C C");
}

#[test]
fn a_new_instance_that_arrives_takes_the_place_of_the_connected_one() {
    let mut bench = BenchNode::up(|_| {});
    bench.pass(Duration::from_millis(10));
    let old = bench.dialled(1);
    bench.arrive_and_confirm(1, 11);
    let actions = bench.actions();
    assert!(actions.contains(&Action::Close { stream: old }));
    let clean_up =
        Action::CleanUp { peer: node(1), instance: InstanceId::new(10), reason: CleanUpReason::NewInstance };
    assert!(actions.contains(&clean_up));
    assert!(actions.contains(&Action::Dial { peer: node(1), attempt: 2 }));
    assert_eq!(bench.letters(), "C D C");
}

#[test]
fn a_late_answer_of_a_dead_instance_does_not_end_its_living_successor() {
    let mut bench = BenchNode::started();
    bench.pass(Duration::from_millis(1));
    bench.arrive_and_confirm(1, 11);
    bench.actions();
    // The dial went out before instance 11 was met; instance 10 answered it and died.
    bench.answer(1, 10);
    assert_eq!(bench.clean_ups(), []);
    assert_eq!(bench.letters(), "N N N");
    bench.pass(Duration::from_millis(50));
    bench.answer(1, 11);
    assert_eq!(bench.letters(), "N C N");
    assert_eq!(bench.clean_ups(), []);
}

#[test]
fn a_late_stream_of_an_ended_instance_is_refused() {
    let mut bench = BenchNode::up(|_| {});
    bench.pass(Duration::from_millis(10));
    bench.arrive_and_confirm(1, 11);
    bench.actions();
    let stream = bench.arrive(1, 10);
    assert!(bench.actions().contains(&Action::Refuse { stream, refusal: Refusal::EndedInstance }));
}

#[test]
fn a_notice_of_leaving_cleans_up_once_and_degrades_the_domain() {
    let mut bench = BenchNode::up(|_| {});
    let stream = bench.dialled(1);
    let notice = PeerMessage::Leaving { instance: InstanceId::new(10) };
    bench.say(stream, notice.clone());
    bench.say(stream, notice);
    assert_eq!(bench.clean_ups(), [(1, 10, CleanUpReason::Left)]);
    assert_eq!(bench.machine.domain().state, DomainState::Degraded);
    bench.reset(1);
    assert_eq!(bench.letters(), "C R C", "the word follows the grace time, as with the original");
    assert_eq!(bench.machine.row(bench.now)[1].cause, Some(Cause::Left));
    bench.pass(Duration::from_millis(50));
    bench.answer(1, 11);
    assert_eq!(bench.clean_ups(), []);
}

#[test]
fn a_notice_about_another_instance_changes_nothing() {
    let mut bench = BenchNode::up(|_| {});
    let stream = bench.dialled(1);
    bench.say(stream, PeerMessage::Leaving { instance: InstanceId::new(9) });
    let ignored = Note::NoticeIgnored { peer: node(1), instance: InstanceId::new(9) };
    assert_eq!(bench.actions(), [Action::Note(ignored)]);
    assert_eq!(bench.machine.domain().state, DomainState::Up);
}

#[test]
fn a_late_report_does_not_bring_back_a_peer_that_left() {
    let mut bench = BenchNode::up(|_| {});
    let stream = bench.dialled(1);
    bench.say(stream, PeerMessage::Leaving { instance: InstanceId::new(10) });
    bench.say(stream, report(99, NodeState::Ready, 0));
    assert_eq!(bench.machine.domain().ready, 2);
}

#[test]
fn that_a_peer_left_stays_the_reason_when_nobody_listens_there_afterwards() {
    let mut bench = BenchNode::up(|_| {});
    let stream = bench.dialled(1);
    bench.say(stream, PeerMessage::Leaving { instance: InstanceId::new(10) });
    bench.reset(1);
    bench.pass(Duration::from_millis(50));
    bench.fail_dial(1);
    assert_eq!(bench.machine.row(bench.now)[1].cause, Some(Cause::Left));
}

#[test]
fn a_silent_peer_is_lost_after_two_to_three_seconds() {
    let mut bench = BenchNode::up(|_| {});
    let start = bench.now;
    while bench.letters() == "C C C" {
        bench.pass_hearing(&[0, 2], Duration::from_millis(10));
    }
    let found = bench.now.since(start);
    assert_eq!(bench.letters(), "C R C");
    assert_eq!(bench.machine.row(bench.now)[1].cause, Some(Cause::Silent));
    assert!(found >= Duration::from_secs(2) && found <= Duration::from_millis(3010), "{found:?}");
}

#[test]
fn an_own_pause_is_not_held_against_the_peers() {
    let mut bench = BenchNode::up(|_| {});
    bench.now = bench.now + Duration::from_secs(60);
    bench.machine.handle_timeout(bench.now);
    assert_eq!(bench.letters(), "C C C");
    assert!(bench.actions().iter().any(|a| matches!(a, Action::Note(Note::Paused { seconds: 59 }))));
    bench.pass(Duration::from_secs(4));
    assert_eq!(bench.letters(), "R R R", "but the peers must answer now");
}

#[test]
fn a_redial_uses_the_old_stream_until_the_new_one_is_up_and_then_lets_go_of_it() {
    let mut bench = BenchNode::up(|_| {});
    let old = bench.dialled(1);
    bench.put(Input::Redial);
    let close = Action::Close { stream: old };
    assert!(!bench.actions().contains(&close), "make before break");
    bench.say(old, report(2, NodeState::Ready, 1));
    assert_eq!(bench.machine.domain().complete, 2, "what comes by the old stream counts");
    bench.put(Input::TableAsked { ticket: 1 });
    let question = |action: &Action| matches!(action, Action::Send { stream, message: PeerMessage::RowRequest { .. } } if *stream == old);
    assert!(bench.actions().iter().any(question), "and it is used");
    bench.answer(1, 10);
    assert_eq!(bench.letters(), "C C C");
    let new = bench.dialled(1);
    assert_ne!(new, old);
    bench.put(Input::Closed { stream: old, why: Closure::Reset });
    assert_eq!(bench.letters(), "C C C", "the peer has let go of the old one first");
    bench.put(Input::Closed { stream: new, why: Closure::Reset });
    assert_eq!(bench.letters(), "C R C");
}

#[test]
fn an_old_stream_that_the_peer_does_not_let_go_of_is_closed_at_the_next_beat() {
    let mut bench = BenchNode::up(|_| {});
    let old = bench.dialled(1);
    bench.put(Input::Redial);
    for (peer, instance) in [(0, 100), (1, 10), (2, 20)] {
        bench.answer(peer, instance);
    }
    bench.actions();
    bench.pass(Duration::from_secs(1));
    assert!(bench.actions().contains(&Action::Close { stream: old }));
    assert_eq!(bench.letters(), "C C C");
}

#[test]
fn an_old_stream_that_breaks_while_its_peer_is_dialled_anew_loses_nothing_yet() {
    let mut bench = BenchNode::up(|_| {});
    let old = bench.dialled(1);
    bench.put(Input::Redial);
    bench.put(Input::Closed { stream: old, why: Closure::Reset });
    assert_eq!(bench.letters(), "C C C");
    bench.fail_dial(1);
    assert_eq!(bench.letters(), "C R C");
}

#[test]
fn a_redial_keeps_the_link_until_the_new_attempt_has_failed() {
    let mut bench = BenchNode::up(|setup| setup.timing.grace = Grace::For(Duration::ZERO));
    bench.put(Input::Redial);
    assert_eq!(bench.letters(), "C C C");
    bench.answer(1, 10);
    assert_eq!(bench.letters(), "C C C");
    assert_eq!(bench.clean_ups(), []);
    bench.fail_dial(2);
    assert_eq!(bench.letters(), "C C D");
    assert_eq!(bench.clean_ups(), [(2, 20, CleanUpReason::GraceOver)]);
}

#[test]
fn leaving_tells_every_peer_and_ends() {
    let mut bench = BenchNode::up(|_| {});
    bench.put(Input::Leave);
    let actions = bench.actions();
    let message = PeerMessage::Leaving { instance: InstanceId::new(100) };
    for peer in [1, 2] {
        let stream = bench.dialled(peer);
        assert!(actions.contains(&Action::Send { stream, message: message.clone() }));
    }
    assert_eq!(actions.last(), Some(&Action::Exit));
    assert!(actions.contains(&Action::RecordImporters(BTreeSet::new())));
    let stream = bench.arrive(1, 10);
    assert!(bench.actions().contains(&Action::Refuse { stream, refusal: Refusal::Leaving }));
    assert_eq!(bench.machine.poll_timeout(), None, "nothing is due any more");
}

#[test]
fn a_time_out_blames_the_daemon_where_the_machine_took_the_connection() {
    let mut bench = BenchNode::started();
    bench.reach(1);
    bench.pass(Timing::default().dial_deadline);
    let causes = [1, 2].map(|peer: usize| bench.machine.row(bench.now)[peer].cause.clone());
    let [daemon, machine] = [Unreachable::Unanswered, Unreachable::TimedOut].map(Cause::Unreachable);
    assert_eq!(causes, [Some(daemon), Some(machine)]);
}

#[test]
fn that_the_machine_took_an_older_dial_says_nothing_of_the_one_under_way() {
    let mut bench = BenchNode::started();
    let old = bench.attempt(1);
    bench.fail_dial(1);
    bench.pass(Duration::from_millis(50));
    assert_eq!(bench.attempt(1), old + 1);
    bench.put(Input::Reached { peer: node(1), attempt: old });
    bench.pass(Timing::default().dial_deadline);
    let cause = bench.machine.row(bench.now)[1].cause.clone();
    assert_eq!(cause, Some(Cause::Unreachable(Unreachable::TimedOut)));
}
