//! Scenario 6: a job over two NVLink partitions.

use serde_json::Value;

use super::jobs::Job;
use super::rig::{LIMIT, Rig};
use super::{look, traces};
use crate::error::TaskError;
use crate::report::Report;

/// Two blocks of four.
pub(super) const TOPOLOGY: &str = "\
- topology: nvlink
  cluster_default: true
  block:
    block_sizes: [4]
    blocks:
      - block: rack1
        nodes: node[1-4]
      - block: rack2
        nodes: node[5-8]
";

/// Scenario 6.
pub(super) fn run(rig: &Rig, report: &mut Report) -> Result<(), TaskError> {
    let script = || look::script(rig.site.provider);
    let job = rig.submit(&Job::exclusive(8, script()))?;
    rig.completed(job)?;
    look::saw_up(rig, job, &[&[1, 2, 3, 4], &[5, 6, 7, 8]])?;
    rig.wait_for_idle()?;
    let job = rig.submit(&Job::exclusive(8, "echo RUNS\nsleep 1000\n"))?;
    rig.until("the job runs", LIMIT, || Ok(rig.output(job)?.contains("RUNS")))?;
    for node in rig.nodes() {
        let state = rig.on(node, "cat /var/lib/openimex/domain.json")?;
        let state: Value = serde_json::from_str(&state)
            .map_err(|error| TaskError::Output { line: "domain.json".to_owned(), why: error.to_string() })?;
        let block = if node <= 4 { "rack1" } else { "rack2" };
        let so = state["block"] == block && state["domains"] == 2 && state["stage"] == "up";
        TaskError::unless(so, || {
            format!("node{node}'s state says that its domain is that of {block}, of two; it says {state}")
        })?;
    }
    rig.control(&format!("scancel {job}"))?;
    rig.wait_over(job)?;
    report.line("eight nodes: 4 + 4");
    rig.wait_for_idle()?;
    traces::none_on_the_nodes(rig)?;
    // Slurm cuts what is larger than a block unevenly, down to a single node.
    let job = rig.submit(&Job::exclusive(5, script()))?;
    let nodes = rig.expand(&rig.completed(job)?.nodes)?;
    let (first, second): (Vec<u8>, Vec<u8>) = nodes.iter().partition(|&&node| node <= 4);
    look::saw_up(rig, job, &[&first, &second])?;
    report.line(format_args!("five nodes: {} + {}", first.len(), second.len()));
    rig.wait_for_idle()?;
    traces::none_on_the_nodes(rig)
}
