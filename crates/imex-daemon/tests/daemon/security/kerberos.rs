//! Kerberos over the life of a domain: a KDC that comes and goes, contexts that end, failures that are final.

use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use imex_core::{DomainState, LinkState, NodeState};
use imex_wire::DialTarget;
use nix::sys::signal::Signal;

use crate::support::realm::{LONG, Realm, key_table};
use crate::support::{Node, Rack, Stopwatch, block_on};

/// What a context's renewal must not cause.
const LOST: &str = "Connection lost to node";

#[test]
fn a_kdc_that_is_down_at_the_start_keeps_nobody_from_ready_and_all_heals_when_it_comes() {
    let Some(mut realm) = Realm::start("RACK.TEST", LONG) else { return };
    let rack = rack(&realm, 8);
    realm.kdc.stop();
    let nodes: Vec<Node> = (0..8).map(|k| rack.start(k)).collect();
    for node in &nodes {
        node.await_state(NodeState::Ready);
        node.await_log("check that a KDC of the realm runs");
        assert_ne!(node.link(0), Some(LinkState::Connected));
    }
    realm.kdc.start().unwrap();
    nodes.iter().for_each(|node| node.await_domain(DomainState::Up));
}

#[test]
fn contexts_are_renewed_without_losing_a_link_and_a_kdc_that_is_down_then_does_no_harm() {
    let Some(mut realm) = Realm::start("RACK.TEST", LONG) else { return };
    let rack = rack(&realm, 3);
    rack.set_all("IMEX_GSS_SEC_CONTEXT_LIFETIME_SEC", 1);
    let nodes = rack.start_all();
    realm.kdc.stop();
    // Each of the nine contexts is renewed twice or thrice.
    stays_up(&nodes, Duration::from_millis(2500));
    for node in &nodes {
        assert!(!node.log().contains("Number of times connected: 2"), "{}", node.log());
    }
}

#[test]
fn a_kdc_that_is_down_until_the_tickets_end_takes_the_domain_down_and_back_when_it_returns() {
    let Some(mut realm) = Realm::start("RACK.TEST", Duration::from_secs(4)) else { return };
    let rack = rack(&realm, 2);
    let nodes = rack.start_all();
    realm.kdc.stop();
    stays_up(&nodes, Duration::from_millis(1500));
    nodes.iter().for_each(|node| node.await_domain(DomainState::Degraded));
    nodes[0].await_log("could not be renewed; the link goes on until it ends, and tries again");
    realm.kdc.start().unwrap();
    nodes.iter().for_each(|node| node.await_domain(DomainState::Up));
}

#[test]
fn usr1_gets_new_tickets_and_the_domain_stays_up() {
    let Some(realm) = Realm::start("RACK.TEST", LONG) else { return };
    let rack = rack(&realm, 3);
    let nodes = rack.start_all();
    nodes[0].signal(Signal::SIGUSR1);
    nodes[0].await_log("Dialling every node anew");
    stays_up(&nodes, Duration::from_millis(300));
}

#[test]
fn a_node_without_its_key_ends_with_a_code_of_its_own_or_waits_for_the_key() {
    let Some(realm) = Realm::start("RACK.TEST", LONG) else { return };
    let rack = rack(&realm, 2);
    let (table, kept) = (key_table(&rack, 0), rack.dir(0).join("kept"));
    fs::rename(&table, &kept).unwrap();
    let (code, told) = rack.refused(0);
    assert_eq!(code, 8, "{told}");
    assert!(told.contains("imexd: failed to authenticate: this node has no credential to show"), "{told}");
    assert!(told.contains("`klist -k` shows what the key table holds"), "{told}");

    rack.set(0, "IMEX_GSS_SHUTDOWN_ON_FAILURE", 0);
    rack.set(0, "LOG_APPEND_TO_LOG", 0);
    let mut node = rack.start(0);
    node.expect_error("Kerberos does not work; it is tried again");
    node.await_log("Kerberos does not work; it is tried again");
    assert_eq!(node.status().map(|status| status.state), Some(NodeState::StartingAuthServer));
    fs::rename(&kept, &table).unwrap();
    let other = rack.start(1);
    node.await_domain(DomainState::Up);
    other.await_domain(DomainState::Up);
}

