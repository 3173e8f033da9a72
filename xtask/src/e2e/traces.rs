//! What must not be left: of a job on its nodes, of a cluster on this machine.
//!
//! Files that begin with a dot are locks, which stay.

use std::fs;

use super::rig::Rig;
use crate::error::TaskError;
use crate::process::Program;

/// Claims that a job that is over has left nothing on any node: no process, no port, no file, no lease, no channel.
pub(super) fn none_on_the_nodes(rig: &Rig) -> Result<(), TaskError> {
    let daemon = rig.site.provider.daemon();
    let line = format!(
        "pgrep -a -x {daemon}; pgrep -a -x imex; ss -Hltn sport = :50000; \
         grep -v '^ *#' /etc/nvidia-imex/nodes_config.cfg | grep . ; \
         grep '^OPENIMEX_DOMAIN_TOKEN=.' /etc/nvidia-imex/config.cfg; \
         find /run/imex/leases -type f ! -name '.*' 2>/dev/null; find /dev/nvidia-caps-imex-channels -type c 2>/dev/null; true"
    );
    let mut left = Vec::new();
    for node in rig.nodes() {
        let found = rig.on(node, &line)?;
        left.extend(found.lines().map(|line| format!("node{node}: {line}")));
    }
    TaskError::unless(left.is_empty(), || {
        format!("nothing is left on the nodes; found:\n{}", left.join("\n"))
    })
}

/// Ends a cluster by ending its first process, and claims that nothing of it is left on this machine.
pub(super) fn none_after_the_end_of(rig: Rig) -> Result<(), TaskError> {
    let dir = rig.cluster().dir().display().to_string();
    rig.down()?;
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut left: Vec<String> =
        read("/proc/mounts").lines().filter(|line| line.contains(&dir)).map(str::to_owned).collect();
    left.extend(processes_in(&dir));
    let links = Program::new("ip").words("-oneline link show").stdout().unwrap_or_default();
    left.extend(links.lines().filter(|line| line.contains("02:77:00:00:00")).map(str::to_owned));
    TaskError::unless(left.is_empty(), || {
        format!("nothing is left of a cluster; found:\n{}", left.join("\n"))
    })
}

/// The processes of this machine whose command line names a folder.
fn processes_in(dir: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = entries.filter_map(|entry| {
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(dir).then(|| format!("{} {line}", entry.file_name().display()))
    });
    lines.collect()
}
