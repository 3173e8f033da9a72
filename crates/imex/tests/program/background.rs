//! `imex lab up`, `status`, `kill`, `start`, `down`.

use std::fs;
use std::process::Command;

use crate::program::{Background, redactions, run, transcript, until};

#[test]
fn a_killed_node_is_named_and_the_domain_is_up_again_once_it_is_started() {
    let lab = Background::up(4);
    assert_eq!(lab.daemons().len(), 4);

    assert_eq!(lab.lab(&["kill", "2"]).code, 0);
    until("status says DEGRADED", || lab.lab(&["status"]).out.contains("Domain: DEGRADED, 3 of 4"));
    let status = lab.lab(&["status"]).out;
    assert!(status.contains("\n  node 2 (127."), "{status}");
    assert!(status.contains("dead: it was ended by SIGKILL"), "{status}");

    assert_eq!(lab.lab(&["start", "2"]).code, 0);
    let wait = lab.wait(0, &["--members", "4", "--timeout", "30s"]);
    assert_eq!(wait.code, 0, "{}{}", wait.out, wait.err);
    assert!(lab.lab(&["status"]).out.contains("Domain: UP, 4 of 4 nodes READY"));

    let down = lab.lab(&["down"]);
    assert_eq!(down.code, 0, "{}{}", down.out, down.err);
    assert_eq!(lab.daemons(), Vec::<u32>::new());
    assert_eq!(lab.lab(&["status"]).code, 21);
    assert!(lab.file(3, "imexd.log").exists(), "the files stay");
}

#[test]
fn a_stopped_node_is_shown_as_stopped_and_down_ends_it_too() {
    let lab = Background::up(3);
    assert_eq!(lab.lab(&["kill", "1", "--signal", "STOP"]).code, 0);
    until("status says stopped", || lab.lab(&["status"]).out.contains("stopped ("));
    assert_eq!(lab.lab(&["kill", "1", "--signal", "cont"]).code, 0);
    until("status says running", || !lab.lab(&["status"]).out.contains("stopped ("));
    lab.lab(&["kill", "1", "--signal", "STOP"]);
    assert_eq!(lab.lab(&["down"]).code, 0);
    assert_eq!(lab.daemons(), Vec::<u32>::new());
}

#[test]
fn the_control_tool_of_the_lab_reads_any_nodes_configuration() {
    let lab = Background::up(4);
    let mut imexctl = Command::new(lab.dir.join("bin/imexctl"));
    let said = run(imexctl.arg("-c").arg(lab.file(3, "config.cfg")).args(["-N", "-j"]));
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    let document: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(document["status"], "UP");
    assert_eq!(document["nodes"].as_object().unwrap().len(), 4);
}

#[test]
fn the_daemons_processes_are_called_imexd() {
    let lab = Background::up(2);
    let names = lab.daemons().into_iter().map(|pid| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap());
    assert_eq!(names.collect::<Vec<_>>(), ["imexd\n", "imexd\n"]);
}

#[test]
fn an_ended_lab_can_be_started_again_in_its_directory() {
    let lab = Background::up(2);
    assert_eq!(lab.lab(&["down"]).code, 0);
    let again = lab.lab(&["up", "--nodes", "3"]);
    assert_eq!(again.code, 0, "{}{}", again.out, again.err);
    assert_eq!(lab.daemons().len(), 3);
}

#[test]
fn what_each_command_says_is_as_recorded() {
    let _redacted = redactions();
    let lab = Background::at_rest();
    for (name, words) in [
        ("lab-up", "up --nodes 2 --set LOG_LEVL=5 --set NOPE=1"),
        ("lab-up-again", "up --nodes 2"),
        ("lab-status", "status"),
        ("lab-status-json", "status --json"),
        ("lab-start-running", "start 0"),
        ("lab-kill-no-such-node", "kill 2"),
        ("lab-kill-no-such-node-json", "kill 2 --json"),
        ("lab-kill", "kill 0 --signal STOP"),
        ("lab-kill-json", "kill 0 --signal CONT --json"),
        ("lab-down-json", "down --json"),
        ("lab-down-again", "down"),
    ] {
        let words = words.split_whitespace();
        let mut command = crate::program::imex(&["lab"]);
        insta::assert_snapshot!(name, transcript(command.args(words).arg("--dir").arg(&lab.dir), &lab.dir));
    }
}
