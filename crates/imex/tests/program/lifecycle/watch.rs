//! `watch`: the loop with real files, a real process and real signals.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixDatagram;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::lifecycle::site::{AFTER, BEFORE, ENDED_BLOCK, POISON, Site, yaml};
use crate::program::{signal, until};

const ONCE: &str = "watch --once --source inventory:DIR/inventory.yaml --to DIR/topology.yaml --debounce 50ms \
                    --interval 100ms --ask 1s --load 1s";

#[test]
fn no_change_is_one_poll_and_no_write() {
    let site = Site::new();
    let before = std::fs::metadata(site.path("topology.yaml")).unwrap().modified().unwrap();
    let said = site.run(ONCE);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    let events = events(&said.out);
    assert_eq!(words(&events), ["decision unchanged", "verified true"]);
    assert_eq!(std::fs::metadata(site.path("topology.yaml")).unwrap().modified().unwrap(), before);
    assert_eq!(site.read("calls"), "show topology nvlink\n");
}

#[test]
fn a_change_is_applied_once_it_has_settled_and_never_again() {
    let site = Site::new();
    site.sources(AFTER);
    let said = site.run(ONCE);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert_eq!(words(&events(&said.out)), ["decision wait settling", "decision apply", "applied held"]);
    assert!(site.read("loaded").contains("nodes: n[4-8]"), "{}", site.read("loaded"));
    let said = site.run(ONCE);
    assert_eq!((said.code, site.reloads()), (0, 1), "{}{}", said.out, said.err);
}

#[test]
fn the_last_good_file_stays_while_a_source_fails() {
    let site = Site::new();
    site.write("inventory.yaml", "blocks: [");
    let said = site.run(ONCE);
    assert_eq!(said.code, 33, "{}{}", said.out, said.err);
    assert_eq!(words(&events(&said.out)), ["decision keep"]);
    assert_eq!((site.read("topology.yaml"), site.reloads()), (yaml(BEFORE), 0));
}

#[test]
fn what_the_sources_warn_of_is_told_once_and_again_when_it_is_over() {
    let site = Site::new();
    site.write("ended.json", ENDED_BLOCK);
    let mut watch = Watch::of(&site, "ec2:DIR/ended.json --ec2-name id --metrics DIR/imex.prom", |_| {});
    let warned = watch.event();
    assert_eq!(warned["event"], "warned");
    let told = "capacity block rack2 is expired, not active, and its end is 2026-11-30T11:30:00Z: its nodes are \
                there no longer, or not yet";
    assert_eq!(warned["warnings"], serde_json::json!([told]));
    assert_eq!([watch.word(), watch.word()], ["decision unchanged", "verified true"]);
    let metric = |value: usize| {
        let line = format!("imex_topology_source_warnings {value}");
        until(&line, || site.read("imex.prom").lines().any(|told| told == line));
    };
    metric(1);
    // With other words that mean the same: it is not told again.
    site.write("ended.json", &format!("{ENDED_BLOCK}\n"));
    signal(watch.child.id(), Signal::SIGHUP);
    assert_eq!(watch.word(), "decision unchanged");
    site.write("ended.json", &ENDED_BLOCK.replace("expired", "active"));
    signal(watch.child.id(), Signal::SIGHUP);
    let warned = watch.event();
    assert_eq!((&warned["event"], &warned["warnings"]), (&"warned".into(), &serde_json::json!([])));
    metric(0);
}

