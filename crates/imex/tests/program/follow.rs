//! `imex follow` on a rack of real daemons: re-partitioned 4 → 2 + 2 → 4 while jobs hold leases.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Child, Stdio};

use imex_host::lease::{Holder, Leases};
use imex_lab::Layout;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::program::{Background, imex, redactions, run, signal, transcript, until};

const NODES: usize = 4;

#[test]
fn a_rack_is_partitioned_and_joined_again_when_no_job_is_disturbed() {
    let rack = Rack::up();
    rack.partition(&[&[0, 1, 2, 3]]);
    let mut followers = rack.follow();
    rack.wait("all are settled", |rack| rack.count("settled") == [1; NODES]);
    let pids = rack.pids();

    // A job runs on nodes 0 and 1 while the rack is split: 2 and 3 move at once, 0 and 1 when the job has ended.
    rack.take(0, "7.0");
    rack.take(1, "7.0");
    rack.partition(&[&[0, 1], &[2, 3]]);
    followers.nudge();
    rack.wait("2 and 3 are a domain of two", |rack| rack.sizes()[2..] == [2, 2]);
    rack.wait("0 and 1 wait for the job", |rack| rack.last(0) == "own_lease" && rack.last(1) == "own_lease");
    let now = rack.pids();
    assert_eq!(now[..2], pids[..2], "the job's daemons were not touched");
    assert!(now[2] != pids[2] && now[3] != pids[3]);
    assert_eq!(rack.map(0), rack.entries(&[0, 1, 2, 3]));
    rack.give_back(0, "7.0");
    rack.wait("0 waits for 1, where the job still runs", |rack| rack.last(0) == "busy");
    assert_eq!(rack.pids()[..2], pids[..2]);
    rack.give_back(1, "7.0");
    rack.wait("0 and 1 are a domain of two", |rack| rack.sizes() == [2; NODES]);
    assert_eq!(rack.map(1), rack.entries(&[0, 1]));

    // The rack is joined again while a job runs on node 3: nobody moves, and no domain is without its members.
    rack.wait("all have moved", |rack| rack.count("up") == [1; NODES]);
    let pids = rack.pids();
    rack.take(3, "8.0");
    rack.partition(&[&[0, 1, 2, 3]]);
    followers.nudge();
    rack.wait("the others wait for 3", |rack| (0..3).all(|node| rack.last(node) == "busy"));
    assert_eq!((rack.pids(), rack.sizes()), (pids.clone(), [2; NODES]));
    rack.give_back(3, "8.0");
    rack.wait("all are one domain", |rack| rack.sizes() == [4; NODES]);
    rack.wait("all have moved", |rack| rack.count("up") == [2; NODES]);
    assert!(rack.pids().iter().zip(&pids).all(|(now, before)| now != before));

    // A change that leaves the map the same does nothing.
    let (pids, moved) = (rack.pids(), rack.count("moved"));
    rack.partition(&[&[3, 2, 1, 0]]);
    followers.nudge();
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!((rack.pids(), rack.count("moved")), (pids, moved));
    followers.end();
}

#[test]
fn a_follower_killed_between_map_and_restart_restarts_the_service_when_it_is_back() {
    let rack = Rack::up();
    rack.partition(&[&[0], &[1], &[2], &[3]]);
    let pids = rack.pids();
    let mut child = rack.start(0, Some("map-written"));
    assert!(child.wait().unwrap().code().is_none(), "it was killed");
    assert_eq!((rack.map(0), &rack.pids()[0]), (rack.entries(&[0]), &pids[0]));
    let mut followers = Followers { children: vec![rack.start(0, None)] };
    rack.wait("the service runs with the map", |rack| rack.sizes()[0] == 1);
    assert_ne!(rack.pids()[0], pids[0]);
    followers.end();
}

#[test]
fn a_map_that_was_edited_or_removed_under_it_is_written_anew() {
    let rack = Rack::up();
    rack.partition(&[&[0, 1, 2, 3]]);
    let mut followers = rack.follow();
    rack.wait("all have settled", |rack| rack.count("settled") == [1; NODES]);
    let file = rack.lab.file(2, "nodes_config.cfg");
    let changes: [fn(&Path) -> io::Result<()>; 2] =
        [|file| fs::remove_file(file), |file| fs::write(file, "127.0.0.1\n")];
    for (done, change) in changes.into_iter().enumerate() {
        change(&file).unwrap();
        followers.nudge();
        rack.wait("the map is back", |rack| rack.count("moved") == [0, 0, done + 1, 0]);
        assert_eq!(rack.map(2), rack.entries(&[0, 1, 2, 3]));
        rack.wait("the domain is whole", |rack| rack.sizes() == [NODES; NODES]);
    }
    let config = rack.lab.file(2, "config.cfg");
    let away = config.with_extension("away");
    fs::rename(&config, &away).unwrap();
    followers.nudge();
    rack.wait("it is told", |rack| rack.count("keep")[2] == 1);
    fs::rename(&away, &config).unwrap();
    assert_eq!(
        rack.count("moved"),
        [0, 0, 2, 0],
        "a configuration that cannot be read says nothing of the map"
    );
    followers.end();
}

