//! One story for each promise. The invariants are checked on the way in all of them; what is asserted here is what the
//! story is about.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::collections::BTreeSet;
use std::time::Duration;

use imex_core::action::CleanUpReason;
use imex_core::{AuthFailure, Cause, DomainState, Evidence, Grace, LinkState, NodeId, NodeState, QuorumMode};
use imex_sim::{Address, Config, Cut, MapChoice, Operation, Plan, World};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_restart_at_the_same_address_causes_exactly_one_clean_up_on_each_other_node() {
    let mut world = up(6);
    let old = world.instance(a(2), 0).unwrap();
    for operation in [Operation::Kill(a(2)), Operation::Start(a(2))] {
        apply(&mut world, operation);
    }
    let took = world.check_heals().unwrap();
    assert!(took < Duration::from_millis(150), "{took:?}");
    settle(&mut world);
    for observer in others(&world, 2) {
        let seen = world.clean_ups(observer);
        assert_eq!(seen.len(), 1, "{seen:?}");
        assert_eq!((seen[0].peer, seen[0].instance, seen[0].reason), (n(2), old, CleanUpReason::NewInstance));
    }
    assert_eq!(world.clean_ups(a(2)), []);
}

#[test]
fn a_hundred_restarts_cause_a_hundred_clean_ups() {
    let mut world = up(3);
    for _ in 0..100 {
        apply(&mut world, Operation::Kill(a(1)));
        apply(&mut world, Operation::Start(a(1)));
        world.check_heals().unwrap();
    }
    settle(&mut world);
    assert_eq!((world.clean_ups(a(0)).len(), world.clean_ups(a(2)).len()), (100, 100));
}

#[test]
fn two_restarts_at_once_leave_nobody_with_an_outdated_report() {
    // While node 0 waits to tell everybody that its row is not complete, node 1 comes back and is told so, then node 2,
    // and the row is what it was: node 1 must hear of it although there is no news for the others.
    let mut world = cold(3, |_| {});
    start_all(&mut world);
    world.check_heals().unwrap();
    for host in [1, 2] {
        apply(&mut world, Operation::Kill(a(host)));
        apply(&mut world, Operation::Start(a(host)));
    }
    world.check_heals().unwrap();
}

#[test]
fn the_same_instance_back_within_the_grace_time_causes_nothing() {
    let mut world = up_with(4, |config| config.grace = Grace::For(SECOND * 5));
    apply(&mut world, Operation::Sever(a(0), a(1)));
    isolate(&mut world, 2, Cut::Silent);
    world.run_for(SECOND * 4).unwrap();
    assert_eq!(world.link(a(0), n(2)), LinkState::Recovering);
    world.heal().unwrap();
    world.check_heals().unwrap();
    settle(&mut world);
    assert_eq!(world.counts().clean_ups, 0);
}

#[test]
fn a_stopped_daemon_that_goes_on_is_the_same_instance() {
    let mut world = up(4);
    apply(&mut world, Operation::Pause(a(3)));
    world.run_for(SECOND * 10).unwrap();
    assert_eq!(world.link(a(0), n(3)), LinkState::Recovering);
    assert_eq!(world.machine(a(0)).unwrap().domain().state, DomainState::Degraded);
    apply(&mut world, Operation::Continue(a(3)));
    world.check_heals().unwrap();
    assert_eq!(world.counts().clean_ups, 0);
}

#[test]
fn silence_is_noticed_within_three_and_a_half_seconds() {
    for fault in [Operation::Pause(a(1)), Operation::PowerOff(a(1))] {
        let mut world = up(3);
        world.run_for(Duration::from_millis(10_300)).unwrap();
        apply(&mut world, fault);
        world.run_for(Duration::from_millis(3_500)).unwrap();
        for observer in others(&world, 1) {
            assert_eq!(world.link(observer, n(1)), LinkState::Recovering);
            assert_eq!(world.machine(observer).unwrap().domain().ready, 2);
        }
    }
}

#[test]
fn a_host_that_had_no_power_is_back_within_one_dial_deadline() {
    // Long enough for the waits between two dials to have grown to the longest; then at different points of one.
    for half_seconds in 60..72 {
        let mut world = up(3);
        apply(&mut world, Operation::PowerOff(a(1)));
        world.run_for(SECOND * half_seconds / 2).unwrap();
        apply(&mut world, Operation::Start(a(1)));
        let took = world.check_heals().unwrap();
        // The others' dials may hang since before; when they end, the host has said hello, and nobody waits any longer.
        assert!(took < world.timing().dial_deadline + Duration::from_millis(50), "{took:?}");
    }
}

