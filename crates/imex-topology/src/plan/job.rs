//! A job that Slurm has: what `scontrol show job ID --json` prints.

use serde::Deserialize;

use crate::model::NodeSet;
use crate::source::SourceError;

use super::{Request, Sharing, Spread, Uncovered, gres};

/// Slurm's flags of a job for its options for segments.
const SPREAD: &str = "SPREAD_SEGMENTS";
const CONSOLIDATE: &str = "CONSOLIDATE_SEGMENTS";

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
    /// What it asks for. Slurm's JSON does not tell `--exclusive`: that is as given.
    pub request: Request,
    /// What it asks for besides, and what no plan goes by.
    pub uncovered: Vec<Uncovered>,
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
    max_nodes: Option<Number>,
    #[serde(default)]
    segment_size: usize,
    #[serde(default)]
    flags: Vec<String>,
    #[serde(default)]
    features: String,
    #[serde(default)]
    contiguous: bool,
    #[serde(default)]
    required_switches: u64,
    #[serde(default)]
    resv_name: String,
    #[serde(default)]
    tres_per_node: String,
    #[serde(default)]
    tres_per_job: String,
    #[serde(default)]
    tres_per_socket: String,
    #[serde(default)]
    tres_per_task: String,
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
    let uncovered = job.uncovered();
    let broken = |error: gres::GresError| SourceError::Line { line: 1, what: error.to_string() };
    let request = Request {
        nodes: job.node_count.number.max(1),
        segment: Some(job.segment_size).filter(|segment| *segment > 0),
        spread: if spread == Spread::Together { job.spread() } else { spread },
        sharing,
        wanted: nodes(&job.required_nodes)?,
        excluded: nodes(&job.excluded_nodes)?,
        gres: gres::list(&job.tres_per_node).map_err(broken)?,
    };
    Ok(Job {
        id,
        state: job.job_state.join("+"),
        reason: Some(job.state_reason).filter(|reason| !reason.is_empty() && reason != "None"),
        partition: job.partition.split(',').next().unwrap_or_default().to_owned(),
        request,
        uncovered,
    })
}

impl ShownJob {
    fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|known| known == flag)
    }

    fn spread(&self) -> Spread {
        match (self.has(SPREAD), self.has(CONSOLIDATE)) {
            (true, _) => Spread::Apart,
            (false, true) => Spread::Consolidated,
            (false, false) => Spread::Together,
        }
    }

    fn uncovered(&self) -> Vec<Uncovered> {
        let mut found = Vec::new();
        for asked in [&self.tres_per_job, &self.tres_per_socket, &self.tres_per_task] {
            // Processors are no matter for a job that has its nodes whole.
            if asked.contains("gres") {
                found.push(Uncovered::Resources { asked: asked.clone() });
            }
        }
        if !self.features.is_empty() {
            found.push(Uncovered::Features { features: self.features.clone() });
        }
        let (least, most) = (self.node_count.number, self.max_nodes.as_ref().map_or(0, |most| most.number));
        if most > least {
            found.push(Uncovered::Range { least, most });
        }
        if self.has(SPREAD) && self.has(CONSOLIDATE) {
            found.push(Uncovered::BothSegmentOptions);
        }
        for (has, option) in [
            (self.contiguous, "--contiguous"),
            (self.required_switches > 0, "--switches"),
            (self.has("SPREAD_JOB"), "--spread-job"),
            (!self.resv_name.is_empty(), "--reservation"),
        ] {
            found.extend(has.then_some(Uncovered::Option { option }));
        }
        found
    }
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
    fn what_a_job_asks_for_besides_is_planned_or_told() {
        let with = |more: &str| PENDING.replace("\"required_nodes\"", &format!("{more},\"required_nodes\""));
        let read = |more: &str| parse(&with(more), 7, Sharing::Exclusive, Spread::Together).unwrap();
        let spread = |flags: &str| read(&format!("\"flags\":[{flags}]")).request.spread;
        assert_eq!(spread("\"PARTITION_ASSIGNED\""), Spread::Together);
        assert_eq!(spread("\"SPREAD_SEGMENTS\""), Spread::Apart);
        assert_eq!(spread("\"CONSOLIDATE_SEGMENTS\""), Spread::Consolidated);
        let gres = read("\"tres_per_node\":\"gres/gpu:4\"");
        assert_eq!((gres.request.gres, gres.uncovered), (gres::list("gpu:4").unwrap(), vec![]));
        for (more, told) in [
            (
                "\"tres_per_job\":\"gres/gpu:16\"",
                "it asks for gres/gpu:16: how many nodes of which block that takes",
            ),
            ("\"features\":\"a&b\"", "it asks for nodes with the features a&b"),
            ("\"max_nodes\":{\"number\":30}", "it takes up to 30 nodes: the plan is for 24"),
            (
                "\"flags\":[\"SPREAD_SEGMENTS\",\"CONSOLIDATE_SEGMENTS\"]",
                "--spread-segments and --consolidate-segments at once: the plan is for the first",
            ),
            ("\"contiguous\":true", "--contiguous"),
            ("\"required_switches\":1", "--switches"),
            ("\"resv_name\":\"r\"", "--reservation"),
        ] {
            let told_of: Vec<String> = read(more).uncovered.iter().map(Uncovered::to_string).collect();
            assert_eq!(told_of, [told], "{more}");
        }
        assert_eq!(read("\"max_nodes\":{\"number\":24},\"tres_per_task\":\"cpu:2\"").uncovered, []);
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