#[test]
fn what_the_sources_warn_of_is_in_the_record() {
    let rack = Rack::up();
    rack.partition(&[&[0, 1, 2, 3]]);
    let ec2 = rack.files.path().join("ec2.json");
    let instances: Vec<Value> = (0..NODES)
        .map(|node| serde_json::json!({"InstanceId": name(node), "CapacityBlockId": "cb"}))
        .collect();
    let block = serde_json::json!({"CapacityBlockId": "cb", "State": "expired"});
    let pages = serde_json::json!({"Instances": instances, "CapacityBlocks": [block]});
    fs::write(&ec2, pages.to_string()).unwrap();
    let more = format!("--source ec2:{} --ec2-name id", ec2.display());
    let mut followers = Followers { children: vec![rack.start_with(0, None, &more)] };
    rack.wait("it has settled", |rack| rack.count("settled")[0] == 1);
    let warned = rack.events(0).into_iter().find(|told| told["event"] == "warned").unwrap();
    let told = "capacity block cb is expired, not active: its nodes are there no longer, or not yet";
    assert_eq!(warned["warnings"], serde_json::json!([told]));
    followers.end();
}

#[test]
fn help_and_refusals_of_follow_are_as_recorded() {
    let _redacted = redactions();
    let dir = tempfile::tempdir().unwrap();
    let map = dir.path().join("map.cfg");
    fs::write(&map, "127.0.0.1\n").unwrap();
    fs::write(dir.path().join("a.cfg"), format!("IMEX_NODE_CONFIG_FILE={}\n", map.display())).unwrap();
    for (name, words) in [
        ("follow-help", "follow --help"),
        ("follow-nothing", "follow"),
        ("follow-bad-service", "follow --source nvml:x --scope partition --node n1 --service upstart:imex"),
        ("follow-no-configuration", "follow --source nvml:x --scope partition --node n1 -c DIR/config.cfg"),
        (
            "follow-other-map",
            "follow --source nvml:x --scope partition --node n1 -c DIR/a.cfg --map DIR/other",
        ),
    ] {
        let words = words.replace("DIR", dir.path().to_str().unwrap());
        let mut command = imex(&words.split_whitespace().collect::<Vec<_>>());
        insta::assert_snapshot!(name, transcript(command.env_remove("SLURMD_NODENAME"), dir.path()));
    }
}

/// A lab with what followers need: an inventory, addresses, leases, records.
struct Rack {
    lab: Background,
    files: tempfile::TempDir,
    addresses: Vec<String>,
}

impl Rack {
    fn up() -> Self {
        let lab = Background::up(NODES);
        let map = fs::read_to_string(lab.file(0, "nodes_config.cfg")).unwrap();
        let addresses: Vec<String> = map.lines().map(str::to_owned).collect();
        let files = tempfile::tempdir().unwrap();
        let nodes = addresses.iter().enumerate();
        let nodes = nodes.map(|(node, address)| serde_json::json!({"name": name(node), "address": address}));
        let shown = serde_json::json!({ "nodes": nodes.collect::<Vec<_>>() });
        fs::write(files.path().join("nodes.json"), shown.to_string()).unwrap();
        Rack { lab, files, addresses }
    }

    /// What the topology is from now on. Replaced as a whole: followers read it at any time.
    fn partition(&self, blocks: &[&[usize]]) {
        let mut text = "blocks:\n".to_owned();
        for (number, nodes) in blocks.iter().enumerate() {
            let nodes: Vec<String> = nodes.iter().map(|node| name(*node)).collect();
            text.push_str(&format!("  - block: rack1-part{number}\n    nodes: {}\n", nodes.join(",")));
        }
        imex_config::replace(&self.files.path().join("inventory.yaml"), text.as_bytes()).unwrap();
    }

    fn follow(&self) -> Followers {
        Followers { children: (0..NODES).map(|node| self.start(node, None)).collect() }
    }

    fn start(&self, node: usize, die_at: Option<&str>) -> Child {
        self.start_with(node, die_at, "")
    }