#[test]
fn a_killed_member_is_noticed_within_a_round_trip() {
    let mut world = up(5);
    apply(&mut world, Operation::Kill(a(4)));
    world.run_for(Duration::from_millis(1)).unwrap();
    for observer in others(&world, 4) {
        assert_eq!(world.link(observer, n(4)), LinkState::Recovering);
        assert_eq!(world.machine(observer).unwrap().domain().state, DomainState::Degraded);
    }
}

#[test]
fn an_endless_grace_time_never_cleans_up_on_loss_alone() {
    let mut world = up(3);
    apply(&mut world, Operation::Kill(a(1)));
    world.run_for(SECOND * 100_000).unwrap();
    assert_eq!(world.link(a(0), n(1)), LinkState::Recovering);
    assert_eq!(world.counts().clean_ups, 0);
}

#[test]
fn a_grace_time_of_zero_cleans_up_at_once() {
    let mut world = up_with(3, |config| config.grace = Grace::For(Duration::ZERO));
    apply(&mut world, Operation::Kill(a(1)));
    world.run_for(Duration::from_millis(1)).unwrap();
    assert_eq!(world.link(a(0), n(1)), LinkState::Disconnected);
    assert_eq!(reasons(&world, 0), [CleanUpReason::GraceOver]);
}

#[test]
fn a_grace_time_cleans_up_once_when_it_is_over_and_not_again_for_the_successor() {
    let mut world = up_with(3, |config| config.grace = Grace::For(SECOND * 7));
    let lost = world.now();
    apply(&mut world, Operation::Kill(a(1)));
    world.run_for(Duration::from_millis(6_990)).unwrap();
    assert_eq!(reasons(&world, 0), []);
    world.run_for(Duration::from_millis(20)).unwrap();
    assert_eq!(world.link(a(0), n(1)), LinkState::Disconnected);
    let after = world.clean_ups(a(0))[0].at.since(lost);
    assert!(after >= SECOND * 7 && after <= Duration::from_millis(7_001), "{after:?}");
    apply(&mut world, Operation::Start(a(1)));
    world.check_heals().unwrap();
    settle(&mut world);
    assert_eq!(reasons(&world, 0), [CleanUpReason::GraceOver]);
}

#[test]
fn a_peer_known_only_by_the_stream_that_it_dialled_is_cleaned_up_too() {
    let mut world = cold(2, |config| config.grace = Grace::For(SECOND));
    // Node 0 hears nothing that node 1 answers, but takes in what node 1 dials.
    apply(&mut world, Operation::Start(a(0)));
    apply(&mut world, Operation::Start(a(1)));
    world.check_heals().unwrap();
    apply(&mut world, Operation::Kill(a(0)));
    apply(&mut world, Operation::Slow(a(0), a(1), 1_900));
    apply(&mut world, Operation::Start(a(0)));
    let admitted = |world: &World| world.machine(a(1)).unwrap().admitted_instance(n(0)).is_some();
    while !admitted(&world) {
        world.run_for(Duration::from_millis(1)).unwrap();
    }
    settle(&mut world);
    apply(&mut world, Operation::Kill(a(0)));
    settle(&mut world);
    world.check_quiet().unwrap();
    assert_eq!(reasons(&world, 1).last(), Some(&CleanUpReason::GraceOver), "{:?}", reasons(&world, 1));
}

#[test]
fn a_leaving_node_is_cleaned_up_once_and_its_successor_causes_no_second_time() {
    let mut world = up(4);
    apply(&mut world, Operation::Leave(a(2)));
    world.run_for(SECOND).unwrap();
    assert!(world.machine(a(2)).is_none(), "it has ended");
    apply(&mut world, Operation::Start(a(2)));
    world.check_heals().unwrap();
    settle(&mut world);
    for observer in [0, 1, 3] {
        assert_eq!(reasons(&world, observer), [CleanUpReason::Left]);
    }
}

