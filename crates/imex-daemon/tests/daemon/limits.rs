//! File descriptors.

use std::fs;
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use imex_core::{DomainState, NodeState};

use crate::support::{Node, Rack, die_with_this_process, eventually, run};

#[test]
fn a_hard_limit_that_is_too_low_for_the_map_is_named_at_the_start() {
    let rack = Rack::new(2);
    let output = run(&mut limited(&rack, "ulimit -n 60"));
    assert_eq!(output.status.code(), Some(7));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("file descriptors") && text.contains("60"), "{text}");
    assert!(text.contains("LimitNOFILE="), "{text}");
}

#[test]
fn a_soft_limit_that_is_too_low_is_raised() {
    let rack = Rack::new(2);
    let mut node: Node = rack.spawn(0, &mut limited(&rack, "ulimit -Sn 60"));
    node.await_state(NodeState::Ready);
    node.stop();
}

#[test]
fn without_descriptors_the_daemon_neither_spins_nor_loses_a_member_and_recovers() {
    let rack = Rack::new(3);
    rack.set(0, "OPENIMEX_STATS_INTERVAL_SEC", 1);
    let nodes = rack.start_all();
    let open = fs::read_dir(format!("/proc/{}/fd", nodes[0].pid())).unwrap().count();
    set_limit(&nodes[0], open);
    // All wait in the backlog; none can be accepted.
    let strangers: Vec<TcpStream> =
        (0..8).map(|_| TcpStream::connect(rack.peer_address(0)).unwrap()).collect();
    assert!(eventually(|| nodes[0].file("stats").contains("AcceptFailures")), "{}", nodes[0].file("stats"));
    let before = cpu_time(&nodes[0]);
    // Long enough for members to be found silent.
    std::thread::sleep(Duration::from_secs(4));
    let used = cpu_time(&nodes[0]) - before;
    assert!(used < Duration::from_millis(400), "{used:?} of 4 s");
    set_limit(&nodes[0], 1024);
    drop(strangers);
    for node in &nodes {
        node.await_domain(DomainState::Up);
        assert!(!node.log().contains("Connection lost"), "{}", node.log());
    }
}

fn set_limit(node: &Node, descriptors: usize) {
    let status = Command::new("prlimit")
        .arg(format!("--pid={}", node.pid()))
        .arg(format!("--nofile={descriptors}:"))
        .status()
        .unwrap();
    assert!(status.success());
}

/// What it has used of processors' time so far (proc(5), schedstat of each thread).
fn cpu_time(node: &Node) -> Duration {
    let threads = fs::read_dir(format!("/proc/{}/task", node.pid())).unwrap();
    let nanos = threads.map(|thread| -> u64 {
        let text = fs::read_to_string(thread.unwrap().path().join("schedstat")).unwrap();
        text.split(' ').next().unwrap().parse().unwrap()
    });
    Duration::from_nanos(nanos.sum())
}

/// A node's command, run by a shell that sets a limit first.
fn limited(rack: &Rack, limit: &str) -> Command {
    let command = rack.command(0);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &format!(r#"{limit} && exec "$@""#), "sh"]);
    shell.arg(command.get_program()).args(command.get_args()).arg(die_with_this_process());
    shell.env_remove("NOTIFY_SOCKET").arg0("sh");
    shell
}
