//! The loop as a table of all states and events, as stories, and under random histories.

use proptest::prelude::*;

use super::*;
use crate::model::{Block, BlockSizes, BlockTopology, ClusterDefault, NodeSet, TopologyKind};

const POLICY: Policy = Policy {
    interval: Duration::from_secs(60),
    debounce: Duration::from_secs(5),
    patience: Duration::from_secs(30),
    max_loss: 25,
    shrink: Shrink::Confirm,
    retry: (Duration::from_secs(30), Duration::from_secs(600)),
};

/// Each state that a change to 20 nodes has led to, each event, and what comes out, at second 10.
#[test]
fn every_state_answers_every_event() {
    let settling = |ready| move |proposed| State::Settling { proposed, first: at(0), ready: at(ready) };
    let refused = |ready| move |proposed| State::Refused { proposed, tries: 2, ready: at(ready) };
    let states: [(&str, State); 6] = [
        ("idle", State::Idle),
        ("settling", settling(11)(blocks("n[1-20]"))),
        ("settled", settling(10)(blocks("n[1-20]"))),
        ("applying", State::Applying { proposed: blocks("n[1-20]"), tries: 0 }),
        ("refused", refused(11)(blocks("n[1-20]"))),
        ("refused long ago", refused(10)(blocks("n[1-20]"))),
    ];
    let events = ["n[1-18]", "n[1-20]", "n[1-21]", "n[1-9]", "-"];
    let expected = [
        ("idle", ["unchanged", "settling", "settling", "confirmation 9 of 18", "keep"]),
        ("settling", ["unchanged", "settling", "settling", "confirmation 9 of 18", "keep"]),
        ("settled", ["unchanged", "apply", "settling", "confirmation 9 of 18", "keep"]),
        ("applying", ["unchanged", "settling", "settling", "confirmation 9 of 18", "keep"]),
        ("refused", ["unchanged", "retry 2", "settling", "confirmation 9 of 18", "keep"]),
        ("refused long ago", ["unchanged", "apply", "settling", "confirmation 9 of 18", "keep"]),
    ];
    for ((name, state), (named, answers)) in states.iter().zip(expected) {
        assert_eq!(*name, named);
        for (event, answer) in events.iter().zip(answers) {
            let mut reconciler = Reconciler { policy: POLICY, state: state.clone(), next: Moment::ZERO };
            let said = word(&reconciler.poll(poll("n[1-18]", event), at(10)));
            assert_eq!(said, answer, "{name} and {event}");
        }
    }
}

#[test]
fn a_change_is_applied_when_it_has_stayed_the_same_for_the_debounce() {
    let mut reconciler = Reconciler::new(POLICY);
    assert_eq!(word(&reconciler.poll(poll("n[1-18]", "n[1-19]"), at(0))), "settling");
    assert_eq!(reconciler.next_poll(), at(5));
    assert_eq!(word(&reconciler.poll(poll("n[1-18]", "n[1-20]"), at(5))), "settling");
    assert_eq!(word(&reconciler.poll(poll("n[1-18]", "n[1-20]"), at(10))), "apply");
    reconciler.applied(Applied::Held, at(11));
    assert_eq!(reconciler.next_poll(), at(70));
    assert_eq!(word(&reconciler.poll(poll("n[1-20]", "n[1-20]"), at(70))), "unchanged");
}

#[test]
fn a_change_that_keeps_changing_is_applied_when_patience_is_over() {
    let mut reconciler = Reconciler::new(POLICY);
    for step in 0..6 {
        let proposed = format!("n[1-{}]", 19 + step);
        assert_eq!(word(&reconciler.poll(poll("n[1-18]", &proposed), at(step * 5))), "settling");
    }
    assert_eq!(word(&reconciler.poll(poll("n[1-18]", "n[1-40]"), at(30))), "apply");
}

#[test]
fn a_loss_of_more_than_a_quarter_needs_a_second_regular_poll() {
    let mut reconciler = Reconciler::new(POLICY);
    assert_eq!(word(&reconciler.poll(poll("n[1-20]", "n[1-15]"), at(0))), "settling");
    let mut reconciler = Reconciler::new(POLICY);
    assert_eq!(word(&reconciler.poll(poll("n[1-20]", "n[1-14]"), at(0))), "confirmation 6 of 20");
    assert_eq!(reconciler.next_poll(), at(60));
    // A nudge does not confirm, nor does a source that fails.
    reconciler.nudge(at(6));
    assert_eq!(word(&reconciler.poll(poll("n[1-20]", "n[1-14]"), at(6))), "confirmation 6 of 20");
    assert_eq!(word(&reconciler.poll(Poll::Failed { why: "x".to_owned() }, at(60))), "keep");
    assert_eq!(word(&reconciler.poll(poll("n[1-20]", "n[1-14]"), at(120))), "apply");
}

#[test]
fn what_is_as_it_was_when_nothing_changed_is_left_alone_and_a_later_change_settles_from_there() {
    let mut reconciler = Reconciler::new(POLICY);
    assert_eq!(word(&reconciler.poll(poll("n[1-18]", "n[1-18]"), at(0))), "unchanged");
    assert_eq!(word(&reconciler.poll(Poll::Same, at(60))), "unchanged");
    assert_eq!(reconciler.next_poll(), at(120));
    assert_eq!(word(&reconciler.poll(poll("n[1-18]", "n[1-19]"), at(120))), "settling");
    // The change went away before it had settled: it has to settle anew.
    assert_eq!(word(&reconciler.poll(Poll::Same, at(122))), "unchanged");
    assert_eq!(word(&reconciler.poll(poll("n[1-18]", "n[1-19]"), at(125))), "settling");
}

