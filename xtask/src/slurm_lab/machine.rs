//! A node that is a machine: made, powered on and off from inside of the cluster.
//!
//! Its disk stays when it is off; its processes, its memory file systems and its network do not. Power goes at once: the
//! link is cut first, so that no peer hears of it.

mod boot;

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::cgroup::Cgroup;
use super::commands::{command, program, write};
use super::conf::Network;
use super::init::{OUT, STORE, failed};
use super::note::Identity;
use super::{LAB, filesystem};
use crate::clock::Stopwatch;
use crate::error::TaskError;

pub(super) use boot::{Options as BootOptions, run as boot};

/// The control groups of a cluster, as it sees them itself.
const CGROUPS: &str = "/sys/fs/cgroup";

/// How long a machine's first process may take to appear, and all of its processes to go.
const LIMIT: Duration = Duration::from_secs(10);

const PAUSE: Duration = Duration::from_millis(5);

/// Starts a node; it boots while this returns.
pub(super) fn power_on(node: u8, network: Network) -> Result<(), TaskError> {
    if process(node).is_some() {
        return Err(TaskError::NotHere(format!("node{node} is on already")));
    }
    disk(node).map_err(|error| failed("a node's disk", &error))?;
    cable(node)?;
    let console = Path::new(OUT).join(format!("console.node{node}.log"));
    let log = OpenOptions::new().create(true).append(true).open(&console);
    let log = log.map_err(TaskError::file("write", &console))?;
    let copy = log.try_clone().map_err(TaskError::file("write", &console))?;
    let mut shell = command("nsenter");
    shell.arg(format!("--net=/run/netns/node{node}")).args(["--", "unshare"]);
    shell.args(["--mount", "--uts", "--ipc", "--pid", "--cgroup", "--time", "--fork", "--kill-child=KILL"]);
    // Slurm compares boot times to notice a reboot: this machine was booted just now.
    shell.arg(format!("--boottime=-{}", uptime()?)).args([LAB, "slurm-lab", "boot"]);
    shell.args(["--node", &node.to_string(), "--network", network.word()]);
    shell.stdout(log).stderr(copy).stdin(Stdio::null());
    let group = Cgroup::at(group_of(node))?;
    let started = group.inside(Path::new(CGROUPS), || {
        shell.spawn().map_err(|source| TaskError::Start { line: "unshare".to_owned(), source })
    })?;
    // Not waited for: the cluster's first process collects it when it ends.
    let first = wait_for(|| Identity::of_child(started.id()))
        .ok_or_else(|| TaskError::NotHere(format!("node{node} does not start: see {}", console.display())))?;
    write(note(node), format!("{} {}\n", first.pid(), started.id()))
}

/// Takes the power from a node, and waits until nothing of it runs.
pub(super) fn power_off(node: u8) -> Result<(), TaskError> {
    let (first, unshare) =
        process(node).ok_or_else(|| TaskError::NotHere(format!("node{node} is off already")))?;
    program(&format!("ip link set v{node} down"))?;
    // Ended between the look and the kill, it is off as well.
    let _ = kill(Pid::from_raw(first), Signal::SIGKILL);
    let gone = |pid: i32| !Path::new(&format!("/proc/{pid}")).exists();
    wait_for(|| (gone(first) && gone(unshare)).then_some(()))
        .ok_or_else(|| TaskError::NotHere(format!("node{node} does not go off")))?;
    program(&format!("ip link delete v{node}"))?;
    program(&format!("ip netns delete node{node}"))?;
    Cgroup::remove(&group_of(node))?;
    let note = note(node);
    fs::remove_file(&note).map_err(TaskError::file("remove", note))
}

/// Where a node's first process is noted, as the cluster sees it.
fn note(node: u8) -> PathBuf {
    Path::new(OUT).join(format!("node{node}.pid"))
}

/// The numbers of a node's first process and of the one that waits for it, if it is on.
fn process(node: u8) -> Option<(i32, i32)> {
    let text = fs::read_to_string(note(node)).ok()?;
    let (first, unshare) = text.trim().split_once(' ')?;
    Some((first.parse().ok()?, unshare.parse().ok()?))
}

fn group_of(node: u8) -> PathBuf {
    Path::new(CGROUPS).join(format!("node{node}"))
}

/// Where a node's disk is in the cluster.
fn disk_of(node: u8) -> PathBuf {
    Path::new(STORE).join(format!("node{node}"))
}

/// The node's disk; made at its first power-on, it stays mounted in the cluster.
fn disk(node: u8) -> nix::Result<()> {
    let at = disk_of(node);
    if at.exists() {
        return Ok(());
    }
    filesystem::folder(&at)?;
    let store = Path::new(STORE);
    let scratch = store.join("disks").join(format!("node{node}"));
    filesystem::overlay(&[&store.join("layer"), &store.join("root")], &scratch, &at)
}

/// The node's network and its end of a cable to the bridge.
fn cable(node: u8) -> Result<(), TaskError> {
    let name = format!("node{node}");
    program(&format!("ip netns add {name}"))?;
    program(&format!(
        "ip link add v{node} type veth peer name eth0 address 02:77:00:00:00:{node:02x} netns {name}"
    ))?;
    program(&format!("ip link set v{node} master br0 up"))
}

/// Whole seconds since this machine's boot.
fn uptime() -> Result<u64, TaskError> {
    let text = fs::read_to_string("/proc/uptime").map_err(TaskError::file("read", "/proc/uptime"))?;
    let seconds = text.split('.').next().and_then(|seconds| seconds.parse().ok());
    seconds.ok_or_else(|| TaskError::Output { line: "/proc/uptime".to_owned(), why: text })
}

fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let running = Stopwatch::start();
    loop {
        let seen = look();
        if seen.is_some() || running.elapsed() > LIMIT {
            return seen;
        }
        thread::sleep(PAUSE);
    }
}
