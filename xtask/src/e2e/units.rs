//! Scenarios 14 and 15: what takes a real systemd as process 1. The tests of imex-host that are ignored elsewhere, and the
//! units that keep maps and topology.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::rig::{LIMIT, Rig};
use crate::error::TaskError;
use crate::process::Program;
use crate::report::Report;
use crate::slurm_lab::Seat;

/// How long the tests may take: each waits a few times for units that do not do as they should.
const TESTS: Duration = Duration::from_secs(120);

/// Where sources find the nodes.
const INVENTORY: &str = "/etc/openimex/inventory.yaml";

/// Quick enough to be waited for, and silent for longer than a turn takes.
const QUICK: &str = "RestartSec=500ms\nWatchdogSec=3s\n";

/// Scenario 15: `crates/imex-host/tests/systemd.rs` on a node.
pub(super) fn tests(rig: &Rig, report: &mut Report) -> Result<(), TaskError> {
    let program = test_program()?;
    let to = rig.cluster().dir().join("out/systemd-tests");
    fs::copy(&program, &to).map_err(TaskError::file("copy", &program))?;
    let seat = Seat { node: Some(1), user: None };
    let said =
        rig.cluster().exec_at(seat, &["/out/systemd-tests", "--ignored", "--test-threads=1"], TESTS)?;
    let last =
        said.out.lines().find(|line| line.starts_with("test result:")).unwrap_or("no result").to_owned();
    // None at all would be no proof.
    TaskError::unless(said.code == Some(0) && !last.contains(" 0 passed"), || {
        format!("the tests pass on a real systemd; they say:\n{}{}", said.out, said.err)
    })?;
    report.line(last);
    Ok(())
}

/// The program with the tests, built if it is not there.
fn test_program() -> Result<PathBuf, TaskError> {
    let cargo = Program::cargo().words("test --quiet --locked --package imex-host --test systemd --no-run");
    let said = cargo.words("--message-format=json").stdout()?;
    let messages = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut programs = messages.filter(|message| message["target"]["name"] == "systemd");
    let program = programs.find_map(|message| Some(PathBuf::from(message["executable"].as_str()?)));
    program.ok_or_else(|| TaskError::Output { line: "cargo test --no-run".to_owned(), why: said })
}

/// Scenario 14.
pub(super) fn keepers(rig: &Rig, report: &mut Report) -> Result<(), TaskError> {
    follow(rig).map_err(|error| error.on("imex-follow.service"))?;
    report.line(
        "imex-follow.service: a map of two becomes one of three, and the unit lives through what may come",
    );
    watch(rig).map_err(|error| error.on("imex-topology-watch.service"))?;
    report.line("imex-topology-watch.service: the controller holds what the inventory says");
    Ok(())
}

/// Two nodes are a partition, then three: told by a reload, each moves its service over the bus.
fn follow(rig: &Rig) -> Result<(), TaskError> {
    let sources = format!("--source inventory:{INVENTORY} --scope partition");
    partition(rig, &["node[1-2]", "node3", "node4"])?;
    for node in 1..=3 {
        let map =
            format!("imex topology node-map {sources} --node node{node} > /etc/nvidia-imex/nodes_config.cfg");
        rig.on(node, &format!("{map}; systemctl start --no-block imexd"))?;
        drop_in(
            rig,
            node,
            "imex-follow",
            &format!("Environment=\"IMEX_FOLLOW={sources} --node %l --interval 1h\""),
        )?;
    }
    rig.until("the first domains are UP", LIMIT, || sizes(rig, &[2, 2, 1]))?;
    for node in 1..=3 {
        rig.on(node, "systemctl start imex-follow")?;
    }
    rig.until("all are settled", LIMIT, || status(rig, "imex-follow", "the map that the topology asks for"))?;
    partition(rig, &["node[1-3]", "node4"])?;
    for node in 1..=3 {
        rig.on(node, "systemctl reload imex-follow")?;
    }
    rig.until("all are one domain", LIMIT, || sizes(rig, &[3, 3, 3]))?;
    rig.until("all are settled", LIMIT, || status(rig, "imex-follow", "the map that the topology asks for"))?;
    survives(rig, "imex-follow")?;
    for node in 1..=3 {
        rig.on(node, "systemctl stop imex-follow imexd; : > /etc/nvidia-imex/nodes_config.cfg")?;
    }
    ended(rig, "imex-follow")
}

