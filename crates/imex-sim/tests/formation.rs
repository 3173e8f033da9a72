//! How much it takes to form a domain, by count, not by clock.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::time::Duration;

use imex_core::DomainState;
use imex_sim::{Operation, Plan, World, bench};

/// Messages per ordered pair while a domain forms: the two first reports on its stream, and the reports of its two ends
/// as their rows fill (coalesced to one per gap, told by one stream only) and as they become READY and complete.
const MESSAGES_PER_PAIR: u64 = 12;

/// A domain of so many nodes, all started within `spread`.
fn form(nodes: usize, spread: Duration) -> World {
    let mut world = World::new(Plan::new(nodes, 7));
    let gap = spread / u32::try_from(nodes).unwrap();
    for address in world.addresses() {
        world.apply(&Operation::Start(address)).unwrap();
        world.run_for(gap).unwrap();
    }
    world.check_heals().unwrap();
    world
}

#[test]
fn messages_grow_with_the_square_of_the_nodes() {
    for nodes in [2, 8, 32, 128] {
        for spread in [Duration::ZERO, Duration::from_millis(900)] {
            let world = form(nodes, spread);
            let pairs = u64::try_from(nodes * nodes).unwrap();
            let messages = world.counts().messages;
            assert!(
                messages <= MESSAGES_PER_PAIR * pairs,
                "{nodes} nodes within {spread:?}: {messages} messages for {pairs} pairs"
            );
        }
    }
}

#[test]
fn the_last_of_a_rack_joins_in_a_few_round_trips() {
    let mut world = World::new(Plan::new(18, 7));
    for address in world.addresses().take(17) {
        world.apply(&Operation::Start(address)).unwrap();
    }
    world.run_for(Duration::from_secs(20)).unwrap();
    let last = world.addresses().last().unwrap();
    world.apply(&Operation::Start(last)).unwrap();
    let took = world.check_heals().unwrap();
    assert!(took <= Duration::from_millis(50), "took {took:?}");
}

#[test]
fn two_hundred_and_fifty_six_nodes_form_a_domain() {
    let formed = bench::formation(256);
    assert!(formed.events > 256 * 256, "{formed:?}");
}

#[test]
#[ignore = "16.8 million links take gigabytes of memory and minutes"]
fn four_thousand_and_ninety_six_nodes_form_a_domain() {
    let formed = bench::formation(4096);
    println!("{formed:?}");
    assert!(formed.events > 4096 * 4096, "{formed:?}");
}

#[test]
fn a_domain_stays_up_when_it_is_left_alone() {
    let mut world = form(16, Duration::ZERO);
    world.run_for(Duration::from_secs(600)).unwrap();
    world.check_quiet().unwrap();
    assert!(world.is_up_everywhere());
    let state = world.machine(imex_sim::Address::new(3)).unwrap().domain().state;
    assert_eq!(state, DomainState::Up);
    assert_eq!(world.counts().clean_ups, 0);
}
