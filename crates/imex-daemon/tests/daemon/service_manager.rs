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

#[test]
fn the_unit_keeps_keys_out_of_core_files_and_lets_kerberos_work() {
    let unit = include_str!("../../../../dist/systemd/imexd.service");
    let settings: Vec<&str> = unit.lines().filter(|line| !line.starts_with('#')).collect();
    let values = |key: &str| -> Vec<&str> {
        let settings = settings.iter().filter_map(|line| line.split_once('='));
        settings.filter(|(name, _)| *name == key).flat_map(|(_, value)| value.split(' ')).collect()
    };
    assert_eq!(values("LimitCORE"), ["0"]);
    let environment = values("Environment");
    assert!(environment.iter().any(|value| value.starts_with("KRB5_CLIENT_KTNAME=")), "{environment:?}");
    // Kerberos's replay cache lies in a folder that the unit lets the daemon write to.
    let cache = environment.iter().find_map(|value| value.strip_prefix("KRB5RCACHEDIR=")).unwrap();
    assert_eq!(values("ProtectSystem"), ["strict"]);
    let runtime = values("RuntimeDirectory");
    assert!(runtime.iter().any(|name| cache == format!("/run/{name}")), "{cache} is not of {runtime:?}");
    // What the comments say of /tmp holds as long as it is not among these.
    assert_eq!(values("ReadWritePaths"), ["/var/log", "-/etc/nvidia-imex"]);
}
