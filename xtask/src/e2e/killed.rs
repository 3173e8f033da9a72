//! Scenario 5: what is cut short leaves the next job nothing to stumble over.

use imex_slurm::prolog::Step;

use super::bad_node::{BAD, BLOCKED};
use super::jobs::{Job, JobId};
use super::records::{Verdict, of_epilogs, of_prologs};
use super::rig::{LIMIT, Rig, Story};
use super::site::LAB_FILES;
use super::{look, traces};
use crate::clock::Stopwatch;
use crate::error::TaskError;
use crate::report::{Report, seconds};

/// On which node something is cut short.
const VICTIM: u8 = 2;

/// Scenario 5.
pub(super) fn run(rig: &Rig, report: &mut Report) -> Result<(), TaskError> {
    for step in Step::ALL.map(Step::word) {
        let running = Stopwatch::start();
        let begun = killed_at(rig, step).map_err(|error| error.on(&format!("killed after step {step:?}")))?;
        let took = seconds(running.elapsed());
        let begun = match begun {
            Begun::Yes => ", its batch script had begun when Slurm ended it",
            Begun::No => "",
        };
        report.line(format_args!("killed after step {step:?}: the next job is clean, {took}{begun}"));
    }
    let stories: [(&str, Story); 6] = [
        ("slurmd restarted in a prolog that ends well", restarted_in_a_prolog_that_ends_well),
        ("slurmd restarted in the prolog of a job that may not be requeued", restarted_and_cancelled),
        ("slurmd restarted in the prolog of a job that may", restarted_and_requeued),
        ("slurmd restarted under the job", slurmd_restarted_under_the_job),
        ("node rebooted under the job, within SlurmdTimeout", rebooted_under_the_job),
        ("node rebooted after its prolog was killed", rebooted_after_a_kill),
    ];
    for (name, story) in stories {
        let running = Stopwatch::start();
        story(rig).and_then(|()| next_job_is_clean(rig)).map_err(|error| error.on(name))?;
        let took = seconds(running.elapsed());
        report.line(format_args!("{name}: the next job is clean, {took}"));
    }
    Ok(())
}

/// A prolog that is killed fails: Slurm drains the node and ends the job, which may not be requeued here.
fn killed_at(rig: &Rig, step: &str) -> Result<Begun, TaskError> {
    let begun = kill_next_prolog(rig, step)?;
    rig.on(VICTIM, &format!("rm {LAB_FILES}/prolog.env"))?;
    // Slurm runs the epilog of a prolog that failed, and that has to find what the killed one left.
    rig.rest()?;
    traces::none_on_the_nodes(rig)?;
    next_job_is_clean(rig)?;
    Ok(begun)
}

/// Whether the batch script of a job whose prolog failed on another node began before Slurm ended it.
///
/// Both are seen of Slurm 26.05.5 with DeferBatch: where the prolog that fails is the last one to end, the controller may
/// send the script out before it takes notice of the failure.
enum Begun {
    Yes,
    No,
}

fn kill_next_prolog(rig: &Rig, step: &str) -> Result<Begun, TaskError> {
    rig.on(VICTIM, &format!("echo 'export IMEX_DIE_AT={step}' > {LAB_FILES}/prolog.env"))?;
    // What may begin may not go on: neither on the batch node nor, where its prolog was killed, at all.
    let script =
        format!("echo BEGAN\nsrun --nodelist=node{VICTIM} --nodes=1 echo NEVER\nsleep 5\necho NEVER\n");
    let job = rig.submit(&Job::exclusive(4, script).option("--no-requeue"))?;
    let view = rig.wait_over(job)?;
    let (drained, output) = (rig.drained()?, rig.output(job)?);
    TaskError::unless(drained.keys().copied().eq([VICTIM]) && !output.contains("NEVER"), || {
        format!(
            "node{VICTIM}'s prolog is killed and the job does nothing; drained are {drained:?}, it is {view} and printed {output:?}"
        )
    })?;
    Ok(if output.contains("BEGAN") { Begun::Yes } else { Begun::No })
}

