//! Scenario 7: jobs that do not simply run once from beginning to end.

use std::time::Duration;

use super::bad_node::BLOCKED;
use super::jobs::{Job, JobId};
use super::rig::{LIMIT, Rig, Story};
use super::{look, traces};
use crate::error::TaskError;
use crate::report::Report;

/// The node that [`BLOCKED`] spoils.
const BAD: u8 = 3;

/// Scenario 7.
pub(super) fn run(rig: &Rig, report: &mut Report) -> Result<(), TaskError> {
    let stories: [(&str, Story); 4] = [
        ("requeued", requeued),
        ("cancelled in its prolog", cancelled),
        ("an array", array),
        ("heterogeneous", heterogeneous),
    ];
    for (name, story) in stories {
        let told = story(rig).and_then(|()| rig.rest()).and_then(|()| traces::none_on_the_nodes(rig));
        told.map_err(|error| error.on(name))?;
        report.line(format_args!("{name}: ok"));
    }
    Ok(())
}

/// A running job is put back and runs again on other nodes, of which it had some before, with a domain of that run.
fn requeued(rig: &Rig) -> Result<(), TaskError> {
    let script = format!(
        "[ $SLURM_RESTART_COUNT ] || {{ echo WAITS $OPENIMEX_DOMAIN_ID; exec sleep 1000; }}\n\
         echo BEGAN $OPENIMEX_DOMAIN_ID\n{}",
        look::script(rig.site.provider)
    );
    let job = rig.submit(&Job::exclusive(3, script))?;
    rig.until("the job runs", LIMIT, || Ok(rig.output(job)?.contains("WAITS")))?;
    rig.control("scontrol update nodename=node1 state=drain reason=moved")?;
    rig.control(&format!("scontrol requeue {job}"))?;
    let view = rig.completed(job)?;
    let nodes = rig.expand(&view.nodes)?;
    TaskError::unless(view.restarts == 1 && nodes == [2, 3, 4], || {
        format!("job {job} runs again, on node[2-4]; it is {view}")
    })?;
    look::saw_up(rig, job, &[&nodes])?;
    let output = rig.output(job)?;
    let id = |mark| output.lines().find_map(|line| line.strip_prefix(mark)).unwrap_or_default().trim();
    let (first, second) = (id("WAITS"), id("BEGAN"));
    TaskError::unless(!first.is_empty() && !second.is_empty() && first != second, || {
        format!("each run has a domain of its own, and tells its tasks; they are {first:?} and {second:?}")
    })
}

/// Slurm does not end a prolog for that; the epilog runs once the prolog is over, and on nodes whose prolog is over at
/// once.
fn cancelled(rig: &Rig) -> Result<(), TaskError> {
    BLOCKED.spoil(rig)?;
    // Put back, it would run in spite of that: Slurm requeues a cancelled job whose prolog fails.
    let job = rig.submit(&Job::exclusive(5, "echo NEVER\n").option("--no-requeue"))?;
    rig.wait_job(job, "runs its prologs", |view| view.state == "RUNNING")?;
    std::thread::sleep(Duration::from_millis(1500));
    rig.control(&format!("scancel {job}"))?;
    let view = rig.wait_over(job)?;
    TaskError::unless(view.state == "CANCELLED", || format!("job {job} is cancelled; it is {view}"))?;
    let output = rig.output(job)?;
    TaskError::unless(output.is_empty(), || format!("job {job} never ran; it printed:\n{output}"))?;
    let drained = rig.drained()?;
    TaskError::unless(drained.keys().all(|node| *node == BAD), || {
        format!("nobody is drained but perhaps node{BAD}; drained are {drained:?}")
    })?;
    rig.rest()?;
    BLOCKED.mend(rig)
}

/// Each task has nodes and a domain of its own.
fn array(rig: &Rig) -> Result<(), TaskError> {
    let first = rig.submit(&Job::exclusive(2, look::script(rig.site.provider)).option("--array=0-3"))?;
    let tasks = rig.jobs_like(&format!("ArrayJobId={first} "), 4)?;
    for task in tasks {
        let view = rig.completed(task)?;
        let nodes = rig.expand(&view.nodes)?;
        TaskError::unless(nodes.len() == 2, || format!("task {task} has two nodes; it is {view}"))?;
        look::saw_up(rig, task, &[&nodes])?;
    }
    Ok(())
}

/// The components start together, each with its own nodes and its own domain.
fn heterogeneous(rig: &Rig) -> Result<(), TaskError> {
    let provider = rig.site.provider;
    let of = |group: u8| {
        let look = look::everywhere(provider, &format!("--het-group={group}"));
        format!("{{ {look} }} > het-{group}.out\n")
    };
    // The batch step is the first component's.
    let script = format!("{}\n{}{}", look::line(provider), of(0), of(1));
    let job = Job::exclusive(2, script).option(":").option("--nodes=3").option("--exclusive");
    let first = rig.submit(&job)?;
    let leader = rig.completed(first)?;
    let second = rig.completed(JobId(first.0 + 1))?;
    for (view, file) in [(leader, "het-0.out"), (second, "het-1.out")] {
        let nodes = rig.expand(&view.nodes)?;
        let text = rig.control(&format!("cat /home/{}/{file}", super::rig::USER))?;
        look::see_up(rig, &text, &[&nodes])?;
    }
    Ok(())
}
