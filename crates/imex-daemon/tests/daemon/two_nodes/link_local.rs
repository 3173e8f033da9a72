//! IPv6 link-local addresses, in two networks joined by a cable.

use imex_core::DomainState;

use crate::support::namespace::{self, Network};
use crate::support::{Node, Rack};

#[test]
fn entries_with_a_zone_reach_each_other_by_that_interface() {
    let Some((rack, networks)) = joined() else { return };
    (0..2).for_each(|k| rack.write_nodes(k, "fe80::1%wire\nfe80::2%wire\n"));
    let nodes = start(&rack, &networks);
    nodes[0].await_log("network interface of wire");
    nodes[1].await_log("Connection established to node 0 with ip address fe80::1%wire");
}

#[test]
fn entries_without_a_zone_need_an_interface_where_two_have_the_address() {
    let Some((rack, networks)) = joined() else { return };
    networks[0].ip("link add other type veth peer name end");
    networks[0].ip("addr add fe80::1/64 dev other nodad");
    (0..2).for_each(|k| rack.write_nodes(k, "fe80::1\nfe80::2\n"));
    let output = namespace::append(networks[0].enter(), &rack.command(0)).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("fe80::1 is on several interfaces: wire, other"), "{text}");
    assert!(text.contains("NETWORK_INTERFACE"), "{text}");
    rack.set(0, "NETWORK_INTERFACE", "wire");
    start(&rack, &networks);
}

/// Starts both nodes and waits until each sees the domain UP.
fn start(rack: &Rack, networks: &[Network; 2]) -> [Node; 2] {
    let nodes = [0, 1].map(|k| {
        let mut command = namespace::append(networks[k].enter(), &rack.command(k));
        rack.spawn(k, &mut command)
    });
    nodes.iter().for_each(|node| node.await_domain(DomainState::Up));
    nodes
}

/// Two nodes for two networks, in which the interface `wire` has `fe80::1` and `fe80::2`.
fn joined() -> Option<(Rack, [Network; 2])> {
    if !namespace::available() {
        return None;
    }
    let networks = [Network::new(), Network::new()];
    let far = networks[1].pid();
    networks[0].ip(&format!("link add wire type veth peer name wire netns {far}"));
    let rack = Rack::new(2);
    for (k, network) in networks.iter().enumerate() {
        let address = format!("fe80::{}", k + 1);
        network.ip(&format!("addr add {address}/64 dev wire nodad"));
        network.ip("link set wire up");
        rack.set(k, "BIND_INTERFACE_IP", address);
    }
    Some((rack, networks))
}
