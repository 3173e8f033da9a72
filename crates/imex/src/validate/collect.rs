//! Asks every member of the job.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use imex_host::{HostList, Program, compress};
use serde::Serialize;
use serde_json::Value;

use super::args::ValidateArgs;
use super::member::Report;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::pieces;

/// How long Slurm may take to tell a job's nodes.
const ASK: Duration = Duration::from_secs(10);

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
    /// The nodes whose report came, but not whole.
    pub(super) broken: BTreeSet<String>,
    /// What srun said besides; it says why a node did not report.
    pub(super) complaint: String,
}

/// The job that is to be judged; without nodes where only Slurm can tell them.
pub(super) fn job(args: &ValidateArgs) -> Result<Job, Failure> {
    let Some(id) = &args.job else {
        return Err(Failure::because(Exit::NoJob, "SLURM_JOB_ID is not set: this is no job").hint(
            "run it in a job: `imex validate --script | sbatch -N 18`, or srun and salloc with --exclusive; or name a \
             running one with --job",
        ));
    };
    let Some(list) = args.told_nodes() else { return Ok(Job { id: id.clone(), nodes: Vec::new() }) };
    let nodes = HostList::parse(list).map_err(|error| Failure::new(Exit::NoJob, &error).about(list))?;
    Ok(Job { id: id.clone(), nodes: nodes.iter().collect() })
}

/// The job with all of its nodes. In a step on some of them srun names only these the job's, and the set of all is what a
/// domain is held against; where Slurm does not tell, it is what srun says.
pub(super) async fn whole(args: &ValidateArgs, job: Job) -> Result<Job, Failure> {
    let told = !job.nodes.is_empty();
    if told && (args.own_step.is_none() || args.reports.is_some()) {
        return Ok(job);
    }
    let words = ["show", "job", &job.id, "--json"];
    let scontrol =
        Program::new("scontrol").words(words).path(args.path.folders()).deadline(args.timeout.min(ASK));
    let said = scontrol.run().await;
    match said.as_ref().ok().and_then(|said| nodes_of(&said.out, &job.id)) {
        Some(nodes) => Ok(Job { nodes, id: job.id }),
        None if told => Ok(job),
        None => {
            let why = said.err().map(|error| format!(": {}", imex_config::chain(&error))).unwrap_or_default();
            Err(Failure::because(
                Exit::NoJob,
                format!("Slurm tells no nodes of a running job {}{why}", job.id),
            ))
        }
    }
}

/// The nodes of a job in what `scontrol show job --json` prints.
fn nodes_of(text: &str, id: &str) -> Option<Vec<String>> {
    let shown: Value = serde_json::from_str(text).ok()?;
    let is_it = |job: &&Value| job["job_id"].as_u64().is_some_and(|number| number.to_string() == id);
    let list = shown["jobs"].as_array()?.iter().find(is_it)?["nodes"].as_str()?;
    let nodes: Vec<String> = HostList::parse(list).ok()?.iter().collect();
    (!nodes.is_empty()).then_some(nodes)
}

/// Asks the members, or reads what they have told.
pub(super) async fn collect(args: &ValidateArgs, job: &Job) -> Result<Collected, Failure> {
    if let Some(file) = &args.reports {
        let text = crate::topology::read(file)?;
        return Ok(Collected::of(&text, String::new()));
    }
    // Every node has this program at the same place, or the shared folder would not have started it here.
    let own = fs::read_link("/proc/self/exe").unwrap_or_else(|_| PathBuf::from("imex"));
    let count = job.nodes.len().to_string();
    let srun = srun(args, job)
        // Where the domain is not UP no other task starts.
        .env(imex_slurm::task_prolog::LOOKS, "1")
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
        // Counted from the first task that ends: the others' reports must not be lost for one that hangs.
        .words([format!("--wait={}", (args.timeout.as_secs() / 2).max(1))])
        .words([
            own.as_os_str(),
            "validate".as_ref(),
            "member".as_ref(),
            "--pieces".as_ref(),
            "-c".as_ref(),
            args.config.as_os_str(),
        ])
        .deadline(args.timeout);
    let said = srun.ask().await.map_err(|error| {
        Failure::new(Exit::NoReport, &error)
            .hint("is srun there, and do the job's nodes answer? `sinfo -R` tells of those that do not")
    })?;
    Ok(Collected::of(&said.out, said.err.trim().to_owned()))
}

/// srun for the whole job: in a step it takes the step's nodes for the job's, unless it is told.
pub(super) fn srun(args: &ValidateArgs, job: &Job) -> Program {
    Program::new("srun")
        .env("SLURM_JOB_ID", &job.id)
        .env("SLURM_JOB_NODELIST", compress(&job.nodes))
        .path(args.path.folders())
}

impl Collected {
    /// The reports in a text: sent in pieces, or one a line. Other lines, such as those of a login shell, are passed over.
    fn of(text: &str, complaint: String) -> Self {
        let gathered = pieces::gather(text);
        let (mut reports, mut broken) = (BTreeMap::new(), BTreeSet::new());
        let lines = gathered.others.into_iter().filter_map(|line| serde_json::from_str::<Report>(line).ok());
        reports.extend(lines.map(|report| (report.node.clone(), report)));
        broken.extend(gathered.broken.into_iter().map(str::to_owned));
        for (node, text) in gathered.whole {
            match serde_json::from_str::<Report>(&text) {
                Ok(report) => drop(reports.insert(report.node.clone(), report)),
                // Whole, and none of this version.
                Err(_) => drop(broken.insert(node.to_owned())),
            }
        }
        Collected { reports, broken, complaint }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jobs_nodes_are_those_of_its_own_part_of_what_slurm_shows() {
        let shown =
            r#"{"jobs":[{"job_id":6,"nodes":"n9"},{"job_id":7,"nodes":"n[1-3]"},{"job_id":8,"nodes":""}]}"#;
        assert_eq!(nodes_of(shown, "7").unwrap(), ["n1", "n2", "n3"]);
        for (text, id) in [(shown, "9"), (shown, "8"), ("{}", "7"), ("", "7")] {
            assert_eq!(nodes_of(text, id), None, "{text} {id}");
        }
    }
}
