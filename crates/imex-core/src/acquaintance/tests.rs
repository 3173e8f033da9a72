use std::time::Duration;

use super::*;
use crate::hello::Introduction;
use crate::{BootId, DomainToken, MapDigest, NodeId};

#[test]
fn the_first_instance_is_taken_at_its_word() {
    let mut peer = Acquaintance::default();
    assert_eq!(peer.learn(&hello(1), Terms::Member, at(0), at(1)), Evidence::First);
    assert_eq!(peer.instance(), Some(InstanceId::new(1)));
}

#[test]
fn the_same_instance_again_is_nothing_new() {
    let mut peer = met(1, at(1));
    assert_eq!(peer.learn(&hello(1), Terms::Member, at(0), at(5)), Evidence::Same);
}

#[test]
fn an_instance_asked_for_after_the_known_one_was_met_is_its_successor() {
    let mut peer = met(1, at(1));
    let evidence = peer.learn(&hello(2), Terms::Member, at(2), at(3));
    assert_eq!(evidence, Evidence::Successor { old: InstanceId::new(1), clean_up: CleanUp::Due });
    assert!(peer.has_ended(InstanceId::new(1)));
}

#[test]
fn a_late_answer_of_another_instance_is_inconclusive_and_changes_nothing() {
    let mut peer = met(2, at(5));
    assert_eq!(peer.learn(&hello(1), Terms::Member, at(4), at(9)), Evidence::Inconclusive);
    assert_eq!(peer.learn(&hello(1), Terms::Member, at(5), at(9)), Evidence::Inconclusive);
    assert_eq!(peer.instance(), Some(InstanceId::new(2)));
    assert_eq!(peer.take_clean_up(), CleanUp::Due, "nothing was cleaned up meanwhile");
}

#[test]
fn an_ended_instance_stays_ended() {
    let mut peer = met(1, at(1));
    peer.learn(&hello(2), Terms::Member, at(2), at(3));
    assert_eq!(peer.learn(&hello(1), Terms::Member, at(8), at(9)), Evidence::Ended);
}

#[test]
fn what_was_cleaned_up_once_is_not_cleaned_up_again() {
    let mut peer = met(1, at(1));
    assert_eq!(peer.take_clean_up(), CleanUp::Due);
    assert_eq!(peer.take_clean_up(), CleanUp::Done);
    let evidence = peer.learn(&hello(2), Terms::Member, at(2), at(3));
    assert_eq!(evidence, Evidence::Successor { old: InstanceId::new(1), clean_up: CleanUp::Done });
}

#[test]
fn an_instance_that_comes_back_after_the_clean_up_can_be_cleaned_up_anew() {
    let mut peer = met(1, at(1));
    peer.take_clean_up();
    peer.learn(&hello(1), Terms::Member, at(2), at(3));
    assert_eq!(peer.take_clean_up(), CleanUp::Due);
}

#[test]
fn an_instance_that_left_is_cleaned_up_once_and_not_met_again() {
    let mut peer = met(1, at(1));
    assert_eq!(peer.leave(), CleanUp::Due);
    assert_eq!(peer.learn(&hello(1), Terms::Member, at(2), at(3)), Evidence::Ended);
    let evidence = peer.learn(&hello(2), Terms::Member, at(4), at(5));
    assert_eq!(evidence, Evidence::Successor { old: InstanceId::new(1), clean_up: CleanUp::Done });
}

#[test]
fn who_was_only_turned_away_leaves_nothing_to_clean_up() {
    let mut peer = met(1, at(1));
    let evidence = peer.learn(&hello(2), Terms::Refused, at(2), at(3));
    assert_eq!(evidence, Evidence::Successor { old: InstanceId::new(1), clean_up: CleanUp::Due });
    let evidence = peer.learn(&hello(3), Terms::Member, at(4), at(5));
    assert_eq!(evidence, Evidence::Successor { old: InstanceId::new(2), clean_up: CleanUp::Done });
}

#[test]
fn the_list_of_ended_instances_is_bounded() {
    let mut peer = met(0, at(1));
    for n in 1..=100_u64 {
        peer.learn(&hello(u128::from(n)), Terms::Member, at(2 * n), at(2 * n + 1));
    }
    assert_eq!(peer.ended.len(), ENDED_INSTANCES);
    assert!(peer.has_ended(InstanceId::new(99)));
}

fn met(instance: u128, when: Moment) -> Acquaintance {
    let mut peer = Acquaintance::default();
    peer.learn(&hello(instance), Terms::Member, Moment::ZERO, when);
    peer
}

fn at(seconds: u64) -> Moment {
    Moment::after(Duration::from_secs(seconds))
}

fn hello(instance: u128) -> Arc<Hello> {
    let introduction = Introduction {
        protocol: 1,
        software: "1".into(),
        driver: Hello::NO_GPU.into(),
        node: NodeId::new(1),
        instance: InstanceId::new(instance),
        boot: BootId::default(),
        digest: MapDigest::from_bytes([0; 32]),
        token: DomainToken::default(),
        host: "".into(),
    };
    Arc::new(Hello::check(introduction).unwrap())
}
