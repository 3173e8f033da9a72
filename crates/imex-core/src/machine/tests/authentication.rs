//! Peers that prove who they are before they say hello, and those that do not.

use super::*;
use crate::AuthFailure;

#[test]
fn nobody_is_dialled_before_security_is_set_up() {
    let mut bench = BenchNode::with(|setup| setup.security = true);
    bench.put(Input::Start);
    assert_eq!(bench.machine.state(), NodeState::StartingAuthServer);
    let actions = bench.actions();
    assert!(actions.contains(&Action::StartAuthServer), "{actions:?}");
    assert!(!actions.iter().any(|action| matches!(action, Action::Dial { .. })), "{actions:?}");
    bench.put(Input::AuthServerReady);
    assert_eq!(bench.machine.state(), NodeState::InitGpu);
    assert_eq!(bench.dials(), [0, 1, 2]);
}

#[test]
fn a_peer_that_does_not_prove_who_it_is_is_shown_authenticating_and_then_apart() {
    for why in AuthFailure::ALL {
        let mut bench = secure();
        bench.begin_authentication(1);
        assert_eq!(bench.letters(), "N A N");
        bench.fail_authentication(1, why);
        assert_eq!(bench.letters(), "N N N", "{why:?}: neither !M! nor !V!");
        assert_eq!(bench.machine.row(bench.now)[1].cause, Some(Cause::Unauthenticated(why)));
    }
}

#[test]
fn a_refused_proof_is_no_map_mismatch() {
    let mut bench = secure();
    bench.begin_authentication(1);
    bench.answer_with(1, Answer::Refusal(Refusal::Unproven));
    assert_eq!(bench.letters(), "N N N");
    let refused = Cause::Unauthenticated(AuthFailure::Refused);
    assert_eq!(bench.machine.row(bench.now)[1].cause, Some(refused));
}

#[test]
fn a_failed_authentication_is_tried_again_like_any_failed_dial() {
    let mut bench = secure();
    bench.begin_authentication(1);
    bench.fail_authentication(1, AuthFailure::Expired);
    bench.pass(Duration::from_millis(50));
    assert_eq!(bench.dials(), [1]);
    bench.begin_authentication(1);
    bench.answer(1, 10);
    assert_eq!(bench.letters(), "N C N");
}

#[test]
fn an_interval_for_authentication_holds_whatever_failed_before() {
    let mut bench = refused(AuthFailure::NoneOfOurs);
    // Jitter takes up to a quarter.
    bench.pass(Duration::from_millis(14_999));
    assert!(!bench.dials().contains(&1));
    bench.pass(Duration::from_millis(5_001));
    assert!(bench.dials().contains(&1));
}

#[test]
fn the_interval_for_authentication_is_for_refusals_alone() {
    for why in AuthFailure::ALL {
        let mut bench = refused(why);
        bench.pass(Duration::from_millis(50));
        assert_eq!(bench.dials().contains(&1), why.is_silence(), "{why}");
    }
}

#[test]
fn authentication_has_a_deadline_of_its_own() {
    let mut bench = secure();
    bench.pass(Duration::from_millis(1_900));
    bench.begin_authentication(1);
    bench.pass(Duration::from_millis(4_999));
    assert_eq!(bench.letters(), "N A N");
    bench.pass(Duration::from_millis(1));
    assert_eq!(bench.letters(), "N N N");
    let late = Cause::Unauthenticated(AuthFailure::TimedOut);
    assert_eq!(bench.machine.row(bench.now)[1].cause, Some(late));
}

#[test]
fn a_connected_link_stays_connected_while_it_authenticates_anew() {
    let mut bench = BenchNode::up(|setup| setup.security = true);
    bench.put(Input::Redial);
    bench.begin_authentication(1);
    assert_eq!(bench.letters(), "C C C");
    bench.answer(1, 10);
    assert_eq!(bench.letters(), "C C C");
    assert_eq!(bench.clean_ups(), []);
}

#[test]
fn a_connected_link_whose_new_proof_fails_is_lost() {
    let mut bench = BenchNode::up(|setup| setup.security = true);
    bench.put(Input::Redial);
    bench.begin_authentication(1);
    bench.fail_authentication(1, AuthFailure::OtherAuthority);
    assert_eq!(bench.letters(), "C R C");
}

#[test]
fn replaced_credentials_are_told_to_every_other_member_once_and_not_passed_on() {
    let mut bench = BenchNode::up(|setup| setup.security = true);
    bench.put(Input::TellReload);
    assert_eq!(told_to_reload(&mut bench), [1, 2]);
    let stream = bench.dialled(1);
    bench.say(stream, PeerMessage::Reload);
    let actions = bench.actions();
    assert!(actions.contains(&Action::Reload { peer: node(1) }), "{actions:?}");
    assert!(!actions.iter().any(|action| matches!(action, Action::Send { .. })), "{actions:?}");
}

#[test]
fn without_security_nobody_is_told_to_reload_and_nobody_does() {
    let mut bench = BenchNode::up(|_| {});
    bench.put(Input::TellReload);
    let stream = bench.dialled(1);
    bench.say(stream, PeerMessage::Reload);
    assert_eq!(bench.actions(), []);
}

#[test]
fn a_stream_that_asks_for_a_reload_before_it_has_reported_is_closed() {
    let mut bench = secure();
    let stream = bench.arrive(1, 10);
    bench.actions();
    bench.say(stream, PeerMessage::Reload);
    assert!(bench.actions().contains(&Action::Close { stream }));
}

/// A node with an interval for authentication, whose authentication with node 1 has just failed.
fn refused(why: AuthFailure) -> BenchNode {
    let mut bench = BenchNode::with(|setup| {
        setup.security = true;
        setup.timing.auth_retry = Some(Duration::from_secs(20));
    });
    bench.put(Input::Start);
    bench.put(Input::AuthServerReady);
    bench.begin_authentication(1);
    bench.fail_authentication(1, why);
    bench.actions();
    bench
}

fn secure() -> BenchNode {
    let mut bench = BenchNode::with(|setup| setup.security = true);
    bench.put(Input::Start);
    bench.put(Input::AuthServerReady);
    bench.put(Input::GpuReady);
    bench.actions();
    bench
}

fn told_to_reload(bench: &mut BenchNode) -> Vec<u16> {
    let told = |action| {
        let Action::Send { stream, message: PeerMessage::Reload } = action else { return None };
        Some(stream.peer().number())
    };
    bench.actions().into_iter().filter_map(told).collect()
}