#[test]
fn a_loss_that_heals_is_never_applied() {
    let mut reconciler = Reconciler::new(POLICY);
    assert_eq!(word(&reconciler.poll(poll("n[1-20]", "n1"), at(0))), "confirmation 19 of 20");
    assert_eq!(word(&reconciler.poll(poll("n[1-20]", "n[1-20]"), at(60))), "unchanged");
    assert_eq!(word(&reconciler.poll(poll("n[1-20]", "n1"), at(120))), "confirmation 19 of 20");
}

#[test]
fn shrinking_can_be_allowed() {
    let mut reconciler = Reconciler::new(Policy { shrink: Shrink::Allow, ..POLICY });
    assert_eq!(word(&reconciler.poll(poll("n[1-20]", "n1"), at(0))), "settling");
    assert_eq!(word(&reconciler.poll(poll("n[1-20]", "n1"), at(5))), "apply");
}

#[test]
fn what_could_not_be_applied_is_tried_again_less_and_less_often() {
    let mut reconciler = Reconciler::new(Policy { debounce: Duration::ZERO, ..POLICY });
    let mut now = 0;
    let mut waits = Vec::new();
    for _ in 0..7 {
        assert_eq!(word(&reconciler.poll(poll("n[1-18]", "n[1-19]"), at(now))), "apply");
        reconciler.applied(Applied::Refused, at(now));
        let tried = now;
        loop {
            now = reconciler.next_poll().since_origin().as_secs();
            let mut probe = reconciler.clone();
            if word(&probe.poll(poll("n[1-18]", "n[1-19]"), at(now))) == "apply" {
                break;
            }
            reconciler = probe;
        }
        waits.push(now - tried);
    }
    assert_eq!(waits, [30, 60, 120, 240, 480, 600, 600]);
}

proptest! {
    #[test]
    fn nothing_is_applied_that_is_no_change_or_was_not_seen_before(
        steps in prop::collection::vec((0_u32..6, any::<bool>(), any::<bool>(), 0_u64..20), 1..200),
    ) {
        let mut reconciler = Reconciler::new(POLICY);
        let mut in_use = "n[1-20]".to_owned();
        let mut now = 0;
        let mut seen: Vec<(u64, String)> = Vec::new();
        for (choice, fails, held, early) in steps {
            let due = reconciler.next_poll().since_origin().as_secs();
            prop_assert!(due <= now + POLICY.interval.as_secs());
            now = due.max(now).saturating_sub(early).max(now);
            if fails {
                let said = reconciler.poll(Poll::Failed { why: "x".to_owned() }, at(now));
                prop_assert_eq!(word(&said), "keep");
                continue;
            }
            let proposed = format!("n[1-{}]", 10 + 2 * choice);
            let decision = reconciler.poll(poll(&in_use, &proposed), at(now));
            if let Decision::Apply { diff } = decision {
                prop_assert!(!diff.is_empty() && in_use != proposed);
                let (before, after) = (placed_in(&in_use), placed_in(&proposed));
                let lost = before.saturating_sub(after);
                let wait = if lost * 4 > before { POLICY.interval } else { POLICY.debounce }.as_secs();
                let first = seen.iter().rev().take_while(|(_, other)| *other == proposed).last();
                let first = first.map(|(time, _)| *time);
                let long_ago = seen.first().is_some_and(|(time, _)| now - time >= POLICY.patience.as_secs());
                prop_assert!(first.is_some_and(|time| now - time >= wait) || (lost * 4 <= before && long_ago));
                let outcome = if held { Applied::Held } else { Applied::Refused };
                reconciler.applied(outcome, at(now));
                if held {
                    in_use = proposed;
                    seen.clear();
                    continue;
                }
            }
            if in_use == proposed {
                seen.clear();
            } else {
                seen.push((now, proposed));
            }
        }
    }
}

fn placed_in(nodes: &str) -> usize {
    NodeSet::parse(nodes).unwrap().len()
}

fn at(seconds: u64) -> Moment {
    Moment::after(Duration::from_secs(seconds))
}

fn blocks(nodes: &str) -> Topologies {
    let nodes = NodeSet::parse(nodes).unwrap();
    let block = Block { name: "rack1".to_owned(), nodes };
    let kind = TopologyKind::Block(BlockTopology { sizes: BlockSizes::default(), blocks: vec![block] });
    Topologies { list: vec![Topology { name: "t".to_owned(), default: ClusterDefault::Yes, kind }] }
}

fn poll(in_use: &str, proposed: &str) -> Poll {
    match proposed {
        "-" => Poll::Failed { why: "the source is gone".to_owned() },
        nodes => Poll::Found { in_use: blocks(in_use), proposed: blocks(nodes) },
    }
}

fn word(decision: &Decision) -> String {
    match decision {
        Decision::Unchanged => "unchanged".to_owned(),
        Decision::Keep { .. } => "keep".to_owned(),
        Decision::Wait { reason: Wait::Settling, .. } => "settling".to_owned(),
        Decision::Wait { reason: Wait::Confirmation { lost, placed }, .. } => {
            format!("confirmation {lost} of {placed}")
        }
        Decision::Wait { reason: Wait::Retry { tries }, .. } => format!("retry {tries}"),
        Decision::Apply { .. } => "apply".to_owned(),
    }
}
