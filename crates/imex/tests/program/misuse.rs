//! Golden files: help, misuse, and every refusal that needs no daemon.

use std::fs;

use crate::program::{Background, imex, redactions, transcript};

#[test]
fn help_and_wrong_command_lines_are_as_recorded() {
    let _redacted = redactions();
    let dir = tempfile::tempdir().unwrap();
    for (name, words) in [
        ("help", "--help"),
        ("version", "--version"),
        ("no-command", ""),
        ("unknown-command", "prolog"),
        ("wait-help", "wait --help"),
        ("wait-timeout-not-a-time", "wait --timeout soon"),
        ("wait-timeout-zero", "wait --timeout 0"),
        ("wait-members-zero", "wait --members 0"),
        ("lab-help", "lab --help"),
        ("lab-up-help", "lab up --help"),
        ("lab-kill-help", "lab kill --help"),
        ("lab-up-without-directory", "lab up"),
        ("lab-kill-unknown-signal", "lab kill 1 --signal HUP --dir x"),
        ("lab-kill-negative-node", "lab kill -1 --dir x"),
        ("lab-options-with-subcommand", "lab --once status --dir x"),
        ("lab-setting-without-value", "lab --once --set KEY"),
    ] {
        let words: Vec<&str> = words.split_whitespace().collect();
        insta::assert_snapshot!(name, transcript(&mut imex(&words), dir.path()));
    }
}

#[test]
fn refusals_say_what_to_do() {
    let _redacted = redactions();
    let lab = Background::at_rest();
    let dir = lab.dir.clone();
    fs::create_dir(&dir).unwrap();
    let occupied = dir.join("occupied");
    fs::create_dir(&occupied).unwrap();
    fs::write(occupied.join("thesis.tex"), "").unwrap();
    let long = dir.join("x".repeat(100));
    for (name, words, place) in [
        ("lab-status-no-lab", "lab status --dir", dir.join("none")),
        ("lab-status-no-lab-json", "lab status --json --dir", dir.join("none")),
        ("lab-down-no-lab", "lab down --dir", dir.join("none")),
        ("lab-up-occupied", "lab up --dir", occupied),
        ("lab-up-socket-path-too-long", "lab up --dir", long),
        ("lab-no-nodes", "lab --nodes 0 --once --dir", dir.join("none")),
        ("lab-too-many-nodes", "lab --nodes 1001 --once --dir", dir.join("none")),
        ("lab-no-such-daemon", "lab up --imexd DIR/nothing --dir", dir.join("none")),
        ("wait-no-configuration", "wait -c", dir.join("config.cfg")),
        ("wait-no-configuration-json", "wait --json -c", dir.join("config.cfg")),
    ] {
        let words = words.replace("DIR", dir.to_str().unwrap());
        let mut command = imex(&words.split_whitespace().collect::<Vec<_>>());
        insta::assert_snapshot!(name, transcript(command.arg(place), &dir));
    }
}
