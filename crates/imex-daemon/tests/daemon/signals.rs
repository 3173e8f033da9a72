//! HUP and USR1; the signals that end a node are among its starts and stops.

use std::time::Duration;

use imex_core::{DomainState, LinkState, NodeState};
use nix::sys::signal::Signal;

use crate::support::{Rack, Stopwatch, eventually};

#[test]
fn hup_writes_what_the_level_held_back() {
    let rack = Rack::new(1);
    rack.set(0, "LOG_LEVEL", 3);
    let mut node = rack.start(0);
    node.await_state(NodeState::Ready);
    assert!(!node.log().contains("[INFO]"), "{}", node.log());
    node.signal(Signal::SIGHUP);
    assert!(
        eventually(|| node.file("verbose").contains("Identified this node as ID 0")),
        "{}",
        node.file("verbose")
    );
    assert_eq!(node.file("verbose").matches("Identified this node").count(), 1);
    node.stop();
}

#[test]
fn what_the_level_held_back_is_written_at_the_stop_too() {
    let rack = Rack::new(1);
    rack.set(0, "LOG_LEVEL", 3);
    let mut node = rack.start(0);
    node.await_state(NodeState::Ready);
    node.stop();
    assert!(node.file("verbose").contains("The daemon ends"), "{}", node.file("verbose"));
}

#[test]
fn usr1_dials_anew_at_most_once_per_five_seconds_and_loses_no_wish() {
    let rack = Rack::new(2);
    let nodes = rack.start_all();
    let redials = || nodes[0].log().matches("Dialling every node anew").count();
    let watch = Stopwatch::start();
    nodes[0].signal(Signal::SIGUSR1);
    assert!(eventually(|| redials() == 1));
    for _ in 0..5 {
        nodes[0].signal(Signal::SIGUSR1);
    }
    assert!(eventually(|| redials() == 2), "the wish in the window was lost");
    // The window began after the watch.
    assert!(watch.elapsed() >= Duration::from_secs(5), "{:?}", watch.elapsed());
    nodes[0].await_link(1, LinkState::Connected);
    nodes[0].await_domain(DomainState::Up);
    nodes[1].await_domain(DomainState::Up);
}

#[test]
fn a_stop_is_quick_although_a_peer_is_stopped() {
    let rack = Rack::new(2);
    let mut nodes = rack.start_all();
    nodes[1].signal(Signal::SIGSTOP);
    let watch = Stopwatch::start();
    nodes[0].stop();
    assert!(watch.elapsed() < Duration::from_secs(5), "{:?}", watch.elapsed());
    nodes[1].expect_error("Node disconnect event detected");
    nodes[1].signal(Signal::SIGCONT);
}
