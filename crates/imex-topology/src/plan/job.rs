//! A job that Slurm has: what `scontrol show job ID --json` prints.

use serde::Deserialize;

use crate::model::NodeSet;
use crate::source::SourceError;

use super::{Request, Sharing, Spread};

const WHAT: &str = "the output of `scontrol show job --json`";

/// A job as Slurm has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its number.
    pub id: u64,
    /// Its state in Slurm's words, such as `PENDING`.
    pub state: String,
    /// Slurm's reason for that state; `None` if there is none.
    pub reason: Option<String>,
    /// Its partition; the first, if it asks for several.
    pub partition: String,
    /// What it asks for. Slurm's JSON tells neither `--spread-segments` nor `--exclusive`: these are as given.
    pub request: Request,
}

#[derive(Deserialize)]
struct Shown {
    jobs: Vec<ShownJob>,
}

#[derive(Deserialize)]
struct ShownJob {
    job_id: u64,
    #[serde(default)]
    job_state: Vec<String>,
    #[serde(default)]
    state_reason: String,
    #[serde(default)]
    partition: String,
    node_count: Number,
    #[serde(default)]
    segment_size: usize,
    #[serde(default)]
    required_nodes: String,
    #[serde(default)]
    excluded_nodes: String,
}

#[derive(Deserialize)]
struct Number {
    number: usize,
}

/// Reads the job with this number.
///
/// # Errors
///
/// If it is not JSON of that shape, has lists of nodes that are none, or has no such job.
pub fn parse(text: &str, id: u64, sharing: Sharing, spread: Spread) -> Result<Job, SourceError> {
    let shown: Shown =
        serde_json::from_str(text).map_err(|source| SourceError::Json { what: WHAT, source })?;
    let Some(job) = shown.jobs.into_iter().find(|job| job.job_id == id) else {
        return Err(SourceError::Nothing);
    };
    let nodes = |list: &str| {
        let broken = |error: imex_host::HostListError| SourceError::Line { line: 1, what: error.to_string() };
        NodeSet::parse(list).map_err(broken)
    };
    let request = Request {
        nodes: job.node_count.number.max(1),
        segment: Some(job.segment_size).filter(|segment| *segment > 0),
        spread,
        sharing,
        wanted: nodes(&job.required_nodes)?,
        excluded: nodes(&job.excluded_nodes)?,
    };
    Ok(Job {
        id,
        state: job.job_state.join("+"),
        reason: Some(job.state_reason).filter(|reason| !reason.is_empty() && reason != "None"),
        partition: job.partition.split(',').next().unwrap_or_default().to_owned(),
        request,
    })
}

/// What Slurm's reason for a pending job means, where the blocks do not tell.
pub fn meaning(reason: &str) -> Option<&'static str> {
    let words = match reason {
        "Priority" => "jobs before it in the queue come first",
        "Resources" => "it is first in the queue and waits for nodes",
        "Dependency" | "DependencyNeverSatisfied" => "it waits for another job",
        "JobHeldUser" => "its owner holds it: scontrol release",
        "JobHeldAdmin" => "an administrator holds it",
        "BeginTime" => "its begin time has not come, or it was requeued a moment ago",
        "PartitionNodeLimit" => "the partition has fewer nodes than it asks for",
        "PartitionTimeLimit" => "it asks for more time than the partition allows",
        "PartitionDown" | "PartitionInactive" => "the partition takes no jobs",
        "ReqNodeNotAvail" | "ReqNodeNotAvail, May be reserved for other job" => {
            "nodes that it needs are down, drained or reserved"
        }
        "NvidiaImexChannels" => "no IMEX channel is free in the cluster",
        "launch_failed_requeued_held" => "its prolog or launch failed and it is held: scontrol release",
        "Licenses" => "it waits for a licence",
        "Reservation" => "its reservation has not begun",
        _ => return None,
    };
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PENDING: &str = r#"{"jobs":[{"job_id":7,"job_state":["PENDING"],"state_reason":"Priority","partition":"a,b",
        "node_count":{"set":true,"infinite":false,"number":24},"segment_size":12,
        "required_nodes":"node8","excluded_nodes":"node[4-5]"}]}"#;

    #[test]
    fn a_pending_job_is_read_with_what_it_asks_for() {
        let job = parse(PENDING, 7, Sharing::Exclusive, Spread::Together).unwrap();
        assert_eq!((job.partition.as_str(), job.reason.as_deref()), ("a", Some("Priority")));
        assert_eq!((job.request.nodes, job.request.segment), (24, Some(12)));
        assert_eq!(job.request.excluded.to_list(), "node[4-5]");
        assert!(meaning("Priority").is_some() && meaning("Whatever").is_none());
    }

    #[test]
    fn another_number_is_no_job() {
        let other = parse(PENDING, 8, Sharing::Exclusive, Spread::Together);
        assert!(matches!(other, Err(SourceError::Nothing)));
        let broken = PENDING.replace("node8", "node[8");
        assert!(matches!(
            parse(&broken, 7, Sharing::Exclusive, Spread::Together),
            Err(SourceError::Line { .. })
        ));
    }
}
