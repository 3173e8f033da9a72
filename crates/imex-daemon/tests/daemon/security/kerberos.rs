//! Kerberos over the life of a domain: a KDC that comes and goes, contexts that end, failures that are final.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::Duration;

use imex_core::{DomainState, LinkState, NodeState};
use nix::sys::signal::Signal;

use crate::support::realm::{LONG, Realm, key_table, set_clock};
use crate::support::{Node, Rack, eventually};

/// What a context's renewal must not cause.
const LOST: &str = "Connection lost to node";

/// Seconds that contexts live, or tickets: a third of it, which is left when they are renewed, is more than that takes on the
/// slowest machine.
const LIFETIME: u32 = 9;

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
    rack.set_all("IMEX_GSS_SEC_CONTEXT_LIFETIME_SEC", LIFETIME);
    let nodes = rack.start_all();
    realm.kdc.stop();
    // Each node renews its three contexts, each twice.
    await_renewals(&nodes, 6);
    have_lost_nobody(&nodes);
}

#[test]
fn a_kdc_that_is_down_until_the_tickets_end_takes_the_domain_down_and_back_when_it_returns() {
    let Some(mut realm) = Realm::start("RACK.TEST", Duration::from_secs(LIFETIME.into())) else { return };
    let rack = rack(&realm, 2);
    let nodes = rack.start_all();
    realm.kdc.stop();
    nodes.iter().for_each(|node| node.await_domain(DomainState::Degraded));
    let said = "could not be renewed; the link goes on until it ends, and tries again";
    [said, LOST].iter().for_each(|text| nodes[0].await_log(text));
    // As long as it can it goes on.
    let log = nodes[0].log();
    assert!(log.find(said) < log.find(LOST), "{log}");
    realm.kdc.start().unwrap();
    nodes.iter().for_each(|node| node.await_domain(DomainState::Up));
}

#[test]
fn usr1_gets_new_tickets_and_the_domain_stays_up() {
    let Some(realm) = Realm::start("RACK.TEST", LONG) else { return };
    let rack = rack(&realm, 3);
    let nodes = rack.start_all();
    let before = realm.initial_tickets();
    nodes[0].signal(Signal::SIGUSR1);
    nodes[0].await_log("Dialling every node anew");
    assert_eq!(realm.initial_tickets(), before + 1);
    nodes.iter().for_each(|node| node.await_domain(DomainState::Up));
    have_lost_nobody(&nodes);
}

#[test]
fn usr1_while_the_kdc_is_down_takes_nothing_from_anybody() {
    let Some(mut realm) = Realm::start("RACK.TEST", LONG) else { return };
    let rack = rack(&realm, 3);
    rack.set_all("IMEX_GSS_SEC_CONTEXT_LIFETIME_SEC", LIFETIME);
    let mut nodes = rack.start_all();
    nodes[0].expect_error("those in use stay, and nothing else changes");
    realm.kdc.stop();
    nodes[0].signal(Signal::SIGUSR1);
    nodes[0].await_log("those in use stay, and nothing else changes");
    nodes[0].await_log("check that a KDC of the realm runs");
    // Its tickets are still there to renew contexts with.
    let before = renewals(&nodes[0]);
    await_renewals(&nodes[..1], before + 3);
    have_lost_nobody(&nodes);
}

#[test]
fn usr1_with_tickets_that_have_expired_changes_nothing_and_with_a_wrong_clock_parts_the_node_alone() {
    let Some(realm) = Realm::start("RACK.TEST", LONG) else { return };
    let rack = rack(&realm, 2);
    // Somebody else fills its cache.
    realm.have_tickets_alone(&rack, 0, &[0, 1], None);
    let mut nodes = rack.start_all();
    realm.have_tickets_alone(&rack, 0, &[], Some(1));
    // The library counts whole seconds.
    thread::sleep(Duration::from_millis(2100));
    nodes[0].expect_error("those in use stay, and nothing else changes");
    nodes[0].signal(Signal::SIGUSR1);
    nodes[0].await_log("those in use stay, and nothing else changes");
    nodes[0].await_log("The referenced credential has expired");
    have_lost_nobody(&nodes);
    assert!(!nodes[0].log().contains("Dialling every node anew"), "{}", nodes[0].log());

    let cache = realm.have_tickets_alone(&rack, 0, &[0, 1], None);
    set_clock(&cache, 600);
    nodes[0].signal(Signal::SIGUSR1);
    nodes[0].await_link(1, LinkState::Recovering);
    nodes[0].await_log("its clock and this node's differ too much");
    // Whoever dials it is no worse off for its clock.
    assert_eq!(nodes[1].link(0), Some(LinkState::Connected));
}

#[test]
fn a_node_without_its_key_ends_with_a_code_of_its_own_or_waits_for_the_key() {
    let Some(realm) = Realm::start("RACK.TEST", LONG) else { return };
    let rack = rack(&realm, 2);
    let (table, kept) = (key_table(&rack, 0), rack.dir(0).join("kept"));
    fs::rename(&table, &kept).unwrap();
    let (code, told) = rack.check(0);
    assert_eq!(code, 3, "{told}");
    assert!(told.contains(&format!("warning: there is no key table {}", table.display())), "{told}");
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
fn a_key_table_that_others_can_read_is_warned_of_and_used() {
    let Some(realm) = Realm::start("RACK.TEST", LONG) else { return };
    let rack = rack(&realm, 1);
    let table = key_table(&rack, 0);
    assert_eq!(rack.check(0).0, 0);
    fs::set_permissions(&table, Permissions::from_mode(0o644)).unwrap();
    let (_, told) = rack.check(0);
    assert!(told.contains("krb5.keytab: mode 0644 lets others read this private key"), "{told}");
    rack.start(0).await_domain(DomainState::Up);
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

fn rack(realm: &Realm, nodes: usize) -> Rack {
    let rack = Rack::new(nodes);
    realm.admit_all(&rack, nodes, "GSS_AUTH_ENCRYPT");
    rack
}

/// Waits until each of these has renewed so many contexts since its start.
fn await_renewals(nodes: &[Node], count: usize) {
    for node in nodes {
        assert!(eventually(|| renewals(node) >= count), "{}", node.file("verbose"));
    }
}

fn renewals(node: &Node) -> usize {
    node.signal(Signal::SIGHUP);
    node.file("verbose").matches("Renewed a Kerberos context").count()
}

fn have_lost_nobody(nodes: &[Node]) {
    for node in nodes {
        let state = node.table().map(|table| table.state);
        assert_eq!(state, Some(DomainState::Up), "{}", node.log());
        assert!(!node.log().contains(LOST), "{}", node.log());
        assert!(!node.log().contains("Number of times connected: 2"), "{}", node.log());
    }
}
