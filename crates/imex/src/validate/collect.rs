//! Asks every member of the job.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use imex_host::{HostList, Program};
use serde::Serialize;

use super::args::ValidateArgs;
use super::member::Report;
use crate::exit::Exit;
use crate::failure::Failure;

/// The job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Job {
    /// Its number.
    pub(super) id: String,
    /// Its nodes, in Slurm's order.
    pub(super) nodes: Vec<String>,
}

/// What came back.
#[derive(Clone, Debug, Default)]
pub(super) struct Collected {
    /// The reports by node.
    pub(super) reports: BTreeMap<String, Report>,
    /// What srun said besides; it says why a node did not report.
    pub(super) complaint: String,
}

/// The job that this runs in.
pub(super) fn job(args: &ValidateArgs) -> Result<Job, Failure> {
    let (Some(id), Some(list)) = (&args.job, &args.nodelist) else {
        return Err(Failure::because(
            Exit::NoJob,
            "SLURM_JOB_ID and SLURM_JOB_NODELIST are not set: this is no job",
        )
        .hint(
            "run it in a job: `imex validate --script | sbatch -N 18`, or srun and salloc with --exclusive",
        ));
    };
    let nodes = HostList::parse(list).map_err(|error| Failure::new(Exit::NoJob, &error).about(list))?;
    Ok(Job { id: id.clone(), nodes: nodes.iter().collect() })
}

/// Asks the members, or reads what they have told.
pub(super) async fn collect(args: &ValidateArgs, job: &Job) -> Result<Collected, Failure> {
    if let Some(file) = &args.reports {
        let text = crate::topology::read(file)?;
        return Ok(Collected { reports: reports(&text), complaint: String::new() });
    }
    // Every node has this program at the same place, or the shared folder would not have started it here.
    let own = fs::read_link("/proc/self/exe").unwrap_or_else(|_| PathBuf::from("imex"));
    let count = job.nodes.len().to_string();
    let srun = Program::new("srun")
        // A task on each node, beside whatever the job runs; one that fails does not end the others.
        .words([
            "--nodes",
            &count,
            "--ntasks",
            &count,
            "--ntasks-per-node=1",
            "--overlap",
            "--kill-on-bad-exit=0",
        ])
        .words(["--quiet", "--input=none"])
        .words([
            own.as_os_str(),
            "validate".as_ref(),
            "member".as_ref(),
            "-c".as_ref(),
            args.config.as_os_str(),
        ])
        .path(&args.path)
        .deadline(args.timeout);
    let said = srun.ask().await.map_err(|error| {
        Failure::new(Exit::NoReport, &error)
            .hint("is srun there, and do the job's nodes answer? `sinfo -R` tells of those that do not")
    })?;
    Ok(Collected { reports: reports(&said.out), complaint: said.err.trim().to_owned() })
}

/// The reports among lines; others, such as those of a login shell, are passed over.
pub(super) fn reports(text: &str) -> BTreeMap<String, Report> {
    let reports = text.lines().filter_map(|line| serde_json::from_str::<Report>(line).ok());
    reports.map(|report| (report.node.clone(), report)).collect()
}