/// The file is the controller's: nodes and controller of the lab share one folder, and it lies there.
fn watch(rig: &Rig) -> Result<(), TaskError> {
    let share = "ln -sf /out/topology.yaml /etc/slurm/topology.yaml";
    rig.control(&format!("cp --remove-destination /etc/slurm/topology.yaml /out/topology.yaml; {share}"))?;
    rig.nodes().try_for_each(|node| rig.on(node, share).map(drop))?;
    partition(rig, &["node[1-2]", "node[3-4]"])?;
    let lines = format!(
        "ReadWritePaths=/out\nEnvironment=\"IMEX_TOPOLOGY_SOURCES=--source inventory:{INVENTORY} --debounce 200ms --interval 1h\""
    );
    drop_in(rig, 1, "imex-topology-watch", &lines)?;
    rig.on(1, "systemctl start imex-topology-watch")?;
    holds(rig, &["BlockName=rack1", "Nodes=node[1-2]", "Nodes=node[3-4]"])?;
    partition(rig, &["node[1-4]"])?;
    rig.on(1, "systemctl reload imex-topology-watch")?;
    holds(rig, &["Nodes=node[1-4]"])?;
    survives(rig, "imex-topology-watch")?;
    rig.on(1, "systemctl stop imex-topology-watch")?;
    ended(rig, "imex-topology-watch")
}

fn holds(rig: &Rig, words: &[&str]) -> Result<(), TaskError> {
    rig.until(&format!("the controller holds {words:?}"), LIMIT, || {
        let shown = rig.control("scontrol show topology")?;
        Ok(words.iter().all(|word| shown.contains(word)))
    })
    .map(drop)
}

/// Writes the inventory on all nodes.
fn partition(rig: &Rig, blocks: &[&str]) -> Result<(), TaskError> {
    let mut text = "blocks:\n".to_owned();
    for (number, nodes) in blocks.iter().enumerate() {
        text += &format!("  - block: part{number}\n    nodes: {nodes}\n");
    }
    let line = format!("cat > {INVENTORY}.new <<'END'\n{text}END\nmv {INVENTORY}.new {INVENTORY}");
    rig.nodes().try_for_each(|node| rig.on(node, &line).map(drop))
}

fn drop_in(rig: &Rig, node: u8, unit: &str, lines: &str) -> Result<(), TaskError> {
    let folder = format!("/etc/systemd/system/{unit}.service.d");
    let text = format!("[Service]\n{QUICK}{lines}\n");
    let line =
        format!("mkdir -p {folder}; cat > {folder}/lab.conf <<'END'\n{text}END\nsystemctl daemon-reload");
    rig.on(node, &line).map(drop)
}

/// Whether the domains of the first nodes are UP with so many members.
fn sizes(rig: &Rig, wanted: &[usize]) -> Result<bool, TaskError> {
    let mut seen = Vec::new();
    for node in 1..=3 {
        let said = rig.try_on(node, "imexctl -N -j")?;
        let told: Value = serde_json::from_str(&said.out).unwrap_or_default();
        let up = told["status"] == "UP";
        seen.push(told["nodes"].as_object().filter(|_| up).map_or(0, serde_json::Map::len));
    }
    Ok(seen == wanted)
}

/// Whether the unit says this of itself on the first three nodes.
fn status(rig: &Rig, unit: &str, words: &str) -> Result<bool, TaskError> {
    for node in 1..=3 {
        let said = rig.on(node, &format!("systemctl show --property=StatusText {unit}"))?;
        if !said.contains(words) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The unit on node 1 is there again after its process was killed, and after it fell silent.
fn survives(rig: &Rig, unit: &str) -> Result<(), TaskError> {
    for (signal, result) in [("KILL", "killed"), ("STOP", "silent")] {
        let before = pid(rig, unit)?;
        rig.on(1, &format!("kill -{signal} {before}"))?;
        rig.until(&format!("{unit} is there again after it was {result}"), LIMIT, || {
            let now = pid(rig, unit)?;
            let active = rig.try_on(1, &format!("systemctl is-active {unit}"))?;
            Ok(now != before && now != "0" && active.out.trim() == "active")
        })?;
    }
    Ok(())
}

fn pid(rig: &Rig, unit: &str) -> Result<String, TaskError> {
    let said = rig.on(1, &format!("systemctl show --property=MainPID --value {unit}"))?;
    Ok(said.trim().to_owned())
}

/// Stopped, it has ended well.
fn ended(rig: &Rig, unit: &str) -> Result<(), TaskError> {
    let said =
        rig.on(1, &format!("systemctl show --property=ActiveState,Result,ExecMainStatus --value {unit}"))?;
    let words: Vec<&str> = said.split_whitespace().collect();
    TaskError::unless(
        words.contains(&"inactive") && words.contains(&"success") && words.contains(&"0"),
        || format!("{unit} is stopped and has ended well; it is {words:?}"),
    )
}
