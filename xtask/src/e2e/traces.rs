//! What must not be left: of a job on its nodes, of a cluster on this machine.
//!
//! Files that begin with a dot are locks, which stay.

use std::fs;
use std::path::Path;

use super::rig::Rig;
use crate::error::TaskError;
use crate::process::Program;

/// Claims that a job that is over has left nothing on any node: no process, no port, no file, no lease, no channel, no
/// failed unit. NVIDIA's daemon is asked over its command port, and that stays open once a prolog has opened it.
pub(super) fn none_on_the_nodes(rig: &Rig) -> Result<(), TaskError> {
    let daemon = rig.site.provider.daemon();
    let line = format!(
        "pgrep -a -x {daemon}; pgrep -a -x imex; ss -Hltn '( sport = :50000 or sport = :50005 )'; \
         grep -v '^ *#' /etc/nvidia-imex/nodes_config.cfg | grep . ; \
         diff -I '^IMEX_CMD_ENABLED' /var/tmp/before/config.cfg /etc/nvidia-imex/config.cfg; \
         find /etc/nvidia-imex /etc/openimex -name '.*' -type f; find /var/lib/openimex -name domain.json; \
         find /run/imex/leases -type f ! -name '.*'; find /dev/nvidia-caps-imex-channels -type c; \
         systemctl --failed --no-legend; true"
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
    let cgroup = rig.cluster().cgroup().map(Path::to_owned);
    rig.down()?;
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut left: Vec<String> =
        read("/proc/mounts").lines().filter(|line| line.contains(&dir)).map(str::to_owned).collect();
    left.extend(processes_in(&dir));
    left.extend(cgroup.filter(|folder| folder.exists()).map(|folder| folder.display().to_string()));
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