    fn start_with(&self, node: usize, die_at: Option<&str>, more: &str) -> Child {
        let (lab, files) = (self.lab.dir.display(), self.files.path().display());
        let words = format!(
            "follow --source inventory:{files}/inventory.yaml --scope partition --node {} --addresses {files}/nodes.json \
             -c {lab}/node-{node}/config.cfg --map {lab}/node-{node}/nodes_config.cfg --leases {files}/leases-{node} \
             --service lab:{lab}/node-{node} --listen {} --interval 1h --up 20s {more}",
            name(node),
            self.addresses[node],
        );
        let mut command = imex(&words.split_whitespace().collect::<Vec<_>>());
        if let Some(step) = die_at {
            command.env("IMEX_DIE_AT", step);
        }
        let record = File::create(self.files.path().join(format!("record-{node}"))).unwrap();
        let errors = File::create(self.files.path().join(format!("errors-{node}"))).unwrap();
        command.stdin(Stdio::null()).stdout(record).stderr(errors).spawn().unwrap()
    }

    fn wait(&self, what: &str, so: impl Fn(&Rack) -> bool) {
        let records =
            |node| fs::read_to_string(self.files.path().join(format!("record-{node}"))).unwrap_or_default();
        let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| until(what, || so(self))));
        if told.is_err() {
            panic!("{what}; records:\n{}", (0..NODES).map(records).collect::<Vec<_>>().join("\n"));
        }
    }

    fn leases(&self, node: usize) -> Leases {
        Leases::at(self.files.path().join(format!("leases-{node}")))
    }

    fn take(&self, node: usize, job: &str) {
        let job: Holder = job.parse().unwrap();
        until("the lease is to be had", || self.leases(node).take(&job, jiff::Timestamp::UNIX_EPOCH).is_ok());
    }

    fn give_back(&self, node: usize, job: &str) {
        self.leases(node).give_back(&job.parse().unwrap()).unwrap();
    }

    fn events(&self, node: usize) -> Vec<Value> {
        let record = fs::read_to_string(self.files.path().join(format!("record-{node}"))).unwrap_or_default();
        record.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// How often each follower told of such an event.
    fn count(&self, event: &str) -> [usize; NODES] {
        std::array::from_fn(|node| self.events(node).iter().filter(|told| told["event"] == event).count())
    }

    /// For what a follower waits, as it told last.
    fn last(&self, node: usize) -> String {
        let events = self.events(node);
        let waits = events.last().map(|told| told["waits_for"].as_str().unwrap_or_default().to_owned());
        waits.unwrap_or_default()
    }

    /// The number of nodes of each node's domain; 0 where it is not UP.
    fn sizes(&self) -> [usize; NODES] {
        std::array::from_fn(|node| {
            let said = self.lab.wait(node, &["--timeout", "200ms", "--json"]);
            let told: Value = serde_json::from_str(&said.out).unwrap_or_default();
            if said.code == 0 {
                told["nodes"].as_u64().map_or(0, |nodes| usize::try_from(nodes).unwrap())
            } else {
                0
            }
        })
    }

    fn pids(&self) -> Vec<String> {
        let said = run(imex(&["lab", "status", "--json", "--dir"]).arg(&self.lab.dir));
        let status: Value = serde_json::from_str(&said.out).unwrap();
        let nodes = status["nodes"].as_array().unwrap();
        nodes.iter().map(|node| node["pid"].to_string()).collect()
    }

    fn map(&self, node: usize) -> Vec<String> {
        let layout = Layout::new(&self.lab.dir).unwrap();
        let text = fs::read_to_string(layout.node(node).nodes_config).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn entries(&self, nodes: &[usize]) -> Vec<String> {
        nodes.iter().map(|node| self.addresses[*node].clone()).collect()
    }
}

/// The followers, ended with the test.
struct Followers {
    children: Vec<Child>,
}

impl Followers {
    fn nudge(&mut self) {
        self.children.iter().for_each(|child| signal(child.id(), Signal::SIGHUP));
    }

    fn end(&mut self) {
        self.children.iter().for_each(|child| signal(child.id(), Signal::SIGTERM));
        let codes: BTreeMap<u32, Option<i32>> =
            self.children.iter_mut().map(|child| (child.id(), child.wait().unwrap().code())).collect();
        assert!(codes.values().all(|code| *code == Some(0)), "{codes:?}");
    }
}

impl Drop for Followers {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ended = child.kill();
            let _reaped = child.wait();
        }
    }
}

fn name(node: usize) -> String {
    format!("n{node}")
}