#[test]
fn a_large_loss_waits_for_a_second_poll_unless_the_nodes_are_powered_down() {
    let site = Site::new();
    site.sources(&[("rack1", "n[1-4]")]);
    let said = site.run(ONCE);
    let told = words(&events(&said.out));
    assert_eq!(told, ["decision wait confirmation 4 of 8", "decision apply", "applied held"], "{}", said.out);
    assert!(!site.read("loaded").contains("rack2"));

    let site = Site::new();
    site.sources(&[("rack1", "n[1-4]")]);
    let rest = |node: &str| format!(r#"{{"name": "{node}", "state": ["IDLE", "CLOUD", "POWERED_DOWN"]}}"#);
    site.write("nodes.json", &format!(r#"{{"nodes": [{}]}}"#, ["n5", "n6", "n7", "n8"].map(rest).join(", ")));
    let said = site.run(ONCE);
    let events = events(&said.out);
    assert_eq!(words(&events), ["decision unchanged", "verified true"], "{}", said.out);
    assert_eq!(events[0]["kept"], "n[5-8]");
}

#[test]
fn a_topology_that_is_not_taken_is_rolled_back_and_told() {
    let site = Site::new();
    site.mode("ignore");
    site.sources(&[("rack1", "n[1-4]"), ("poison", "n[9-12]")]);
    let said = site.run(&format!("{ONCE} --allow-shrink --metrics DIR/imex.prom"));
    assert_eq!(said.code, 52, "{}{}", said.out, said.err);
    assert_eq!(
        words(&events(&said.out)),
        ["decision wait settling", "decision apply", "applied rolled_back"]
    );
    assert_eq!(site.read("topology.yaml"), yaml(BEFORE));
    let metrics = site.read("imex.prom");
    for line in ["imex_topology_rolled_back_total 1", "imex_topology_polls_total 2", "imex_topology_nodes 8"]
    {
        assert!(metrics.lines().any(|told| told == line), "{line} in\n{metrics}");
    }
}

#[test]
fn a_controller_that_was_told_otherwise_is_reported_and_left_alone() {
    let site = Site::new();
    site.write("loaded", &yaml(POISON));
    let said = site.run(ONCE);
    assert_eq!(said.code, 50, "{}{}", said.out, said.err);
    assert_eq!(words(&events(&said.out)), ["decision unchanged", "verified false"]);
    assert_eq!(site.reloads(), 0);
}

#[test]
fn a_nudge_polls_at_once_and_a_term_ends_it() {
    let site = Site::new();
    let mut watch = Watch::start(&site);
    assert_eq!(watch.word(), "decision unchanged");
    assert_eq!(watch.word(), "verified true");
    site.sources(AFTER);
    signal(watch.child.id(), Signal::SIGHUP);
    for expected in ["decision wait settling", "decision apply", "applied held"] {
        assert_eq!(watch.word(), expected);
    }
    assert!(site.read("loaded").contains("nodes: n[4-8]"));
    signal(watch.child.id(), Signal::SIGTERM);
    assert_eq!(watch.child.wait().unwrap().code(), Some(0));
}

#[test]
fn the_service_manager_hears_ready_after_the_first_poll_and_stopping_at_the_end() {
    let site = Site::new();
    let manager = UnixDatagram::bind(site.path("notify")).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let hear = || {
        let mut buffer = [0; 1024];
        let length = manager.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    };
    let mut watch = Watch::with(&site, |command| {
        command.env("NOTIFY_SOCKET", site.path("notify"));
    });
    let ready = hear();
    assert!(
        ready.contains("READY=1") && ready.contains("STATUS=8 nodes in 2 blocks, held by the controller"),
        "{ready}"
    );
    signal(watch.child.id(), Signal::SIGTERM);
    assert!(hear().contains("STOPPING=1"));
    assert_eq!(watch.child.wait().unwrap().code(), Some(0));
}

/// A `watch` whose next regular poll is an hour away.
struct Watch {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Watch {
    fn start(site: &Site) -> Self {
        Watch::with(site, |_| {})
    }

    fn with(site: &Site, more: impl Fn(&mut Command)) -> Self {
        Watch::of(site, "inventory:DIR/inventory.yaml", more)
    }

    fn of(site: &Site, source: &str, more: impl Fn(&mut Command)) -> Self {
        let words = format!("watch --to DIR/topology.yaml --debounce 50ms --interval 1h --source {source}");
        let errors = File::create(site.path("stderr")).unwrap();
        let mut command = site.command(&words);
        more(&mut command);
        let mut child = command.stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Watch { child, lines }
    }

    fn word(&mut self) -> String {
        words(&[self.event()]).concat()
    }

    fn event(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        events(&line).remove(0)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn events(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn words(events: &[Value]) -> Vec<String> {
    let word = |event: &Value| {
        event["time"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        let mut words = vec![event["event"].to_string()];
        for key in ["decision", "waits_for", "outcome", "in_sync"] {
            words.extend(event.get(key).map(Value::to_string));
        }
        if let Some(lost) = event.get("lost") {
            words.push(format!("{lost} of {}", event["placed"]));
        }
        words.join(" ").replace('"', "")
    };
    events.iter().map(word).collect()
}