#[test]
fn a_notice_that_names_an_earlier_run_changes_nothing() {
    let mut world = up(3);
    apply(&mut world, Operation::Kill(a(1)));
    apply(&mut world, Operation::Start(a(1)));
    world.check_heals().unwrap();
    let before = world.machine(a(0)).unwrap().changes();
    apply(&mut world, Operation::StaleNotice(a(1), a(0)));
    world.run_for(SECOND).unwrap();
    assert_eq!(world.machine(a(0)).unwrap().changes(), before);
    assert_eq!(reasons(&world, 0), [CleanUpReason::NewInstance]);
}

#[test]
fn a_leaving_daemon_of_an_old_domain_changes_nothing_in_the_new_one_at_its_address() {
    let mut world = up(4);
    // The old daemon is stopped while its notice cannot get out; the host is given to the next job.
    isolate(&mut world, 2, Cut::Silent);
    apply(&mut world, Operation::Leave(a(2)));
    for host in 0..4 {
        apply(&mut world, Operation::Token(a(host), 1));
        apply(&mut world, Operation::Kill(a(host)));
        apply(&mut world, Operation::Start(a(host)));
    }
    world.heal().unwrap();
    world.check_heals().unwrap();
    settle(&mut world);
    assert_eq!(world.counts().clean_ups, 0, "no daemon of the new domain ever knew one of the old");
    assert!(world.is_up_everywhere());
}

#[test]
fn a_member_of_another_domain_is_never_shown_and_disturbs_nobody() {
    let mut world = cold(4, |_| {});
    apply(&mut world, Operation::Token(a(3), 1));
    start_all(&mut world);
    settle(&mut world);
    world.check_quiet().unwrap();
    for member in 0..3 {
        let domain = world.machine(a(member)).unwrap().domain();
        assert_eq!((domain.state, domain.ready), (DomainState::Degraded, 3));
        assert_eq!(world.link(a(member), n(3)), LinkState::NeverConnected);
    }
    assert_eq!(world.machine(a(3)).unwrap().domain().ready, 1);
}

#[test]
fn with_one_wrong_map_the_others_connect_and_fixing_that_node_alone_heals_all() {
    for wrong in [MapChoice::Swapped, MapChoice::Short, MapChoice::Long] {
        let mut world = cold(5, |_| {});
        apply(&mut world, Operation::Map(a(4), wrong));
        start_all(&mut world);
        settle(&mut world);
        world.check_quiet().unwrap();
        for (from, to) in pairs(4) {
            assert_eq!(world.link(a(from), n(to)), LinkState::Connected);
        }
        for right in 0..4 {
            assert_eq!(world.link(a(right), n(4)), LinkState::MapMismatch, "{wrong:?}");
        }
        apply(&mut world, Operation::Map(a(4), MapChoice::Right));
        apply(&mut world, Operation::Kill(a(4)));
        apply(&mut world, Operation::Start(a(4)));
        let took = world.check_heals().unwrap();
        assert!(took < Duration::from_millis(100), "at once, its hello says it: {took:?}");
        for right in 0..4 {
            assert_eq!(world.instance(a(right), 1), None, "nobody else was restarted");
        }
    }
}

#[test]
fn two_versions_show_it_both_ways_and_nothing_else_is_disturbed() {
    let mut world = cold(4, |_| {});
    apply(&mut world, Operation::Driver(a(1), 1));
    start_all(&mut world);
    settle(&mut world);
    world.check_quiet().unwrap();
    for other in [0, 2, 3] {
        assert_eq!(world.link(a(other), n(1)), LinkState::VersionMismatch);
        assert_eq!(world.link(a(1), n(other)), LinkState::VersionMismatch);
        for peer in [0, 2, 3] {
            assert_eq!(world.link(a(other), n(peer)), LinkState::Connected);
        }
    }
}

#[test]
fn recovery_waits_for_the_recorded_importers_and_for_nobody_else() {
    let mut world = up(5);
    apply(&mut world, Operation::Importers(a(0), BTreeSet::from([1, 3])));
    for host in 0..5 {
        apply(&mut world, Operation::Kill(a(host)));
    }
    let state = |world: &World| world.machine(a(0)).unwrap().state();
    apply(&mut world, Operation::Start(a(0)));
    for (next, expected) in
        [(2, NodeState::WaitingForRecovery), (1, NodeState::WaitingForRecovery), (3, NodeState::Ready)]
    {
        apply(&mut world, Operation::Start(a(next)));
        world.run_for(SECOND).unwrap();
        assert_eq!(state(&world), expected, "after node {next}");
    }
    assert!(world.machine(a(4)).is_none());
}

