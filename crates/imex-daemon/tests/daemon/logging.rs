//! Where records go when things are as they should be, and when they are not.

use std::fs;

use imex_core::{DomainState, NodeState};
use nix::sys::signal::Signal;

use crate::support::namespace;
use crate::support::{Rack, eventually};

#[test]
fn every_line_has_the_originals_form() {
    let rack = Rack::new(1);
    let mut node = rack.start(0);
    node.await_state(NodeState::Ready);
    node.stop();
    let log = node.log();
    let mut lines = log.lines();
    assert!(lines.next().unwrap().starts_with("IMEX Log initializing at: "), "{log}");
    for line in lines {
        let fields: Vec<&str> = line.splitn(4, "] ").collect();
        let [date, level, tid, _] = fields[..] else { panic!("{line}") };
        assert!(date.starts_with('[') && date.len() == 21, "{line}");
        assert!(["[INFO", "[WARNING", "[ERROR", "[CRITICAL"].contains(&level), "{line}");
        assert_eq!(tid, format!("[tid {}", node.pid()), "{line}");
    }
}

#[test]
fn the_log_is_kept_or_begun_anew_as_configured() {
    let rack = Rack::new(1);
    for (append, banners) in [(1, 1), (1, 2), (0, 1)] {
        rack.set(0, "LOG_APPEND_TO_LOG", append);
        let mut node = rack.start(0);
        node.await_state(NodeState::Ready);
        node.stop();
        assert_eq!(node.log().matches("IMEX Log initializing at").count(), banners);
    }
}

#[test]
fn a_log_that_cannot_be_opened_goes_to_standard_error() {
    let rack = Rack::new(1);
    rack.set(0, "LOG_FILE_NAME", "/nonexistent/imexd.log");
    let mut node = rack.start(0);
    node.await_state(NodeState::Ready);
    node.stop();
    let text = node.file("stderr");
    assert!(
        text.starts_with("WARNING: failed to open IMEX log file  errno = No such file or directory\nINFO: using stderr for IMEX logging\n"),
        "{text}"
    );
    assert!(text.contains("Identified this node as ID 0"), "{text}");
}

#[test]
fn a_full_disk_does_not_stop_the_service() {
    let rack = Rack::new(1);
    rack.set(0, "LOG_FILE_NAME", "/dev/full");
    rack.set(0, "STATS_FILE_NAME", "/dev/full");
    rack.set(0, "OPENIMEX_VERBOSE_LOG_FILE_NAME", "/dev/full");
    let mut node = rack.start(0);
    node.await_state(NodeState::Ready);
    node.signal(Signal::SIGHUP);
    node.await_state(NodeState::Ready);
    node.stop();
}

#[test]
fn files_on_a_read_only_mount_do_not_keep_a_node_from_serving() {
    if !namespace::available() {
        return;
    }
    let rack = Rack::new(2);
    let dir = rack.dir(0).join("read-only");
    fs::create_dir(&dir).unwrap();
    for key in ["LOG_FILE_NAME", "STATS_FILE_NAME", "OPENIMEX_PERSIST_FILE", "OPENIMEX_VERBOSE_LOG_FILE_NAME"]
    {
        rack.set(0, key, dir.join(key).display());
    }
    let script = format!("mount -t tmpfs none {0}; mount -o remount,ro {0}", dir.display());
    let mut first = rack.spawn(0, &mut namespace::with_mounts(&script, &rack.command(0)));
    let second = rack.start(1);
    first.await_domain(DomainState::Up);
    first.signal(Signal::SIGHUP);
    second.await_domain(DomainState::Up);
    let said = |text: &str| eventually(|| first.file("stderr").contains(text));
    assert!(said("WARNING: failed to open IMEX log file  errno = Read-only file system\n"));
    assert!(said("Statistics go to standard error"));
    assert!(said("The persist file cannot be written"));
    assert!(said("Writing the verbose buffer to its file"));
    drop(second);
    first.stop();
}

#[test]
fn a_directory_that_vanishes_does_not_stop_the_service() {
    let rack = Rack::new(1);
    let dir = rack.dir(0).join("logs");
    fs::create_dir(&dir).unwrap();
    rack.set(0, "LOG_FILE_NAME", dir.join("log").display());
    rack.set(0, "OPENIMEX_VERBOSE_LOG_FILE_NAME", dir.join("verbose").display());
    let mut node = rack.start(0);
    node.await_state(NodeState::Ready);
    fs::remove_dir_all(&dir).unwrap();
    node.signal(Signal::SIGHUP);
    node.signal(Signal::SIGUSR1);
    node.await_state(NodeState::Ready);
    node.stop();
}

#[test]
fn level_zero_writes_nothing_and_keeps_everything_for_the_verbose_file() {
    let rack = Rack::new(1);
    rack.set(0, "LOG_LEVEL", 0);
    let mut node = rack.start(0);
    node.await_state(NodeState::Ready);
    node.signal(Signal::SIGHUP);
    assert!(eventually(|| node.file("verbose").contains("Identified this node as ID 0")));
    node.stop();
    assert_eq!(node.log(), "");
}

#[test]
fn statistics_are_blocks_of_json_at_the_configured_interval() {
    let rack = Rack::new(1);
    rack.set(0, "OPENIMEX_STATS_INTERVAL_SEC", 1);
    let mut node = rack.start(0);
    let heading = "Performance statistics for last 1 seconds  : {";
    assert!(eventually(|| node.file("stats").matches(heading).count() >= 2), "{}", node.file("stats"));
    node.stop();
    let stats = node.file("stats");
    let block = stats.split(heading).nth(1).unwrap();
    let block: serde_json::Value = serde_json::from_str(&format!("{{{block}")).unwrap();
    assert_eq!(block["QueueStats"]["ProcessorQueue"]["queueDepth"].as_str().map(str::is_empty), Some(false));
    let count = block["IncomingMessages"]["Report"]["msgCount"].as_str();
    assert!(count.is_some(), "{block}");
}

#[test]
fn statistics_follow_the_log_if_both_name_one_file() {
    let rack = Rack::new(1);
    rack.set(0, "STATS_FILE_NAME", rack.dir(0).join("log").display());
    rack.set(0, "OPENIMEX_STATS_INTERVAL_SEC", 1);
    let mut node = rack.start(0);
    node.await_log("Performance statistics for last 1 seconds");
    node.stop();
}

#[test]
fn without_a_journal_the_log_goes_to_standard_error_with_a_warning() {
    if std::path::Path::new("/run/systemd/journal/socket").exists() {
        return;
    }
    let rack = Rack::new(1);
    rack.set(0, "LOG_USE_SYSLOG", 1);
    let mut node = rack.start(0);
    node.await_state(NodeState::Ready);
    node.stop();
    let text = node.file("stderr");
    assert!(text.starts_with("WARNING: failed to reach the journal"), "{text}");
    assert!(text.contains("Identified this node as ID 0"), "{text}");
}
