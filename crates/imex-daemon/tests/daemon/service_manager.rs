//! What a service manager hears.

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use imex_core::NodeState;

use crate::support::{Node, PATIENCE, Rack, Stopwatch};

#[test]
fn ready_is_told_only_when_the_node_is_ready_and_stopping_before_it_ends() {
    let rack = Rack::new(2);
    rack.set_all("IMEX_WAIT_FOR_QUORUM", "FULL");
    rack.set(0, "DAEMONIZE", 1);
    let (manager, mut node) = start_managed(&rack, None);
    node.await_state(NodeState::WaitingForPeers);
    let early = hear_until(&manager, "WAITING_FOR_PEERS");
    assert!(!early.contains("READY=1"), "{early}");
    let mut other = rack.start(1);
    let ready = hear_until(&manager, "READY=1");
    assert!(ready.contains("STATUS="), "{ready}");
    other.expect_error("Node disconnect event detected");
    assert!(node.runs(), "it did not go to the background");
    node.stop();
    hear_until(&manager, "STOPPING=1");
}

#[test]
fn the_watchdog_is_fed_while_the_loop_turns() {
    let rack = Rack::new(1);
    let (manager, mut node) = start_managed(&rack, Some(Duration::from_millis(400)));
    for _ in 0..3 {
        hear_until(&manager, "WATCHDOG=1");
    }
    node.stop();
}

fn start_managed(rack: &Rack, watchdog: Option<Duration>) -> (UnixDatagram, Node) {
    let path = rack.dir(0).join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let mut command = rack.command(0);
    command.env("NOTIFY_SOCKET", path);
    if let Some(watchdog) = watchdog {
        command.env("WATCHDOG_USEC", watchdog.as_micros().to_string());
    }
    (manager, rack.spawn(0, &mut command))
}

/// Everything that was told up to a message with this text.
fn hear_until(manager: &UnixDatagram, text: &str) -> String {
    let watch = Stopwatch::start();
    let mut heard = String::new();
    let mut buffer = [0; 4096];
    while watch.elapsed() < PATIENCE {
        if let Ok(size) = manager.recv(&mut buffer) {
            let message = String::from_utf8_lossy(&buffer[..size]);
            heard.push_str(&message);
            if message.contains(text) {
                return heard;
            }
        }
    }
    panic!("never heard {text:?}, only {heard:?}");
}
