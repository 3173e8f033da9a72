//! Scenario 16: what stops the hard way, or not at all.

use std::time::Duration;

use imex_slurm::epilog::STEPS;

use super::jobs::Job;
use super::killed::{end, next_job_is_clean, running_job};
use super::records::{of_epilogs, of_prologs};
use super::rig::{Rig, Story};
use super::site::{LAB_FILES, Provider};
use super::{look, traces};
use crate::clock::Stopwatch;
use crate::error::TaskError;
use crate::report::{Report, seconds};

/// The node that it happens on.
const VICTIM: u8 = 2;

/// How long a task may take to start or to be refused.
const TASK: Duration = Duration::from_secs(10);

/// Scenario 16.
pub(super) fn run(rig: &Rig, report: &mut Report) -> Result<(), TaskError> {
    let stories: [(&str, Story); 3] = [
        ("a service that does not stop", killed_at_last),
        ("a service that ends under its job", gone_under_the_job),
        ("a bus that hangs", hung_bus),
    ];
    for (name, story) in stories {
        let running = Stopwatch::start();
        story(rig).and_then(|()| next_job_is_clean(rig)).map_err(|error| error.on(name))?;
        report.line(format_args!("{name}: the next job is clean, {}", seconds(running.elapsed())));
    }
    Ok(())
}

/// The epilog is killed after each of its steps. What it leaves a sweep takes away, or the next job of the node.
pub(super) fn killed_epilogs(rig: &Rig, report: &mut Report) -> Result<(), TaskError> {
    for step in STEPS {
        for swept in [true, false] {
            let running = Stopwatch::start();
            let by = if swept { "a sweep" } else { "the next job" };
            killed_epilog(rig, step, swept)
                .map_err(|error| error.on(&format!("killed after {step:?}, {by}")))?;
            let took = seconds(running.elapsed());
            report.line(format_args!("killed after {step:?}: {by} cleans up, {took}"));
        }
    }
    Ok(())
}

fn killed_epilog(rig: &Rig, step: &str, swept: bool) -> Result<(), TaskError> {
    rig.on(VICTIM, &format!("echo 'export IMEX_DIE_AT={step}' > {LAB_FILES}/epilog.env"))?;
    let job = rig.submit(&Job::exclusive(2, "true\n").option(format!("--nodelist=node[1-{VICTIM}]")))?;
    rig.completed(job)?;
    rig.on(VICTIM, &format!("rm {LAB_FILES}/epilog.env"))?;
    let (drained, records) = (rig.drained()?, of_epilogs(rig, VICTIM, job)?);
    TaskError::unless(drained.keys().copied().eq([VICTIM]) && records.is_empty(), || {
        format!(
            "node{VICTIM}'s epilog is killed, which drains it; drained are {drained:?}, its records are {records:?}"
        )
    })?;
    if swept {
        rig.on(VICTIM, "imex slurm sweep")?;
        return rig.rest().and_then(|()| traces::none_on_the_nodes(rig));
    }
    next_job_is_clean(rig)
}

/// A service that does not go when it is asked to is killed as the last step, and the record says so.
fn killed_at_last(rig: &Rig) -> Result<(), TaskError> {
    let daemon = rig.site.provider.daemon();
    let drop_in = format!("/run/systemd/system/{daemon}.service.d");
    let deaf = format!(
        "mkdir -p {drop_in}; printf '[Service]\\nKillSignal=SIGWINCH\\n' > {drop_in}/deaf.conf; systemctl daemon-reload"
    );
    rig.on(VICTIM, &deaf)?;
    let job = rig.submit(&Job::exclusive(3, look::script(rig.site.provider)))?;
    rig.completed(job)?;
    rig.wait_for_idle()?;
    rig.on(VICTIM, &format!("rm -r {drop_in}; systemctl daemon-reload"))?;
    let records = of_epilogs(rig, VICTIM, job)?;
    let stopped = records.first().map(|record| &record.whole["did"][0]["how"]["stopped"]);
    let told = records.first().is_some_and(|record| record.message.contains("was killed: fabric memory"));
    TaskError::unless(stopped == Some(&"killed".into()) && told, || {
        format!("the record of node{VICTIM}'s epilog says that it killed the service; it is {records:?}")
    })
}

/// No task starts where the domain is not UP any more, and one does when it is again.
fn gone_under_the_job(rig: &Rig) -> Result<(), TaskError> {
    let job = running_job(rig)?;
    let task = |node: u8| {
        let step =
            format!("srun --jobid={job} --overlap --nodes=1 --ntasks=1 --nodelist=node{node} echo RAN");
        let said = rig.user(&["sh", "-c", &format!("timeout {} {step} 2>&1; true", TASK.as_secs())])?;
        Ok::<_, TaskError>(said.contains("RAN"))
    };
    let starts = |node: u8, wanted: bool| {
        TaskError::unless(task(node)? == wanted, || {
            format!(
                "a task on node{node} starts only while the domain is UP; that it starts should be {wanted}"
            )
        })
    };
    let daemon = rig.site.provider.daemon();
    starts(VICTIM, true)?;
    rig.on(VICTIM, &format!("systemctl stop {daemon}"))?;
    starts(VICTIM, false)?;
    // Of NVIDIA's service nobody but root is told more than that it runs.
    if rig.site.provider == Provider::Imexd {
        starts(1, false)?;
    }
    rig.on(VICTIM, &format!("systemctl start {daemon}"))?;
    starts(VICTIM, true)?;
    end(rig, job)
}

/// A prolog that gets no answer from systemd says so, well within its budget.
fn hung_bus(rig: &Rig) -> Result<(), TaskError> {
    rig.on(VICTIM, "pkill -STOP -x dbus-daemon")?;
    let job = rig.submit(&Job::exclusive(3, "echo NEVER\n").option("--no-requeue"))?;
    let over = rig.wait_over(job);
    rig.on(VICTIM, "pkill -CONT -x dbus-daemon")?;
    let (view, drained, records) = (over?, rig.drained()?, of_prologs(rig, VICTIM, job)?);
    let told = records.first().is_some_and(|record| {
        let spent = record.whole["spent_ms"].as_u64().unwrap_or(u64::MAX);
        let within = u128::from(spent) < rig.site.budget.as_millis();
        record.exit_code == 71 && record.message.contains("unit cannot be asked for") && within
    });
    TaskError::unless(drained.keys().copied().eq([VICTIM]) && told, || {
        format!(
            "node{VICTIM} alone is drained, and says that its unit cannot be asked for; drained are {drained:?}, it says \
             {records:?}, the job is {view}"
        )
    })
}