#[test]
fn after_a_clean_end_or_with_another_map_or_without_quorum_nobody_is_waited_for() {
    for how in ["clean", "map", "none"] {
        let mut world = up(3);
        apply(&mut world, Operation::Importers(a(0), BTreeSet::from([1, 2])));
        let end = if how == "clean" { Operation::Leave(a(0)) } else { Operation::Kill(a(0)) };
        apply(&mut world, end);
        if how == "map" {
            apply(&mut world, Operation::Map(a(0), MapChoice::Long));
        }
        if how == "none" {
            apply(&mut world, Operation::Quorum(a(0), QuorumMode::None));
        }
        world.run_for(SECOND).unwrap();
        isolate(&mut world, 0, Cut::Silent);
        apply(&mut world, Operation::Start(a(0)));
        world.run_for(Duration::from_millis(5)).unwrap();
        assert_eq!(world.machine(a(0)).unwrap().state(), NodeState::Ready, "{how}");
    }
}

#[test]
fn full_quorum_waits_for_all() {
    let mut world = cold(4, |config| config.quorum = QuorumMode::Full);
    for host in 0..3 {
        apply(&mut world, Operation::Start(a(host)));
    }
    settle(&mut world);
    for host in 0..3 {
        let machine = world.machine(a(host)).unwrap();
        assert_eq!(machine.state(), NodeState::WaitingForPeers);
        assert_eq!(machine.domain().state, DomainState::Down);
    }
    apply(&mut world, Operation::Start(a(3)));
    let took = world.check_heals().unwrap();
    assert!(took < Duration::from_millis(100), "{took:?}");
}

#[test]
fn one_way_loss_is_seen_from_the_side_that_hears_nothing() {
    let mut world = up(3);
    apply(&mut world, Operation::Cut(a(1), a(0), Cut::Silent));
    settle(&mut world);
    assert_eq!(world.link(a(0), n(1)), LinkState::Recovering, "no answer comes back");
    assert_eq!(world.link(a(1), n(0)), LinkState::Recovering, "no ping gets through");
    assert_eq!(world.link(a(1), n(2)), LinkState::Connected);
    world.heal().unwrap();
    world.check_heals().unwrap();
    assert_eq!(world.counts().clean_ups, 0);
}

#[test]
fn a_redial_restarts_nothing_and_nobody_sees_the_domain_go_down() {
    let mut world = up(4);
    apply(&mut world, Operation::Redial(a(1)));
    while world.now() < imex_core::Moment::after(SECOND * 2) {
        world.run_for(Duration::from_micros(20)).unwrap();
        for host in world.addresses() {
            assert_eq!(world.machine(host).unwrap().domain().ready, 4);
        }
    }
    assert!(world.is_up_everywhere());
    assert_eq!(world.counts().clean_ups, 0);
}

#[test]
fn a_table_shows_what_is_and_comes_before_its_deadline() {
    let mut world = up(4);
    apply(&mut world, Operation::Kill(a(3)));
    world.run_for(Duration::from_millis(100)).unwrap();
    apply(&mut world, Operation::Pause(a(2)));
    apply(&mut world, Operation::AskTable(a(0)));
    let deadline = world.timing().table_deadline;
    world.run_for(deadline).unwrap();
    let (_, table) = world.tables(a(0)).last().expect("answered by the deadline");
    let evidence: Vec<_> = table.rows.iter().map(|row| row.evidence).collect();
    assert_eq!(evidence, [Evidence::Own, Evidence::Asked, Evidence::NoAnswer, Evidence::NoAnswer]);
    assert_eq!(table.rows[1].links[3].state, LinkState::Recovering);
    assert_eq!(table.state, DomainState::Degraded);
}

#[test]
fn security_comes_before_any_peer() {
    let mut world = cold(3, |config| config.security = true);
    for address in world.addresses() {
        apply(&mut world, Operation::Start(address));
        assert_eq!(world.machine(address).unwrap().state(), NodeState::StartingAuthServer);
    }
    assert_eq!(world.counts().dials, 0);
    world.check_heals().unwrap();
}

