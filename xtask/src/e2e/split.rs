//! Scenario 11: a network that falls into halves.

use std::time::Duration;

use super::jobs::Job;
use super::rig::{LIMIT, Rig};
use super::{look, traces};
use crate::error::TaskError;
use crate::report::Report;

/// The nodes of the first half; as many are in the second.
const HALF: u8 = 9;

/// Scenario 11. Whatever Slurm's traffic goes through, the domain's does not.
pub(super) fn run(rig: &Rig, report: &mut Report) -> Result<(), TaskError> {
    for (tie, drained) in [("fail", 2 * usize::from(HALF)), ("pass", 0)] {
        policy(rig, tie)?;
        cut(rig)?;
        let job = rig.submit(&Job::exclusive(2 * HALF, "srun echo NEVER\n").option("--no-requeue"))?;
        let view = rig.wait_over(job)?;
        let output = rig.output(job)?;
        // A task never starts without its domain, whatever becomes of the job.
        TaskError::unless(!output.contains("NEVER"), || format!("no task starts; it is {view}:\n{output}"))?;
        rig.until("all nodes have judged", LIMIT, || Ok(rig.drained()?.len() >= drained))?;
        std::thread::sleep(Duration::from_secs(1));
        let seen = rig.drained()?;
        TaskError::unless(seen.len() == drained, || {
            format!("with tie = {tie:?} {drained} nodes are drained; they are {seen:?}")
        })?;
        for node in [1, 2 * HALF] {
            let record = rig.record(node, job)?;
            let says = ["half", "split", "halves"].iter().any(|word| record.contains(word));
            TaskError::unless(says, || {
                format!("node{node} says that the network is split; it says {record}")
            })?;
        }
        report.line(format_args!("tie = {tie:?}: both halves say so, {} nodes are drained", seen.len()));
        for node in rig.nodes() {
            rig.on(node, "nft delete table inet lab")?;
        }
        rig.rest()?;
        traces::none_on_the_nodes(rig)?;
    }
    let nodes: Vec<u8> = rig.nodes().collect();
    let job = rig.submit(&Job::exclusive(2 * HALF, look::script(rig.site.provider)))?;
    rig.completed(job)?;
    look::saw_up(rig, job, &[&nodes])
}

fn policy(rig: &Rig, tie: &str) -> Result<(), TaskError> {
    let line = format!(
        "grep -v '^tie' /etc/openimex/openimex.toml | sed 's/^\\[prolog\\]/[prolog]\\ntie = \"{tie}\"/' > /run/toml; \
         cp /run/toml /etc/openimex/openimex.toml"
    );
    rig.nodes().try_for_each(|node| rig.on(node, &line).map(drop))
}

/// Each node drops what comes to the service's port from the other half.
fn cut(rig: &Rig) -> Result<(), TaskError> {
    rig.nodes().try_for_each(|node| {
        let (first, last) = if node <= HALF { (HALF + 1, 2 * HALF) } else { (1, HALF) };
        let line = format!(
            "nft add table inet lab; nft 'add chain inet lab input {{ type filter hook input priority 0; }}'; \
             nft add rule inet lab input ip saddr 10.77.0.{first}-10.77.0.{last} tcp dport 50000 drop"
        );
        rig.on(node, &line).map(drop)
    })
}
