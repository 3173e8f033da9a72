//! `DAEMONIZE=1`.

use std::fs;
use std::net::TcpListener;

use imex_core::NodeState;
use nix::unistd::{Pid, getpgid};
use tokio::net::UnixStream;

use crate::support::{PORT, Rack, Stray, block_on, eventually, lives, run};

#[test]
fn the_command_returns_when_the_daemon_serves_and_the_daemon_has_a_session_of_its_own() {
    let rack = Rack::new(1);
    rack.set(0, "DAEMONIZE", 1);
    let output = run(&mut rack.command(0));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.is_empty());
    let daemon = Stray(owner(&rack));
    assert!(lives(daemon.0));
    assert_eq!(getpgid(Some(daemon.0)).unwrap(), daemon.0);
    for stream in 0..=2 {
        let link = fs::read_link(format!("/proc/{}/fd/{stream}", daemon.0)).unwrap();
        assert_eq!(link.to_str(), Some("/dev/null"), "stream {stream}");
    }
    nix::sys::signal::kill(daemon.0, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert!(eventually(|| !lives(daemon.0)));
}

#[test]
fn a_daemon_that_cannot_serve_gives_its_reason_and_code_through_the_command() {
    let rack = Rack::new(1);
    rack.set(0, "DAEMONIZE", 1);
    let held = TcpListener::bind((rack.address(0), PORT)).unwrap();
    let (code, text) = rack.refused(0);
    assert_eq!(code, 4, "{text}");
    assert!(text.contains("the port is taken"), "{text}");
    assert_eq!(text.matches("imexd: ").count(), 1, "said once: {text}");
    drop(held);
}

#[test]
fn a_node_that_is_to_end_with_its_parent_stays_in_the_foreground() {
    let rack = Rack::new(1);
    rack.set(0, "DAEMONIZE", 1);
    let mut node = rack.start(0);
    node.await_state(NodeState::Ready);
    assert!(node.runs());
    node.stop();
}

fn owner(rack: &Rack) -> Pid {
    let socket = rack.dir(0).join("socket");
    let pid = block_on(async {
        let stream = UnixStream::connect(socket).await.unwrap();
        stream.peer_cred().unwrap().pid().unwrap()
    });
    Pid::from_raw(pid)
}
