//! Which node this machine is, and by which address it is reached.

use std::ffi::OsString;
use std::io;
use std::net::IpAddr;
use std::path::Path;

use imex_config::{FileId, LocalAddress, Machine, Overrides, resolve};

use crate::fake::{FakeMachine, resolved, settings, written};

#[test]
fn the_entry_that_is_a_local_address_is_this_node() {
    assert_eq!(bind("", "10.0.0.2\n10.1.0.1\n"), expected(1, "10.1.0.1", 0, "eth1"));
    assert_eq!(bind("", "2001:db8::2\n2001:db8::1\n"), expected(1, "2001:db8::1", 0, "eth1"));
    assert_eq!(bind("", "::ffff:10.0.0.1\n10.0.0.2\n"), expected(0, "10.0.0.1", 0, "eth0"));
}

#[test]
fn every_address_of_the_loopback_network_is_local() {
    assert_eq!(bind("", "127.18.0.5\n"), expected(0, "127.18.0.5", 0, "lo"));
}

#[test]
fn among_several_local_addresses_the_bind_address_decides() {
    let nodes = "127.0.0.1\n127.0.0.2\n127.0.0.3\n";
    assert_eq!(bind("BIND_INTERFACE_IP=127.0.0.2\n", nodes), expected(1, "127.0.0.2", 0, "lo"));
}

#[test]
fn a_name_is_this_node_when_it_resolves_to_a_local_address() {
    assert_eq!(bind("", "node-2\nnode-1\n"), expected(1, "10.0.0.1", 0, "eth0"));
}

#[test]
fn of_a_names_addresses_the_one_that_others_reach_is_bound() {
    assert_eq!(bind("", "node-2\nboth\n"), expected(1, "10.1.0.1", 0, "eth1"));
}

#[test]
fn the_bind_address_is_bound_even_if_the_name_is_loopback_here() {
    assert_eq!(bind("BIND_INTERFACE_IP=10.0.0.1\n", "node-2\ndebian\n"), expected(1, "10.0.0.1", 0, "eth0"));
}

#[test]
fn no_name_is_looked_up_when_an_address_decides() {
    let machine = FakeMachine::default();
    let written = written(b"", b"10.0.0.1\nnode-2\ngone\n");
    assert!(resolve(&written, &Overrides::default(), &machine).0.is_some());
    assert_eq!(machine.look_ups(), 0);
}

#[test]
fn each_name_is_looked_up_once() {
    let machine = FakeMachine::default();
    let mut nodes: String = (0..100).map(|n| format!("gone-{n}\n")).collect();
    nodes.push_str("node-1\n");
    let (settings, _) = resolve(&written(b"", nodes.as_bytes()), &Overrides::default(), &machine);
    assert_eq!(settings.unwrap().node.number(), 100);
    assert_eq!(machine.look_ups(), 101);
}

#[test]
fn a_link_local_address_takes_its_interface_from_the_entry_the_key_or_the_machine() {
    assert_eq!(bind("", "fe80::2\nfe80::7\n"), expected(1, "fe80::7", 3, "eth1"), "only one has it");
    assert_eq!(bind("", "fe80::1%eth0\nfe80::2%eth0\n"), expected(0, "fe80::1", 2, "eth0"), "the entry");
    assert_eq!(bind("NETWORK_INTERFACE=eth1\n", "fe80::1\n"), expected(0, "fe80::1", 3, "eth1"), "the key");
    assert_eq!(bind("BIND_INTERFACE_IP=fe80::1%eth1\n", "fe80::1\n"), expected(0, "fe80::1", 3, "eth1"));
}

#[test]
fn a_socket_address_has_port_and_scope() {
    let settings = settings("", "fe80::7\n");
    assert_eq!(settings.bind.socket_addr(50000).to_string(), "[fe80::7%3]:50000");
}

#[test]
fn an_interface_in_the_entry_and_one_in_the_key_must_be_the_same() {
    let config = "BIND_INTERFACE_IP=fe80::1%eth1\n";
    assert_eq!(bind(config, "fe80::1%eth0\nfe80::1%eth1\n"), expected(1, "fe80::1", 3, "eth1"));
    let (settings, problems) = resolved("NETWORK_INTERFACE=eth1\n", "fe80::1%eth0\n");
    assert!(settings.is_none());
    assert_eq!(problems.iter().next().unwrap().what, "fe80::1 is not on interface eth1");
}

#[test]
fn a_machine_that_cannot_list_its_addresses_says_so_once() {
    let (settings, problems) = resolve(&written(b"", b"10.0.0.1\n"), &Overrides::default(), &BlindMachine);
    assert!(settings.is_none());
    let texts: Vec<_> = problems.iter().map(|problem| problem.what.as_str()).collect();
    assert_eq!(texts, ["addresses of this machine cannot be listed: out of memory"]);
}

/// Node id, address, scope id and interface.
fn bind(config: &str, nodes: &str) -> (u16, String, u32, String) {
    let settings = settings(config, nodes);
    let bind = settings.bind;
    (settings.node.number(), bind.address.to_string(), bind.scope_id, bind.interface)
}

fn expected(node: u16, address: &str, scope_id: u32, interface: &str) -> (u16, String, u32, String) {
    (node, address.to_owned(), scope_id, interface.to_owned())
}

/// A machine that does not know its addresses.
struct BlindMachine;

impl Machine for BlindMachine {
    fn addresses(&self) -> io::Result<Vec<LocalAddress>> {
        Err(io::ErrorKind::OutOfMemory.into())
    }

    fn look_up(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
        unreachable!("no name is in the map")
    }

    fn variable(&self, _name: &str) -> Option<OsString> {
        None
    }

    fn file(&self, _path: &Path) -> Option<FileId> {
        None
    }
}
