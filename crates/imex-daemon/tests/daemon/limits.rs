//! File descriptors.

use std::os::unix::process::CommandExt;
use std::process::Command;

use imex_core::NodeState;

use crate::support::{Node, Rack, run};

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

/// A node's command, run by a shell that sets a limit first.
fn limited(rack: &Rack, limit: &str) -> Command {
    let command = rack.command(0);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &format!(r#"{limit} && exec "$@""#), "sh"]);
    shell.arg(command.get_program()).args(command.get_args()).arg("--die-with-parent");
    shell.env_remove("NOTIFY_SOCKET").arg0("sh");
    shell
}
