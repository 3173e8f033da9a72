//! Whether this machine can have a cluster at all. What fails after this was found possible is a fault of ours.

use std::fs;

use super::NodesAre;
use super::cgroup::Cgroup;
use crate::error::TaskError;
use crate::process::Program;

/// The name spaces of a cluster, as `unshare` calls them.
pub(super) const CLUSTER: [&str; 6] = ["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup"];

/// Says what is missing.
pub(super) fn check(nodes_are: NodesAre) -> Result<(), TaskError> {
    let filesystems =
        fs::read_to_string("/proc/filesystems").map_err(TaskError::file("read", "/proc/filesystems"))?;
    if !filesystems.split_whitespace().any(|word| word == "overlay") {
        return Err(TaskError::NotHere("this kernel has no overlayfs".to_owned()));
    }
    let mut unshare = CLUSTER.iter().fold(Program::new("unshare"), |program, space| program.arg(space));
    if nodes_are == NodesAre::Machines {
        unshare = unshare.arg("--time");
        let probe = Cgroup::make(&format!("openimex-lab-probe-{}", std::process::id()))?;
        Cgroup::remove(probe.folder())?;
    }
    let made = unshare.words("--fork true").output()?;
    if made.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&made.stderr).trim().to_owned();
    Err(TaskError::NotHere(format!("name spaces cannot be made on this machine: {why}")))
}
