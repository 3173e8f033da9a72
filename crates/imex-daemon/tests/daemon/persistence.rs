//! The persist file over starts and ends.

use std::fs;

use imex_core::{NodeMap, NodeState};

use crate::support::Rack;

#[test]
fn a_node_waits_for_those_who_had_imported_from_it_and_for_nobody_else() {
    let rack = Rack::new(3);
    write_importers(&rack, 0, &[1]);
    let first = rack.start(0);
    first.await_state(NodeState::WaitingForRecovery);
    first.await_log("1 nodes had imported from this one");
    let _third = rack.start(2);
    first.await_link(2, imex_core::LinkState::Connected);
    first.await_state(NodeState::WaitingForRecovery);
    let _second = rack.start(1);
    first.await_state(NodeState::Ready);
}

#[test]
fn a_clean_stop_leaves_nobody_to_wait_for() {
    let rack = Rack::new(2);
    write_importers(&rack, 0, &[1]);
    let mut node = rack.start(0);
    node.await_state(NodeState::WaitingForRecovery);
    node.stop();
    assert_eq!(node.file("persist.dat"), key(&rack, 0));
    let mut node = rack.start(0);
    node.await_state(NodeState::Ready);
    node.await_log("Nobody imports from this node");
    node.stop();
}

#[test]
fn without_importers_the_file_is_the_key_from_the_start_to_any_end() {
    let rack = Rack::new(2);
    for old in [None, Some("0000\nNode 1: 10.0.0.1\n")] {
        let path = rack.dir(0).join("persist.dat");
        match old {
            Some(text) => fs::write(path, text).unwrap(),
            None => assert!(!path.exists()),
        }
        let mut node = rack.start(0);
        node.await_state(NodeState::Ready);
        assert_eq!(node.file("persist.dat"), key(&rack, 0));
        node.kill();
        assert_eq!(node.file("persist.dat"), key(&rack, 0));
    }
    rack.start(0).await_state(NodeState::Ready);
}

#[test]
fn without_quorum_nobody_is_waited_for() {
    let rack = Rack::new(2);
    rack.set(0, "IMEX_WAIT_FOR_QUORUM", "NONE");
    write_importers(&rack, 0, &[1]);
    rack.start(0).await_state(NodeState::Ready);
}

#[test]
fn a_file_of_another_map_or_of_nobody_is_not_believed() {
    let rack = Rack::new(2);
    for content in ["0000\nNode 1: 10.0.0.1\n", "", "\u{0}\u{1}", "nonsense"] {
        fs::write(rack.dir(0).join("persist.dat"), content).unwrap();
        let mut node = rack.start(0);
        node.await_state(NodeState::Ready);
        node.stop();
    }
}

#[test]
fn a_place_that_does_not_exist_does_not_keep_a_node_from_serving() {
    let rack = Rack::new(1);
    rack.set(0, "OPENIMEX_PERSIST_FILE", "/proc/nonexistent/persist.dat");
    let mut node = rack.start(0);
    node.await_state(NodeState::Ready);
    node.stop();
}

fn write_importers(rack: &Rack, k: usize, importers: &[usize]) {
    let mut text = key(rack, k);
    for importer in importers {
        text += &format!("Node {importer}: {}\n", rack.address(*importer));
    }
    fs::write(rack.dir(k).join("persist.dat"), text).unwrap();
}

/// The file's first line.
fn key(rack: &Rack, k: usize) -> String {
    let map = fs::read_to_string(rack.dir(k).join("nodes.cfg")).unwrap();
    NodeMap::new(map.lines()).unwrap().digest().to_string() + "\n"
}
