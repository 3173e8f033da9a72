//! What is shipped, installed as the documents say, with no wrapper of the lab's around it.

use std::fs;

use super::Site;
use crate::error::TaskError;
use crate::process::Program;
use crate::slurm_lab::File;
use crate::tree;

/// As `imex slurm settings` advises for partitions of NVLink nodes.
pub(super) const PARTITION: &str = "OverSubscribe=EXCLUSIVE";

/// Where the documents say that the scripts belong.
const SCRIPTS: &str = "/usr/libexec/openimex/slurm";

/// Words that this cluster has already, to which the documents say that the new one must be added; and a sweep that comes
/// round while one looks.
const MERGED: &str = "SchedulerParameters=batch_sched_delay=0,bf_interval=1,sched_interval=2,requeue_delay=1,\
                      nohold_on_prolog_fail\nHealthCheckInterval=5\n";

/// The lines of `slurm.conf`, from the program that is installed.
pub(super) fn slurm_conf(site: &Site) -> Result<String, TaskError> {
    let folder = tree::target().join("slurm-lab");
    let operator = folder.join(format!("openimex-{}.toml", std::process::id()));
    fs::write(&operator, site.operator()).map_err(TaskError::file("write", &operator))?;
    let program = Program::new(tree::target().join("debug/imex"));
    let printed = program.words("slurm settings --slurm-version 26.05 -c").arg(&operator).stdout();
    fs::remove_file(&operator).map_err(TaskError::file("remove", &operator))?;
    Ok(printed? + MERGED)
}

/// The scripts, and the units beside that of the service and the sweep.
pub(super) fn files() -> Result<Vec<File>, TaskError> {
    let read = |name: &str| tree::read(&tree::root().join("dist").join(name));
    let mut files = Vec::new();
    for name in ["prolog", "epilog", "task-prolog", "sweep"] {
        files.push(File::script(format!("{SCRIPTS}/{name}"), read(&format!("slurm/{name}"))?));
    }
    let units = "/usr/lib/systemd/system";
    for name in [
        "imex-channels.service",
        "imex-follow.service",
        "imex-topology-watch.service",
        "imex-metrics.service",
        "imex-metrics.timer",
    ] {
        files.push(File::text(format!("{units}/{name}"), read(&format!("systemd/{name}"))?));
    }
    let per_job = read("systemd/imexd-per-job.conf")?;
    files.push(File::text("/etc/systemd/system/imexd.service.d/per-job.conf", per_job));
    let wanted = "/etc/systemd/system/multi-user.target.wants/imex-channels.service";
    files.push(File::link(wanted, format!("{units}/imex-channels.service")));
    Ok(files)
}