/// A job on all nodes sees its domain UP, at once and everywhere, and leaves nothing.
pub(super) fn next_job_is_clean(rig: &Rig) -> Result<(), TaskError> {
    rig.rest()?;
    let nodes: Vec<u8> = rig.nodes().collect();
    let job = rig.submit(&Job::exclusive(rig.site.nodes, look::script(rig.site.provider)))?;
    let view = rig.completed(job)?;
    TaskError::unless(view.restarts == 0, || format!("the next job runs at once; it is {view}"))?;
    look::saw_up(rig, job, &[&nodes])?;
    rig.wait_for_idle()?;
    traces::none_on_the_nodes(rig)
}

/// slurmd 26.05 lets its prolog come to its end before it goes, so that the job starts as if nothing had been.
fn restarted_in_a_prolog_that_ends_well(rig: &Rig) -> Result<(), TaskError> {
    rig.on(VICTIM, &format!("echo 'sleep 3' > {LAB_FILES}/prolog.env"))?;
    let job = rig.submit(&Job::exclusive(4, look::script(rig.site.provider)))?;
    restart_in_the_prolog(rig, "[o]penimex-lab/prolog")?;
    rig.on(VICTIM, &format!("rm {LAB_FILES}/prolog.env"))?;
    let view = rig.completed(job)?;
    TaskError::unless(view.restarts == 0, || format!("the job runs at once; it is {view}"))?;
    look::saw_up(rig, job, &[&[1, 2, 3, 4]])?;
    ends(rig, job, VICTIM, &["up"])?;
    none_is_drained_but(rig, &[])
}

/// The prolog waits for a node that cannot be reached, and passes as an innocent one's does: only that node is drained, and Slurm
/// ends the job.
fn restarted_and_cancelled(rig: &Rig) -> Result<(), TaskError> {
    BLOCKED.spoil(rig)?;
    let job = rig.submit(&Job::exclusive(4, "echo NEVER\n").option("--no-requeue"))?;
    restart_in_the_prolog(rig, "[i]mex slurm prolog")?;
    let view = rig.wait_over(job)?;
    let output = rig.output(job)?;
    TaskError::unless(
        view.state == "CANCELLED" && view.reason == "Prolog" && !output.contains("NEVER"),
        || {
            format!(
                "the job is cancelled because of a prolog, and did nothing; it is {view} and printed {output:?}"
            )
        },
    )?;
    ends(rig, job, VICTIM, &["passed_innocent"])?;
    ends(rig, job, BAD, &["at_fault"])?;
    none_is_drained_but(rig, &[BAD])?;
    traces::none_on_the_nodes(rig)?;
    BLOCKED.mend(rig)
}

/// The same, and the job runs again: on the node of the restarted slurmd, and without the one at fault.
fn restarted_and_requeued(rig: &Rig) -> Result<(), TaskError> {
    BLOCKED.spoil(rig)?;
    let job = rig.submit(
        &Job::exclusive(4, look::script(rig.site.provider)).option(format!("--nodelist=node{VICTIM}")),
    )?;
    restart_in_the_prolog(rig, "[i]mex slurm prolog")?;
    let view = rig.completed(job)?;
    let nodes = rig.expand(&view.nodes)?;
    TaskError::unless(view.restarts == 1 && !nodes.contains(&BAD), || {
        format!("the job runs in its second run, without node{BAD}; it is {view}")
    })?;
    look::saw_up(rig, job, &[&nodes])?;
    ends(rig, job, VICTIM, &["passed_innocent", "up"])?;
    none_is_drained_but(rig, &[BAD])?;
    traces::none_on_the_nodes(rig)?;
    BLOCKED.mend(rig)
}

/// Restarts slurmd while a prolog runs there, whose command line matches this and which is waited for.
fn restart_in_the_prolog(rig: &Rig, line: &str) -> Result<(), TaskError> {
    rig.until("the prolog runs", LIMIT, || {
        Ok(rig.try_on(VICTIM, &format!("pgrep -f '{line}'"))?.code == Some(0))
    })?;
    let main = || rig.on(VICTIM, "systemctl show -p MainPID --value slurmd");
    let before = main()?;
    rig.on(VICTIM, "systemctl restart slurmd")?;
    let after = main()?;
    TaskError::unless(before != after, || {
        format!("slurmd is another process; it is {after} and was {before}")
    })
}

