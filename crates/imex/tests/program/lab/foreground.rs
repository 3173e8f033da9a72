//! `imex lab` in the foreground.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use nix::sys::signal::Signal;

use crate::program::{imex, other_daemon, processes_of, run, said, signal, until};

#[test]
fn a_lab_of_four_once_shows_the_table_of_imexctl_and_leaves_nothing() {
    let temp = tempfile::tempdir_in("/tmp").unwrap();
    let said = run(imex(&["lab", "--nodes", "4", "--once"]).env("TMPDIR", temp.path()));
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert_eq!(said.err, "", "nobody watches, so there is no progress");
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(lines.first(), Some(&"Connectivity Table Legend:"));
    assert_eq!(said.out.matches("- READY").count(), 4, "{}", said.out);
    assert!(said.out.contains("Domain State: UP"), "{}", said.out);
    assert!(lines.last().unwrap().starts_with("4 nodes UP after "), "{}", said.out);
    assert_empty(temp.path());
}

#[test]
fn as_json_it_is_one_document() {
    let said = run(&mut imex(&["lab", "--nodes", "2", "--once", "--json"]));
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    let document: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(document["schema_version"], 1);
    assert_eq!(document["exit_code"], 0);
    assert_eq!(document["domain"]["state"], "UP");
    assert_eq!(document["nodes"].as_array().unwrap().len(), 2);
    assert!(document["formation_ms"].as_u64().is_some());
}

#[test]
fn a_daemon_that_refuses_to_start_is_named_with_its_last_words() {
    let temp = tempfile::tempdir_in("/tmp").unwrap();
    let daemon = other_daemon(temp.path(), "echo 'imexd: the moon is full' >&2; exit 7");
    // One node, so that it is always the first to refuse.
    let said = run(imex(&["lab", "--nodes", "1", "--once", "--imexd"]).arg(daemon));
    assert_eq!(said.code, 24);
    let expected = "the daemon of node 0 exited with code 7: imexd: the moon is full";
    assert!(said.out.contains(expected), "{}", said.out);
}

#[test]
fn a_domain_that_does_not_come_ends_at_the_deadline() {
    let temp = tempfile::tempdir_in("/tmp").unwrap();
    let daemon = other_daemon(temp.path(), "exec sleep 60");
    let said = run(imex(&["lab", "--nodes", "2", "--once", "--timeout", "300ms", "--imexd"]).arg(daemon));
    assert_eq!(said.code, 10, "{}{}", said.out, said.err);
    assert!(said.out.starts_with("not UP after "), "{}", said.out);
}

#[test]
fn an_interrupt_ends_all_nodes_and_removes_the_directory() {
    let temp = tempfile::tempdir_in("/tmp").unwrap();
    let mut lab = start(temp.path());
    read_until(&mut lab, "Ctrl-C ends the lab");
    assert_eq!(processes_of(temp.path(), "imexd").len(), 3);
    signal(lab.id(), Signal::SIGINT);
    assert_eq!(said(lab).code, 0);
    assert_eq!(processes_of(temp.path(), "imexd"), Vec::<u32>::new());
    assert_empty(temp.path());
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let temp = tempfile::tempdir_in("/tmp").unwrap();
    let mut lab = start(temp.path());
    drop(lab.stdout.take());
    let said = said(lab);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    until("all daemons have ended", || processes_of(temp.path(), "imexd").is_empty());
}

/// A lab of three in the foreground, its temporary directory below `temp`.
pub(crate) fn start(temp: &Path) -> Child {
    let mut command = imex(&["lab", "--nodes", "3"]);
    command.env("TMPDIR", temp).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Reads the lab's output up to a line; the rest of it stays to be read. The lab's own deadline bounds this.
pub(crate) fn read_until(lab: &mut Child, line: &str) {
    let out = lab.stdout.take().unwrap();
    let mut lines = BufReader::new(out).lines().map_while(Result::ok);
    assert!(lines.any(|read| read == line), "the lab ended before it said {line:?}");
}

fn assert_empty(dir: &Path) {
    let left: Vec<_> = fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path()).collect();
    assert_eq!(left, Vec::<std::path::PathBuf>::new());
}