#[test]
fn a_domain_whose_members_prove_who_they_are_forms_and_heals_like_any_other() {
    let mut world = cold(6, |config| config.security = true);
    start_all(&mut world);
    world.check_heals().unwrap();
    for fault in [Operation::Kill(a(2)), Operation::PowerOff(a(4))] {
        apply(&mut world, fault);
        world.run_for(SECOND * 4).unwrap();
    }
    for host in [2, 4] {
        apply(&mut world, Operation::Start(a(host)));
    }
    world.check_heals().unwrap();
    settle(&mut world);
    world.check_quiet().unwrap();
}

#[test]
fn credentials_of_another_site_part_one_node_and_putting_them_right_heals_all() {
    let mut world = cold(5, |config| config.security = true);
    apply(&mut world, Operation::Authority(a(4), 1));
    start_all(&mut world);
    settle(&mut world);
    world.check_quiet().unwrap();
    for (from, to) in pairs(4) {
        assert_eq!(world.link(a(from), n(to)), LinkState::Connected);
    }
    for right in 0..4 {
        assert_eq!(world.link(a(right), n(4)), LinkState::NeverConnected, "no mismatch of maps");
        let cause = world.machine(a(right)).unwrap().row(world.now())[4].cause.clone();
        assert_eq!(cause, Some(Cause::Unauthenticated(AuthFailure::OtherAuthority)));
    }
    apply(&mut world, Operation::Authority(a(4), 0));
    apply(&mut world, Operation::Kill(a(4)));
    apply(&mut world, Operation::Start(a(4)));
    let took = world.check_heals().unwrap();
    assert!(took < Duration::from_millis(100), "at once, its hello says it: {took:?}");
    assert_eq!(world.counts().clean_ups, 0, "nothing ever came from who was not believed");
}

#[test]
fn a_domain_that_is_dialled_anew_stays_up_throughout() {
    let mut world = up_with(6, |config| config.security = true);
    for address in world.addresses() {
        apply(&mut world, Operation::Redial(address));
    }
    for _ in 0..2_000 {
        world.run_for(Duration::from_micros(100)).unwrap();
        for address in world.addresses() {
            assert_eq!(world.machine(address).unwrap().domain().state, DomainState::Up, "{address:?}");
        }
    }
    settle(&mut world);
    world.check_quiet().unwrap();
    assert_eq!(world.counts().clean_ups, 0);
}

fn a(number: u16) -> Address {
    Address::new(number)
}

fn n(number: u16) -> NodeId {
    NodeId::new(number)
}

fn apply(world: &mut World, operation: Operation) {
    world.apply(&operation).unwrap();
}

/// A cluster in which no daemon runs yet.
fn cold(hosts: usize, change: impl FnOnce(&mut Config)) -> World {
    let mut plan = Plan::new(hosts, 11);
    change(&mut plan.config);
    World::new(plan)
}

fn start_all(world: &mut World) {
    for address in world.addresses() {
        apply(world, Operation::Start(address));
    }
}

fn up_with(hosts: usize, change: impl FnOnce(&mut Config)) -> World {
    let mut world = cold(hosts, change);
    start_all(&mut world);
    world.check_heals().unwrap();
    settle(&mut world);
    world
}

/// A domain that is UP and has come to rest.
fn up(hosts: usize) -> World {
    up_with(hosts, |_| {})
}

/// Lets everything end that a change can have set off.
fn settle(world: &mut World) {
    let bound = world.healing_bound();
    world.run_for(bound).unwrap();
}

fn others(world: &World, but: u16) -> Vec<Address> {
    world.addresses().filter(|address| *address != a(but)).collect()
}

fn pairs(nodes: u16) -> impl Iterator<Item = (u16, u16)> {
    (0..nodes).flat_map(move |from| (0..nodes).map(move |to| (from, to)))
}

fn isolate(world: &mut World, host: u16, how: Cut) {
    for other in others(world, host) {
        apply(world, Operation::Cut(a(host), other, how));
        apply(world, Operation::Cut(other, a(host), how));
    }
}

fn reasons(world: &World, observer: u16) -> Vec<CleanUpReason> {
    world.clean_ups(a(observer)).iter().map(|seen| seen.reason).collect()
}