/// Claims how the runs of a job's prolog ended on a node, and that each was followed by an epilog that left nothing.
fn ends(rig: &Rig, job: JobId, node: u8, expected: &[&str]) -> Result<(), TaskError> {
    let (prologs, epilogs) = (of_prologs(rig, node, job)?, of_epilogs(rig, node, job)?);
    let words = |runs: &[Verdict]| runs.iter().map(|run| run.ending.clone()).collect::<Vec<_>>();
    let (prologs, epilogs) = (words(&prologs), words(&epilogs));
    let right =
        prologs == expected && epilogs.len() >= expected.len() && epilogs.iter().all(|word| word == "done");
    TaskError::unless(right, || {
        format!(
            "node{node}'s prologs of job {job} end with {expected:?}, and each has an epilog that is done; they are {prologs:?} and {epilogs:?}"
        )
    })
}

/// Claims which nodes Slurm gives to nobody.
fn none_is_drained_but(rig: &Rig, nodes: &[u8]) -> Result<(), TaskError> {
    let drained = rig.drained()?;
    TaskError::unless(drained.keys().copied().eq(nodes.iter().copied()), || {
        format!("exactly {nodes:?} are drained; drained are {drained:?}")
    })
}

/// The job goes on with its domain, and the epilog still knows what is to be taken down.
fn slurmd_restarted_under_the_job(rig: &Rig) -> Result<(), TaskError> {
    let job = running_job(rig)?;
    rig.on(VICTIM, "systemctl restart slurmd")?;
    std::thread::sleep(std::time::Duration::from_secs(1));
    let view = rig.job(job)?;
    TaskError::unless(view.state == "RUNNING", || format!("the job goes on; it is {view}"))?;
    end(rig, job)
}

/// Slurm keeps the job running and does not run the prolog again, although the node has lost everything: the boot id of
/// the lease is another one.
fn rebooted_under_the_job(rig: &Rig) -> Result<(), TaskError> {
    let job = running_job(rig)?;
    reboot(rig)?;
    rig.on(VICTIM, "imex slurm sweep")?;
    let view = rig.job(job)?;
    TaskError::unless(view.state == "RUNNING", || format!("Slurm has noticed nothing; the job is {view}"))?;
    let step = format!("srun --jobid={job} --overlap --nodes=1 --ntasks=1 --nodelist=node{VICTIM} echo RAN");
    let said = rig.user(&["sh", "-c", &format!("timeout 10 {step} 2>&1; true")])?;
    TaskError::unless(!said.contains("RAN"), || {
        format!("a task on the rebooted node does not start; it says {said}")
    })?;
    end(rig, job)
}

/// The half of a domain that a killed prolog has made is on the disk after the reboot.
fn rebooted_after_a_kill(rig: &Rig) -> Result<(), TaskError> {
    kill_next_prolog(rig, Step::Start.word()).map(drop)?;
    rig.on(VICTIM, &format!("rm {LAB_FILES}/prolog.env"))?;
    reboot(rig)
}

fn reboot(rig: &Rig) -> Result<(), TaskError> {
    rig.cluster().power_off(VICTIM)?;
    rig.cluster().power_on(VICTIM)
}

pub(super) fn running_job(rig: &Rig) -> Result<JobId, TaskError> {
    let job = rig.submit(&Job::exclusive(4, "echo RUNS\nsleep 1000\n"))?;
    rig.until("the job runs", LIMIT, || Ok(rig.output(job)?.contains("RUNS")))?;
    Ok(job)
}

pub(super) fn end(rig: &Rig, job: JobId) -> Result<(), TaskError> {
    rig.control(&format!("scancel {job}"))?;
    rig.wait_over(job).map(drop)
}
