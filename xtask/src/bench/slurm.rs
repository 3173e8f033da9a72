//! What a job pays for its domain, on a real Slurm with real systemd on every node.
//!
//! The clock is that of the machine, which the nodes share: a job's first line tells it, and so does the command that
//! submits it. What a hook costs itself is counted by the process that starts it.

mod timeline;

use std::fs;
use std::thread;
use std::time::Duration;

use super::error::BenchError;
use super::series::{Series, Unit};
use super::{Measurement, Plan, Reach};
use crate::e2e::{Build, Hooks, Job, JobId, Rig, Site, aws_hooks, of_prologs};
use crate::report::Report;
use crate::slurm_lab::{Root, Usage};
use crate::tree;
use timeline::{Span, Timeline};

/// A rack of NVL72.
const NODES: u8 = 18;

/// Small, where one node is measured and not the rack.
const FEW: u8 = 4;

/// slurmctld does some of its work once in this time. A job that is always submitted when the one before it has gone meets it
/// always at the same moment, which one changes with each start of the cluster: half a second more or less. So runs are spread
/// over it evenly.
const BEAT: Duration = Duration::from_secs(1);

/// What a verified domain may cost beyond the share of the bare time, in milliseconds.
const ALLOWANCE: f64 = 500.0;

/// How long a prolog may take where one member is dead.
const DEADLINE: Duration = Duration::from_secs(6);

pub(super) fn measurements() -> Vec<Measurement> {
    let row = |name: &str, what: &str, unit, reach, nodes: u8, run| Measurement {
        name: format!("slurm-{name}"),
        what: what.to_owned(),
        unit,
        reach,
        nodes: usize::from(nodes),
        runs: (7, 3),
        run,
    };
    let ms = Unit::Milliseconds;
    let most = Reach::AtMost;
    vec![
        row("prolog-cpu", "imex slurm prolog, processor time", ms, most(20.0), FEW, prolog_processor),
        row("prolog-memory", "imex slurm prolog, memory", Unit::Mebibytes, most(16.0), FEW, prolog_memory),
        row("epilog", "imex slurm epilog of a healthy domain", ms, most(500.0), FEW, epilog),
        row("dead", "a dead member is named, beyond the deadline", ms, most(500.0), FEW, dead_member),
        row("bare", "18 nodes, empty prolog: submit → first line", ms, Reach::Baseline, NODES, bare),
        row("first-line", "18 nodes, verified domain: submit → first line", ms, Reach::Baseline, NODES, ours),
        row(
            "ratio",
            "… less 0.5 s, as a multiple of the empty prolog",
            Unit::Ratio,
            most(1.25),
            NODES,
            ratio,
        ),
        row("aws", "18 nodes, AWS's prolog: submit → first line", ms, Reach::Baseline, NODES, aws),
        row("aws-ratio", "… ours as a multiple of it", Unit::Ratio, Reach::Baseline, NODES, aws_ratio),
    ]
}

fn prolog_processor(plan: &Plan) -> Result<Series, BenchError> {
    usages(plan, "prolog", |usage| usage.processor)
}

fn prolog_memory(plan: &Plan) -> Result<Series, BenchError> {
    usages(plan, "prolog", |usage| usage.memory)
}

fn epilog(plan: &Plan) -> Result<Series, BenchError> {
    usages(plan, "epilog", |usage| usage.wall)
}

/// One value for each node and job.
fn usages(plan: &Plan, hook: &str, value: fn(&Usage) -> f64) -> Result<Series, BenchError> {
    with_rig(Site { hooks: Hooks::Measured, ..Site::new(FEW) }, |rig| {
        for _ in 0..plan.runs {
            first_line(rig)?;
        }
        let mut values = Vec::new();
        for node in rig.nodes() {
            let text = rig.on(node, &format!("cat /var/log/{hook}.usage"))?;
            let usages: Vec<Usage> = text.lines().filter_map(Usage::parse).collect();
            if usages.len() != plan.runs {
                return Err(BenchError::Text { what: "one line of costs for each run", text });
            }
            values.extend(usages.iter().map(value));
        }
        Series::new(values).ok_or(BenchError::NoRun)
    })
}

/// How long after its deadline a prolog has ended that waits for a daemon which never answers.
fn dead_member(plan: &Plan) -> Result<Series, BenchError> {
    let site = Site { hooks: Hooks::Measured, budget: DEADLINE, ..Site::new(FEW) };
    with_rig(site, |rig| {
        rig.on(FEW, "printf '#!/bin/sh\\nexec sleep 1000\\n' > /run/dead; chmod 755 /run/dead; cp /run/dead /usr/bin/imexd")?;
        for _ in 0..plan.runs {
            let job = rig.submit(&Job::exclusive(FEW, "echo NEVER\n").option("--no-requeue"))?;
            rig.wait_over(job)?;
            for node in 1..FEW {
                let runs = of_prologs(rig, node, job)?;
                if !matches!(&runs[..], [run] if run.ending == "passed_innocent" && run.message.contains("node4"))
                {
                    return Err(BenchError::Text { what: "who is dead", text: format!("{runs:?}") });
                }
            }
            rig.rest()?;
        }
        let mut values = Vec::new();
        for node in 1..FEW {
            let text = rig.on(node, "cat /var/log/prolog.usage")?;
            let walls = text.lines().filter_map(Usage::parse).map(|usage| usage.wall);
            values.extend(walls.map(|wall| wall - DEADLINE.as_secs_f64() * 1e3));
        }
        Series::new(values).ok_or(BenchError::NoRun)
    })
}

