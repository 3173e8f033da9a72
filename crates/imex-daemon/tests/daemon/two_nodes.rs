//! A domain of two or three real processes, and what becomes of it.

mod link_local;

use imex_core::cause::{Cause, Unreachable};
use imex_core::{DomainState, LinkState, NodeState};
use nix::sys::signal::Signal;

use crate::support::{Rack, eventually};

const DISCONNECT: &str = "Node disconnect event detected for node";

#[test]
fn a_domain_forms_and_says_so_in_the_log() {
    let rack = Rack::new(2);
    let mut nodes = rack.start_all();
    let address = rack.address(1);
    for line in [
        "IMEX Log initializing at: ".to_owned(),
        "is running in NO GPU MODE".to_owned(),
        format!("Identified this node as ID 1, using bind IP of '{address}', and network interface of lo"),
        "Creating gRPC channels to all peers (nPeers = 2).".to_owned(),
        format!(
            "Connection established to node 0 with ip address {}. Number of times connected: 1",
            rack.address(0)
        ),
        "The domain is UP".to_owned(),
    ] {
        nodes[1].await_log(&line);
    }
    nodes[0].expect_error(DISCONNECT);
    nodes[1].stop();
    nodes[0].await_log("Received notification of shutdown from node 1 - ");
    nodes[0].await_domain(DomainState::Degraded);
    nodes[0].stop();
}

#[test]
fn a_killed_member_is_missed_at_once_and_its_successor_cleaned_up_once() {
    let rack = Rack::new(2);
    let mut nodes = rack.start_all();
    nodes[1].kill();
    nodes[0].await_link(1, LinkState::Recovering);
    nodes[0].await_log("Connection lost to node 1: ");
    nodes[0].expect_error(DISCONNECT);
    nodes[1] = rack.start(1);
    nodes[0].await_domain(DomainState::Up);
    nodes[1].await_domain(DomainState::Up);
    nodes[0].await_log("Number of times connected: 2");
    assert_eq!(nodes[0].log().matches(DISCONNECT).count(), 1, "{}", nodes[0].log());
    nodes[1].expect_error(DISCONNECT);
    nodes[0].stop();
    nodes[1].stop();
}

#[test]
fn with_no_grace_time_a_killed_member_is_cleaned_up_and_disconnected() {
    let rack = Rack::new(2);
    rack.set_all("IMEX_NODE_DISCONNECTED_GRACE_TIME", 0);
    let mut nodes = rack.start_all();
    nodes[0].expect_error(DISCONNECT);
    nodes[1].kill();
    nodes[0].await_link(1, LinkState::Disconnected);
    nodes[0].await_log(DISCONNECT);
}

#[test]
fn a_stopped_member_is_found_silent_and_taken_back_without_clean_up() {
    let rack = Rack::new(2);
    let nodes = rack.start_all();
    nodes[1].signal(Signal::SIGSTOP);
    nodes[0].await_link(1, LinkState::Recovering);
    nodes[0].await_log("because it stopped answering");
    // Its kernel takes every connection, so whoever looks is sent to the daemon and not to the machine.
    let unanswered = || {
        let cause = nodes[0].table().and_then(|table| table.rows[0].links[1].cause.clone());
        cause == Some(Cause::Unreachable(Unreachable::Unanswered))
    };
    assert!(eventually(unanswered), "{}", nodes[0].log());
    let table = nodes[0].table().unwrap();
    assert_eq!(table.rows[1].state, NodeState::Unavailable);
    nodes[1].signal(Signal::SIGCONT);
    nodes[0].await_domain(DomainState::Up);
    nodes[1].await_domain(DomainState::Up);
}

#[test]
fn a_member_restarted_a_hundred_times_is_met_again_each_time() {
    let rack = Rack::new(2);
    let mut nodes = rack.start_all();
    nodes[0].expect_error(DISCONNECT);
    for round in 1..=100 {
        nodes[1].kill();
        nodes[1] = rack.start(1);
        let clean_ups = || nodes[0].log().matches(DISCONNECT).count();
        assert!(eventually(|| clean_ups() >= round), "round {round}: {}", clean_ups());
        assert_eq!(clean_ups(), round, "one clean-up per restart");
    }
    nodes[0].await_domain(DomainState::Up);
    nodes[1].await_domain(DomainState::Up);
}

#[test]
fn one_wrong_map_is_named_on_both_sides_and_heals_when_it_is_put_right() {
    let rack = Rack::new(3);
    let right = std::fs::read(rack.dir(2).join("nodes.cfg")).unwrap();
    let wrong = [1, 0, 2].map(|k| rack.address(k).to_string()).join("\n");
    rack.write_nodes(2, wrong);
    let nodes = [0, 1, 2].map(|k| rack.start(k));
    nodes[0].await_link(2, LinkState::MapMismatch);
    nodes[2].await_link(0, LinkState::MapMismatch);
    nodes[0].await_link(1, LinkState::Connected);
    for node in [&nodes[0], &nodes[2]] {
        node.await_log("Node configuration mapping mismatch");
        node.await_log("entry 0: ");
    }
    let [first, second, mut third] = nodes;
    third.stop();
    rack.write_nodes(2, right);
    let third = rack.start(2);
    for node in [&first, &second, &third] {
        node.await_domain(DomainState::Up);
    }
}

#[test]
fn another_domain_token_is_another_domain() {
    let rack = Rack::new(2);
    rack.set(1, "OPENIMEX_DOMAIN_TOKEN", "job-2");
    let nodes = [rack.start(0), rack.start(1)];
    for node in &nodes {
        node.await_log("because its address belongs to another domain");
        node.await_domain(DomainState::Degraded);
    }
}

#[test]
fn full_quorum_waits_for_everybody() {
    let rack = Rack::new(2);
    rack.set_all("IMEX_WAIT_FOR_QUORUM", "FULL");
    let first = rack.start(0);
    first.await_state(NodeState::WaitingForPeers);
    first.await_domain(DomainState::Down);
    let second = rack.start(1);
    first.await_state(NodeState::Ready);
    second.await_domain(DomainState::Up);
}

#[test]
fn host_names_in_the_map_are_resolved_and_accepted() {
    let rack = Rack::new(2);
    let map = format!("localhost\n{}\n", rack.address(1));
    rack.set(0, "BIND_INTERFACE_IP", "127.0.0.1");
    // Everybody's localhost has the same address, so this test needs a port of its own.
    let port = 20000 + std::process::id() % 10000;
    for k in 0..2 {
        rack.write_nodes(k, &map);
        rack.set(k, "SERVER_PORT", port);
    }
    let nodes = rack.start_all();
    nodes[1].await_log("Treating node config entry 'localhost' as a host name.");
}

#[test]
fn a_node_with_an_ipv6_address_connects_to_itself() {
    let rack = Rack::new(1);
    rack.write_nodes(0, "::1\n");
    rack.set(0, "BIND_INTERFACE_IP", "::1");
    rack.set(0, "SERVER_PORT", 30000 + std::process::id() % 10000);
    let mut node = rack.start(0);
    node.await_domain(DomainState::Up);
    node.stop();
}
