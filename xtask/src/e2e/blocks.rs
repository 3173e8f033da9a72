//! Scenario 6: a job over two NVLink partitions.

use super::jobs::Job;
use super::rig::Rig;
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
    for node in [1, 5] {
        let record = rig.record(node, job)?;
        let block = if node == 1 { "rack1" } else { "rack2" };
        TaskError::unless(record.contains(block), || {
            format!("node{node}'s record says that its domain is that of {block}; it says {record}")
        })?;
    }
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