fn bare(plan: &Plan) -> Result<Series, BenchError> {
    first_lines(plan, Hooks::Empty)
}

fn ours(plan: &Plan) -> Result<Series, BenchError> {
    first_lines(plan, Hooks::Ours)
}

fn aws(plan: &Plan) -> Result<Series, BenchError> {
    let hooks = aws_hooks(plan.seeds.as_deref())
        .map_err(|_| BenchError::NotHere("it needs --seeds DIR with AWS's page".to_owned()))?;
    first_lines(plan, hooks)
}

/// Both in the same minutes, because the machine is not the same at all times.
fn ratio(plan: &Plan) -> Result<Series, BenchError> {
    let (bare, ours) = (bare(plan)?, ours(plan)?);
    let base = bare.median();
    Series::new(ours.runs().iter().map(|run| (run - ALLOWANCE) / base).collect()).ok_or(BenchError::NoRun)
}

fn aws_ratio(plan: &Plan) -> Result<Series, BenchError> {
    let (theirs, ours) = (aws(plan)?, ours(plan)?);
    let base = theirs.median();
    Series::new(ours.runs().iter().map(|run| run / base).collect()).ok_or(BenchError::NoRun)
}

fn first_lines(plan: &Plan, hooks: Hooks) -> Result<Series, BenchError> {
    let provider = hooks.provider();
    with_rig(Site { hooks, provider, ..Site::new(NODES) }, |rig| {
        // The first job after a boot finds cold caches.
        first_line(rig)?;
        let mut timeline = Timeline::default();
        let step = BEAT / u32::try_from(plan.runs).unwrap_or(u32::MAX);
        let mut pause = Duration::ZERO;
        let mut runs = Vec::new();
        for _ in 0..plan.runs {
            thread::sleep(pause);
            let (job, span) = first_line(rig)?;
            runs.push(span.first_line - span.submitted);
            if rig.site.hooks == Hooks::Ours {
                timeline.add(rig, job, span)?;
            }
            pause += step;
        }
        if rig.site.hooks == Hooks::Ours {
            timeline.print(&mut Report::new(std::io::stdout()));
        }
        Series::new(runs).ok_or(BenchError::NoRun)
    })
}

/// From before sbatch to the first line of a job on all nodes.
fn first_line(rig: &Rig) -> Result<(JobId, Span), BenchError> {
    let control = rig.site.provider.control();
    let nodes = rig.site.nodes;
    // Without a domain the control tool ends with an error, which is not the job's.
    let submit = format!(
        "date +%s%N; exec sbatch --parsable --output=job-%j.out --nodes={nodes} --exclusive \
         --wrap 'date +%s%N; {control} -N -j; true'"
    );
    let said = rig.user(&["sh", "-c", &submit])?;
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let lines: Vec<Option<u64>> = said.lines().map(number).collect();
    let [Some(submitted), Some(job)] = lines[..] else {
        return Err(BenchError::Text { what: "what sbatch prints", text: said });
    };
    let job = rig.known(job);
    rig.completed(job)?;
    rig.wait_for_idle()?;
    let output = rig.output(job)?;
    let began = output.lines().next().and_then(number);
    let began = began.ok_or_else(|| BenchError::Text { what: "a job's first line", text: output.clone() })?;
    if matches!(rig.site.hooks, Hooks::Ours | Hooks::Measured) && !output.contains("\"status\": \"UP\"") {
        return Err(BenchError::Text { what: "a verified domain", text: output });
    }
    let ms = |nanoseconds| Duration::from_nanos(nanoseconds).as_secs_f64() * 1e3;
    Ok((job, Span { submitted: ms(submitted), first_line: ms(began) }))
}

fn with_rig<T>(site: Site, work: impl FnOnce(&Rig) -> Result<T, BenchError>) -> Result<T, BenchError> {
    let site = Site { build: Build::Release, ..site };
    let root = Root::build(&mut Report::new(std::io::stdout()))
        .map_err(|error| BenchError::NotHere(error.to_string()))?;
    site.build()?;
    let dir = tree::target().join(format!("slurm-lab/bench-{}", std::process::id()));
    let rig = Rig::up(&root, &dir, site)?;
    let done = work(&rig);
    rig.down()?;
    fs::remove_dir_all(&dir).map_err(crate::error::TaskError::file("remove", dir))?;
    done
}
