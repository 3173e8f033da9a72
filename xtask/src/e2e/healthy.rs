//! Scenarios 1, 2, 3 and 10: nothing is broken.

use std::time::Duration;

use super::jobs::Job;
use super::rig::Rig;
use super::{look, traces};
use crate::clock::Stopwatch;
use crate::error::TaskError;
use crate::report::{Report, seconds};

/// How many jobs follow each other.
const JOBS: usize = 50;

/// From the start of a job, which is that of its prologs, to its first line: a domain forms in a fraction of a second, and
/// with a dead peer in it never. Slurm tells the start in whole seconds; jobs run beside each other on few cores.
const START: Duration = Duration::from_secs(6);

/// Scenario 1.
pub(super) fn one_job(rig: &Rig, report: &mut Report) -> Result<(), TaskError> {
    let submitted = Stopwatch::start();
    let job = rig.submit(&Job::exclusive(4, look::script(rig.site.provider)))?;
    let view = rig.completed(job)?;
    report.line(format_args!("job {job} on {} after {}", view.nodes, seconds(submitted.elapsed())));
    look::saw_up(rig, job, &[&[1, 2, 3, 4]])?;
    rig.wait_for_idle()?;
    traces::none_on_the_nodes(rig)
}

/// Scenario 10 without its comparison, which is `cargo xtask bench slurm`.
pub(super) fn whole_rack(rig: &Rig, report: &mut Report) -> Result<(), TaskError> {
    let nodes: Vec<u8> = rig.nodes().collect();
    let submitted = Stopwatch::start();
    let job = rig.submit(&Job::exclusive(rig.site.nodes, look::script(rig.site.provider)))?;
    rig.completed(job)?;
    report.line(format_args!("{} nodes after {}", nodes.len(), seconds(submitted.elapsed())));
    look::saw_up(rig, job, &[&nodes])?;
    rig.wait_for_idle()?;
    traces::none_on_the_nodes(rig)
}

/// Scenario 2. All jobs are submitted at once, so that a node goes from one domain to the next without a pause.
pub(super) fn back_to_back(rig: &Rig, report: &mut Report) -> Result<(), TaskError> {
    let running = Stopwatch::start();
    let first_line = format!("echo BEGAN $(date +%s.%N)\n{}", look::script(rig.site.provider));
    let mut jobs = Vec::new();
    for number in 0..JOBS {
        // 2 to 5 of the nodes, and another one left out each time.
        let (size, without) = (2 + number % 4, 1 + number % 6);
        let size = u8::try_from(size).unwrap_or(2);
        let job = Job::exclusive(size, &first_line).option(format!("--exclude=node{without}"));
        jobs.push(rig.submit(&job)?);
    }
    let mut slowest = Duration::ZERO;
    for job in jobs {
        let view = rig.completed(job)?;
        TaskError::unless(view.restarts == 0, || format!("job {job} runs at once; it is {view}"))?;
        let nodes = rig.expand(&view.nodes)?;
        look::saw_up(rig, job, &[&nodes])?;
        let output = rig.output(job)?;
        let began = output.lines().find_map(|line| line.strip_prefix("BEGAN ")?.parse::<f64>().ok());
        let waited =
            Duration::from_secs_f64((began.unwrap_or(f64::MAX / 4.0) - view.started).clamp(0.0, 1e9));
        TaskError::unless(waited <= START, || {
            format!("job {job} waits for no dead peer; its first line came after {}", seconds(waited))
        })?;
        slowest = slowest.max(waited);
    }
    let took = seconds(running.elapsed());
    report.line(format_args!("{JOBS} jobs in {took}; the slowest start took {}", seconds(slowest)));
    rig.wait_for_idle()?;
    traces::none_on_the_nodes(rig)
}

/// Scenario 3. On 26.05 a job that shares its nodes says `OVERSUBSCRIBE=NO`, as an exclusive one did before.
pub(super) fn shared(rig: &Rig, report: &mut Report) -> Result<(), TaskError> {
    let daemon = rig.site.provider.daemon();
    let script = format!("srun --ntasks-per-node=1 sh -c 'echo RAN $(pgrep -x {daemon})'\n");
    for option in ["--comment=plain", "--oversubscribe", "--exclusive=user"] {
        let job = rig.submit(&Job::shared(2, &script).option(option))?;
        rig.completed(job)?;
        let output = rig.output(job)?;
        let ran: Vec<&str> = output.lines().filter(|line| line.starts_with("RAN")).collect();
        TaskError::unless(ran == ["RAN", "RAN"], || {
            format!("a job with {option} runs on two nodes without {daemon}; it printed:\n{output}")
        })?;
        report.line(format_args!("{option}: no domain"));
        rig.wait_for_idle()?;
        traces::none_on_the_nodes(rig)?;
    }
    partitions(rig, &script, report)?;
    other_instances(rig, &script, report)?;
    let job = rig.submit(&Job::exclusive(2, look::script(rig.site.provider)))?;
    rig.completed(job)?;
    look::saw_up(rig, job, &[&[1, 2]])
}

/// What a partition says of sharing: where it forces it no job is exclusive, whatever it asks for; where it only allows it
/// one that asks is.
fn partitions(rig: &Rig, script: &str, report: &mut Report) -> Result<(), TaskError> {
    rig.control("scontrol update partitionname=main OverSubscribe=FORCE:4")?;
    let job = rig.submit(&Job::exclusive(2, script))?;
    rig.completed(job)?;
    let output = rig.output(job)?;
    TaskError::unless(output.lines().filter(|line| *line == "RAN").count() == 2, || {
        format!("a job where sharing is forced runs without a domain; it printed:\n{output}")
    })?;
    report.line("OverSubscribe=FORCE: no domain");
    rig.wait_for_idle()?;
    traces::none_on_the_nodes(rig)?;
    rig.control("scontrol update partitionname=main OverSubscribe=YES:4")?;
    let job = rig.submit(&Job::exclusive(2, look::script(rig.site.provider)))?;
    rig.completed(job)?;
    look::saw_up(rig, job, &[&[1, 2]])?;
    report.line("OverSubscribe=YES and --exclusive: a domain");
    rig.control("scontrol update partitionname=main OverSubscribe=NO")?;
    rig.wait_for_idle()
}

/// Nodes whose metadata says that they are of a type without IMEX have none to form.
fn other_instances(rig: &Rig, script: &str, report: &mut Report) -> Result<(), TaskError> {
    let file = "/etc/openimex-lab/metadata.conf";
    for node in [1, 2] {
        rig.on(node, &format!("echo instance-type=p5.48xlarge > {file}"))?;
    }
    let job = rig.submit(&Job::exclusive(2, script))?;
    rig.completed(job)?;
    let output = rig.output(job)?;
    TaskError::unless(output.lines().filter(|line| *line == "RAN").count() == 2, || {
        format!("a job on two p5.48xlarge runs without a domain; it printed:\n{output}")
    })?;
    report.line("p5.48xlarge: no domain");
    rig.wait_for_idle()?;
    [1, 2].into_iter().try_for_each(|node| rig.on(node, &format!("rm {file}")).map(drop))?;
    traces::none_on_the_nodes(rig)
}
