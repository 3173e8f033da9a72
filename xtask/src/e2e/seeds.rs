//! Scenario 9: the service under NVIDIA's names, driven by our prolog and by the published ones.
//!
//! Those are not part of this repository: `--seeds DIR` names a folder with the pages they stand in.

use std::fs;
use std::path::{Path, PathBuf};

use super::bad_node::{BLOCKED, MISSING};
use super::jobs::Job;
use super::rig::{Rig, Told};
use super::site::Hooks;
use super::{bad_node, hard, healthy, killed, look, order};
use crate::error::TaskError;
use crate::report::Report;
use crate::tree;

/// The page with AWS's prolog, and the one with NVIDIA's prolog and epilog.
const AWS_PAGE: &str = "aws-pcs-ultraserver.txt";
const NVIDIA_PAGE: &str = "nvidia-imex-deployment-models.txt";

/// How a script begins in a page.
const SHEBANG: &str = "#!/usr/bin/env bash";

/// The part of it that every verification has time for.
pub(super) fn under_nvidias_names(rig: &Rig, report: &mut Report) -> Result<(), TaskError> {
    healthy::one_job(rig, report)?;
    BLOCKED.try_on(rig, report)?;
    MISSING.try_on(rig, report)
}

/// Everything that is tried on six nodes.
pub(super) fn everything_under_nvidias_names(rig: &Rig, report: &mut Report) -> Result<(), TaskError> {
    let all: [Told; 7] = [
        healthy::one_job,
        healthy::back_to_back,
        healthy::shared,
        bad_node::run,
        killed::run,
        hard::run,
        // The last one: Slurm repeats for minutes that a prolog of the cancelled job failed, which drains the node anew.
        order::run,
    ];
    all.into_iter().try_for_each(|scenario| scenario(rig, report).and_then(|()| rig.rest()))
}

/// It does not wait for the domain, so the job has to.
pub(super) fn aws(rig: &Rig, report: &mut Report) -> Result<(), TaskError> {
    consecutive_jobs(rig)?;
    let log = rig.on(1, "cat /var/log/nvidia-imex-prolog.log")?;
    TaskError::unless(log.contains("PROLOG End"), || {
        format!("the prolog says that it ended; it says {log}")
    })?;
    let channel = rig.on(1, "stat -c %F /dev/nvidia-caps-imex-channels/channel0")?;
    report.line(format_args!("two jobs; channel0 is a {}", channel.trim()));
    Ok(())
}

/// The epilog ends the service and empties the node map.
pub(super) fn nvidia(rig: &Rig, report: &mut Report) -> Result<(), TaskError> {
    consecutive_jobs(rig)?;
    let config = rig.on(1, "cat /etc/nvidia-imex/config.cfg")?;
    let rotated =
        config.lines().any(|line| line.starts_with("SERVER_PORT=33") || line.starts_with("SERVER_PORT=34"));
    let asked = config.contains("\nIMEX_CMD_ENABLED=1") && config.contains("\nIMEX_CMD_PORT=50005");
    TaskError::unless(rotated && asked, || format!("its sed lines find their keys in {config}"))?;
    for node in rig.nodes() {
        let left =
            rig.on(node, "pgrep -x nvidia-imex; cat /etc/nvidia-imex/nodes_config.cfg 2>/dev/null; true")?;
        TaskError::unless(left.is_empty(), || format!("its epilog leaves nothing; on node{node} is {left}"))?;
    }
    report.line("two jobs, and nothing left");
    Ok(())
}

/// Two jobs on other nodes each see their domain UP in the end.
fn consecutive_jobs(rig: &Rig) -> Result<(), TaskError> {
    let script = format!(
        "for i in $(seq 100); do nvidia-imex-ctl -N -j | grep -q '^ \"status\": \"UP\"' && break; sleep 0.1; done\n{}",
        look::script(rig.site.provider)
    );
    for left_out in [6, 1] {
        let job = Job::exclusive(4, &script).option(format!("--exclude=node{left_out}"));
        let job = rig.submit(&job)?;
        let nodes = rig.expand(&rig.completed(job)?.nodes)?;
        look::saw_up(rig, job, &[&nodes])?;
        rig.wait_for_idle()?;
    }
    Ok(())
}

/// AWS's prolog.
pub(crate) fn aws_hooks(folder: Option<&Path>) -> Result<Hooks, TaskError> {
    let [prolog] = scripts(folder, AWS_PAGE)?;
    Ok(Hooks::Scripts { prolog, epilog: None })
}

/// NVIDIA's prolog and epilog.
pub(crate) fn nvidia_hooks(folder: Option<&Path>) -> Result<Hooks, TaskError> {
    let [prolog, epilog] = scripts(folder, NVIDIA_PAGE)?;
    Ok(Hooks::Scripts { prolog, epilog: Some(epilog) })
}

/// The scripts of a page, each as a file of its own.
fn scripts<const N: usize>(folder: Option<&Path>, page: &str) -> Result<[PathBuf; N], TaskError> {
    let folder = folder.ok_or_else(|| TaskError::NotHere("no folder of seeds is given".to_owned()))?;
    let text = tree::read(&folder.join(page))?;
    let found: Result<[String; N], _> = scripts_in(&text).try_into();
    let found = found.map_err(|found: Vec<String>| TaskError::Output {
        line: page.to_owned(),
        why: format!("{} scripts are in it, not {N}", found.len()),
    })?;
    let to = tree::target().join("slurm-lab/seeds");
    fs::create_dir_all(&to).map_err(TaskError::file("make", &to))?;
    let mut number = 0;
    let paths = found.map(|script| {
        number += 1;
        (to.join(format!("{page}-{number}")), script)
    });
    for (path, script) in &paths {
        fs::write(path, script).map_err(TaskError::file("write", path))?;
    }
    Ok(paths.map(|(path, _)| path))
}

/// A script goes from its first line to the end of the group that its output is redirected from, or of the page.
fn scripts_in(page: &str) -> Vec<String> {
    let parts = page.split(SHEBANG).skip(1);
    let cut = parts.map(|part| {
        let mut script = SHEBANG.to_owned();
        for line in part.split_inclusive('\n') {
            script.push_str(line);
            if line.starts_with("} ") {
                break;
            }
        }
        script + "\n"
    });
    cut.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_cut_out_of_their_page() {
        let page = "words\n#!/usr/bin/env bash\n{\n a\n} 2>&1 | log\n\nmore\n#!/usr/bin/env bash\nb";
        assert_eq!(
            scripts_in(page),
            ["#!/usr/bin/env bash\n{\n a\n} 2>&1 | log\n\n", "#!/usr/bin/env bash\nb\n"]
        );
    }
}
