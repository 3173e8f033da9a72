//! Mutual TLS between real daemons.

use imex_core::DomainState;

use crate::support::Rack;
use crate::support::pki::Authority;

#[test]
fn eight_nodes_with_certificates_of_one_authority_form_a_domain() {
    let rack = Rack::new(8);
    rack.secure_all(8, &Authority::new("site"));
    let nodes = rack.start_all();
    for node in &nodes {
        let table = node.table().unwrap();
        assert_eq!(table.state, DomainState::Up);
    }
}

#[test]
fn new_credentials_are_taken_into_use_by_all_though_one_is_told_and_the_domain_stays_up() {
    const NODES: usize = 8;
    let rack = Rack::new(NODES);
    let site = Authority::new("site");
    rack.secure_all(NODES, &site);
    let nodes = rack.start_all();
    let before: Vec<u64> = nodes.iter().map(|node| instance_changes(node)).collect();
    rack.secure_all(NODES, &site);
    let watch = watch_domain(&nodes[5]);
    nodes[0].signal(Signal::SIGUSR1);
    for node in &nodes {
        node.await_log("New credentials are in use for every connection from now on");
        node.await_log("Dialling every node anew");
    }
    for node in &nodes {
        node.await_domain(DomainState::Up);
    }
    let down = watch.finish();
    eprintln!("down for {down:?}");
    let after: Vec<u64> = nodes.iter().map(|node| instance_changes(node)).collect();
    assert_eq!(before, after, "nothing was cleaned up");
}
