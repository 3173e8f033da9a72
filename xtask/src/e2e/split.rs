//! Scenario 11: a network that falls into halves.

use super::jobs::Job;
use super::records::of_prologs;
use super::rig::{LIMIT, Rig};
use super::{look, traces};
use crate::error::TaskError;
use crate::report::Report;

/// The nodes of the first half; as many are in the second.
const HALF: u8 = 9;

/// Scenario 11. Whatever Slurm's traffic goes through, the domain's does not.
///
/// The policy that drains comes last: where the prologs of several nodes fail, Slurm 26.05.5 takes only the first one's
/// word, the others say it again 15 s later, and whoever has resumed them meanwhile finds them drained once more.
pub(super) fn run(rig: &Rig, report: &mut Report) -> Result<(), TaskError> {
    split(rig, "pass", report)?;
    if rig.drained()?.is_empty() {
        report.line("tie = \"pass\": both halves say so, no node is drained, and no task starts");
    } else {
        return Err(TaskError::NotSo(format!(
            "tie = \"pass\" drains nobody; drained are {:?}",
            rig.drained()?
        )));
    }
    mend(rig)?;
    let nodes: Vec<u8> = rig.nodes().collect();
    let job = rig.submit(&Job::exclusive(2 * HALF, look::script(rig.site.provider)))?;
    rig.completed(job)?;
    look::saw_up(rig, job, &[&nodes])?;
    rig.wait_for_idle()?;
    split(rig, "fail", report)?;
    let all = usize::from(rig.site.nodes);
    rig.until("tie = \"fail\" drains all nodes", LIMIT, || Ok(rig.drained()?.len() == all))?;
    report.line(format_args!("tie = \"fail\": both halves say so, {all} nodes are drained"));
    mend(rig)
}

/// A job on the whole rack does not run, and the record of either half says why.
fn split(rig: &Rig, tie: &str, report: &mut Report) -> Result<(), TaskError> {
    policy(rig, tie)?;
    cut(rig)?;
    let job = rig.submit(&Job::exclusive(2 * HALF, "srun echo NEVER\n").option("--no-requeue"))?;
    let view = rig.wait_over(job)?;
    let output = rig.output(job)?;
    TaskError::unless(view.state == "FAILED" || view.state == "CANCELLED", || {
        format!("the job fails; it is {view}")
    })?;
    TaskError::unless(!output.contains("NEVER"), || format!("no task starts; it is {view}:\n{output}"))?;
    for node in [1, 2 * HALF] {
        let runs = of_prologs(rig, node, job)?;
        let ending = if tie == "pass" { "passed_tie" } else { "tied" };
        let told = runs.iter().any(|run| run.ending == ending && run.message.contains("half"));
        TaskError::unless(told, || {
            format!(
                "node{node} says that the network is split; it says {:?}",
                runs.iter().map(|run| &run.message).collect::<Vec<_>>()
            )
        })?;
    }
    report.line(format_args!("tie = {tie:?}: the job is {view}"));
    Ok(())
}

fn mend(rig: &Rig) -> Result<(), TaskError> {
    rig.nodes().try_for_each(|node| rig.on(node, "nft delete table inet lab").map(drop))?;
    rig.rest()?;
    traces::none_on_the_nodes(rig)
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