#[test]
fn authentication_that_fails_for_longer_than_it_may_ends_the_daemon_or_drops_the_peer() {
    let Some(mut realm) = Realm::start("RACK.TEST", LONG) else { return };
    let rack = rack(&realm, 2);
    rack.set_all("IMEX_GSS_TIMEOUT_SEC", 1);
    rack.set(1, "IMEX_GSS_SHUTDOWN_ON_FAILURE", 0);
    realm.kdc.stop();
    let (mut ends, mut goes_on) = (rack.start(0), rack.start(1));
    ends.expect_error("Failed for good to authenticate with node");
    goes_on.expect_error("failed for good; it is dropped");
    assert_eq!(ends.await_end(), Some(8));
    goes_on.await_log("failed for good; it is dropped");
    realm.kdc.start().unwrap();
    goes_on.await_link(1, LinkState::Connected);
}

#[test]
fn a_link_is_authenticating_while_the_far_end_takes_its_time() {
    let Some(realm) = Realm::start("RACK.TEST", LONG) else { return };
    let rack = rack(&realm, 2);
    // Somebody who accepts and says nothing.
    let silent = TcpListener::bind(rack.peer_address(1)).unwrap();
    let node = rack.start(0);
    node.await_link(1, LinkState::Authenticating);
    drop(silent);
}

#[test]
fn members_stay_up_and_a_real_one_joins_while_strangers_try_everything() {
    let Some(realm) = Realm::start("RACK.TEST", LONG) else { return };
    let rack = rack(&realm, 4);
    let members = [rack.start(0), rack.start(1)];
    for node in &members {
        node.await_link(0, LinkState::Connected);
        node.await_link(1, LinkState::Connected);
    }
    // They hold the address of a node: others are put out before they have said a word.
    let target = DialTarget { address: rack.peer_address(0), source: Some(rack.address(3)) };
    let preface = |mode: u8| [b"IMEX-GSS\x01", &[mode][..]].concat();
    let attempts: Vec<Vec<u8>> = vec![
        // No authentication at all.
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00".to_vec(),
        // Less of it.
        [preface(1), b"\x01\x00\x00\x04junk".to_vec()].concat(),
        // A record before the token; a token that is too long, cut short, of noughts.
        [preface(2), b"\x03\x00\x00\x04junk".to_vec()].concat(),
        [preface(2), b"\x01\x01\x00\x01".to_vec()].concat(),
        [preface(2), b"\x01\x00\x10\x00".to_vec(), vec![0x60; 100]].concat(),
        [preface(2), b"\x01\x00\x10\x00".to_vec(), vec![0; 4096]].concat(),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
    ];
    // Slow ones by the hundred: each has said that it begins, and no more.
    let slow: Vec<TcpStream> = (0..200).filter_map(|_| knock(target, &preface(2))).collect();
    let flood = thread::spawn(move || {
        let tries = attempts.iter().cycle().take(300);
        tries.filter_map(|bytes| knock(target, bytes)).count()
    });
    let watch = Stopwatch::start();
    let joined = rack.start(2);
    for (node, k) in [(&joined, 0), (&joined, 1), (&members[0], 2), (&members[1], 2)] {
        node.await_link(k, LinkState::Connected);
    }
    assert!(watch.elapsed() < JOIN, "{:?}", watch.elapsed());
    assert!(flood.join().unwrap() > 0);
    drop(slow);
    for node in &members {
        assert!(!node.log().contains("Number of times connected: 2"), "{}", node.log());
    }
    members[0].await_log("A connection did not authenticate");
}

/// The second that a member may take to join, and what a machine that is busy with other tests takes besides.
const JOIN: Duration = Duration::from_secs(5);

fn knock(target: DialTarget, bytes: &[u8]) -> Option<TcpStream> {
    let connected = block_on(async { imex_wire::connect(target).await.ok()?.into_std().ok() });
    let mut stream = connected?;
    stream.set_nonblocking(false).ok()?;
    // It may have been put out already.
    let _ = stream.write_all(bytes);
    Some(stream)
}

fn rack(realm: &Realm, nodes: usize) -> Rack {
    let rack = Rack::new(nodes);
    realm.admit_all(&rack, nodes, "GSS_AUTH_ENCRYPT");
    rack
}

fn stays_up(nodes: &[Node], time: Duration) {
    let watch = Stopwatch::start();
    while watch.elapsed() < time {
        for node in nodes {
            let state = node.table().map(|table| table.state);
            assert_eq!(state, Some(DomainState::Up), "{}", node.log());
        }
        thread::sleep(Duration::from_millis(50));
    }
    for node in nodes {
        assert!(!node.log().contains(LOST), "{}", node.log());
    }
}
