//! The planner against the real scheduler: random jobs are given to a real slurmctld with real slurmds, and the nodes
//! that each gets are compared with the plan.
//!
//! Everything that the planner is told comes from the controller (`scontrol show nodes --json`), as for an operator. A
//! difference that `docs/planner.md` lists is counted apart; any other fails the task, with what repeats it.

mod cases;
mod controller;
mod scenarios;

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use imex_topology::plan::{Outcome, Plan, plan, uncovered};

use crate::clock::Stopwatch;
use crate::error::TaskError;
use crate::report::{self, Report};
use crate::slurm_lab::{Cluster, Keep, Root, Setup};
use crate::tree;
use cases::{Chance, Shape};
use controller::{Controller, Seen};

/// How many nodes the cluster has; the shapes are made for them.
pub(crate) const NODES: u8 = 36;

/// The jobs of a run in CI: each takes a fraction of a second.
const SMOKE_JOBS: usize = 60;

/// How many jobs run one after the other before all end and other nodes are drained.
const ROUND: usize = 8;

#[derive(Args)]
pub(crate) struct Options {
    /// How many random jobs
    #[arg(long, value_name = "N", default_value_t = 300)]
    jobs: usize,
    /// What the random numbers begin with
    #[arg(long, value_name = "N", default_value_t = 26_05)]
    seed: u64,
    /// What tells the nodes apart
    #[arg(long, value_enum, default_value_t = Nodes::Alike)]
    nodes: Nodes,
}

/// What tells the nodes apart.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Nodes {
    /// Nothing
    Alike,
    /// Their weights
    Weights,
    /// How many GPUs they have
    Gpus,
}

/// How many jobs of a class went as planned.
#[derive(Clone, Copy, Default)]
struct Count {
    jobs: usize,
    agreed: usize,
    listed: usize,
}

/// A bounded run for CI. A machine that cannot have a real Slurm is told so and passes.
pub(crate) fn smoke(report: &mut Report) -> Result<(), TaskError> {
    match run(&Options { jobs: SMOKE_JOBS, seed: 26_05, nodes: Nodes::Alike }, report) {
        Err(TaskError::NotHere(why)) => {
            report.warning(format_args!("the planner against a real Slurm: {why}"));
            Ok(())
        }
        done => done,
    }
}

/// Runs all jobs and prints a table of agreement.
pub(crate) fn run(options: &Options, report: &mut Report) -> Result<(), TaskError> {
    let root = Root::build(report)?;
    let shapes = cases::shapes();
    let setup = Setup {
        topology: Some(cases::topology_yaml(&shapes)?),
        kinds: Chance::new(options.seed).kinds(options.nodes),
        partitions: shapes.iter().map(|shape| shape.name.to_owned()).collect(),
        ..Setup::daemons(NODES)
    };
    let running = Stopwatch::start();
    let dir = tree::target().join(format!("slurm-lab/differential-{}", std::process::id()));
    let cluster = Cluster::up(&root, &dir, &setup, Keep::WhileStarterLives)?;
    report.line(format_args!(
        "{} with {NODES} nodes after {}",
        root.version()?,
        report::seconds(running.elapsed())
    ));
    let controller = Controller::new(&cluster);
    // What AWS PCS explains is said of nodes that are alike.
    let mut differences = match options.nodes {
        Nodes::Alike => scenarios::run(&controller, &shapes, report)?,
        Nodes::Weights | Nodes::Gpus => Vec::new(),
    };
    let (counts, others) = trials(&controller, &shapes, options)?;
    differences.extend(others);
    table(&counts, report);
    report.line(format_args!("seed {}, {} in all", options.seed, report::seconds(running.elapsed())));
    cluster.down()?;
    std::fs::remove_dir_all(&dir).map_err(TaskError::file("remove", dir))?;
    TaskError::from_findings(differences)
}

fn trials(
    controller: &Controller<'_>,
    shapes: &[Shape],
    options: &Options,
) -> Result<(BTreeMap<String, Count>, Vec<String>), TaskError> {
    let mut chance = Chance::new(options.seed);
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    let mut differences = Vec::new();
    for number in 0..options.jobs {
        if number % ROUND == 0 {
            controller.reset(&chance.drained())?;
        }
        let states = controller.states()?;
        let trial = chance.trial(shapes, &states, options.nodes);
        let planned = plan(&trial.shape.blocks, &states, &trial.request);
        let (job, seen) = controller.submit(&trial)?;
        let count = counts.entry(trial.class()).or_default();
        count.jobs += 1;
        match judge(&planned, &seen) {
            None => count.agreed += 1,
            Some(_) if trial.is_listed(&states) || !uncovered(&states, &trial.request).is_empty() => {
                count.listed += 1;
            }
            Some(what) => differences.push(format!("job {number} ({}): {what}", trial.line())),
        }
        let keep = matches!(seen, Seen::Runs(_)) && chance.one_in(2);
        if let Some(job) = job.filter(|_| !keep) {
            controller.cancel(job)?;
        }
    }
    Ok((counts, differences))
}

/// What is different, if anything is.
fn judge(planned: &Plan, seen: &Seen) -> Option<String> {
    let plan = match &planned.outcome {
        Outcome::Starts => planned.chosen().to_list(),
        Outcome::Waits(why) => format!("waits ({why})"),
        Outcome::Refused(why) => format!("refused ({why})"),
    };
    let agree = match (&planned.outcome, seen) {
        (Outcome::Starts, Seen::Runs(nodes)) => planned.chosen() == *nodes,
        (Outcome::Waits(_), Seen::Pends(_)) | (Outcome::Refused(_), Seen::Refused(_)) => true,
        (Outcome::Starts | Outcome::Waits(_) | Outcome::Refused(_), _) => false,
    };
    (!agree).then(|| format!("slurmctld: {seen}; planner: {plan}"))
}

fn table(counts: &BTreeMap<String, Count>, report: &mut Report) {
    let row = |name: &str, count: Count| {
        let other = count.jobs - count.agreed - count.listed;
        vec![
            name.to_owned(),
            count.jobs.to_string(),
            count.agreed.to_string(),
            count.listed.to_string(),
            other.to_string(),
        ]
    };
    let mut rows: Vec<Vec<String>> = counts.iter().map(|(name, count)| row(name, *count)).collect();
    let all = counts.values().fold(Count::default(), |all, count| Count {
        jobs: all.jobs + count.jobs,
        agreed: all.agreed + count.agreed,
        listed: all.listed + count.listed,
    });
    rows.push(row("all", all));
    report.table(&["class", "jobs", "as planned", "listed", "other"], &rows);
}
