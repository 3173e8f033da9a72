//! `cargo xtask bench`: the numbers that the project promises, measured from outside.
//!
//! Each [`Measurement`] is a line of the table in docs/benchmarks.md. The clock runs in this process, the daemons are
//! real, and every daemon that is said to have seen something has said so on a stream that was open before the event.

mod bare;
mod ctl;
mod error;
mod footprint;
mod form;
mod host;
mod lost;
mod network;
mod rack;
mod secure;
mod secure_services;
mod series;
mod simulation;
mod slurm;
mod topology;
mod watchers;

use std::fs;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use self::error::BenchError;
use self::host::Host;
use self::series::{Series, Unit};
use crate::error::TaskError;
use crate::process::Program;
use crate::report::Report;
use crate::tree;

#[derive(Args)]
pub(crate) struct Options {
    /// What to measure
    #[arg(value_enum, default_value_t = Group::Service)]
    group: Group,
    /// Fewer runs, and nothing with more than 36 nodes
    #[arg(long)]
    quick: bool,
    /// Only measurements whose name begins like this
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// A folder with the published prologs to be compared with
    #[arg(long, value_name = "DIR")]
    seeds: Option<PathBuf>,
    /// List the measurements and what is to be reached
    #[arg(long)]
    list: bool,
}

/// What is measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Group {
    /// The daemons, their tools and their simulation
    Service,
    /// Topologies of large clusters
    Topology,
    /// What a job pays for its domain, on a real Slurm
    Slurm,
}

/// One row of the table.
struct Measurement {
    /// By which it is chosen, and the name of its file.
    name: String,
    /// What an operator would call it.
    what: String,
    unit: Unit,
    reach: Reach,
    /// How many nodes it runs.
    nodes: usize,
    /// How many runs, and how many when it is to be quick.
    runs: (usize, usize),
    run: fn(&Plan) -> Result<Series, BenchError>,
}

impl Measurement {
    /// How many milliseconds something takes in a rack of 18.
    fn of_a_rack(
        (name, what): (&str, &str),
        reach: f64,
        runs: (usize, usize),
        run: fn(&Plan) -> Result<Series, BenchError>,
    ) -> Self {
        Measurement {
            name: name.to_owned(),
            what: what.to_owned(),
            unit: Unit::Milliseconds,
            reach: Reach::AtMost(reach),
            nodes: 18,
            runs,
            run,
        }
    }
}

/// What is to be reached by the median.
#[derive(Clone, Copy)]
enum Reach {
    AtMost(f64),
    AtLeast(f64),
    /// It is measured to compare others with it.
    Baseline,
    /// That it comes to an end is what is to be reached.
    Done,
}

/// What a measurement is told.
struct Plan {
    nodes: usize,
    runs: usize,
    /// The folder with the published prologs.
    seeds: Option<PathBuf>,
}

/// What came of a measurement.
struct Outcome<'a> {
    measurement: &'a Measurement,
    result: Result<Series, BenchError>,
}

impl Group {
    /// Every measurement, baselines before what is compared with them.
    fn measurements(self) -> Vec<Measurement> {
        match self {
            Group::Service => [
                form::measurements(),
                secure_services::measurements(),
                lost::measurements(),
                ctl::measurements(),
                footprint::measurements(),
                secure::measurements(),
                simulation::measurements(),
            ]
            .into_iter()
            .flatten()
            .collect(),
            Group::Topology => topology::measurements(),
            Group::Slurm => slurm::measurements(),
        }
    }

    /// The most nodes when it is to be quick.
    fn quick_nodes(self) -> usize {
        match self {
            Group::Service | Group::Slurm => 36,
            Group::Topology => 10_000,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Group::Service => "service",
            Group::Topology => "topology",
            Group::Slurm => "slurm",
        }
    }
}

/// Measures, prints the table, and writes one file per measurement to `target/bench`.
pub(crate) fn run(options: &Options, report: &mut Report) -> Result<(), TaskError> {
    let all = options.group.measurements();
    let chosen = options.choose(&all)?;
    if options.list {
        let row = |m: &&Measurement| vec![m.name.clone(), m.reach.text(m.unit), m.what.clone()];
        report.table(&["name", "reach", "what"], &chosen.iter().map(row).collect::<Vec<_>>());
        return Ok(());
    }
    if cfg!(debug_assertions) {
        return options.again_in_release();
    }
    build()?;
    let host = Host::look();
    report.line(&host);
    let mut outcomes = Vec::new();
    for measurement in chosen {
        let plan = options.plan(measurement);
        report.line(format_args!("--- {}: {} ({} runs)", measurement.name, measurement.what, plan.runs));
        let result = (measurement.run)(&plan);
        if let Err(error) = &result {
            report.failure(error);
        }
        let outcome = Outcome { measurement, result };
        write(&outcome.json(&host), &measurement.name)?;
        outcomes.push(outcome);
    }
    let rows: Vec<Vec<String>> = outcomes.iter().map(Outcome::row).collect();
    report.heading(&host);
    report.table(&["what", "reach", "median", "least", "most", "runs", "verdict"], &rows);
    Ok(())
}

impl Options {
    fn choose<'a>(&self, all: &'a [Measurement]) -> Result<Vec<&'a Measurement>, TaskError> {
        let matches = |name: &str, start: &String| name.starts_with(start.as_str());
        if let Some(start) = self.only.iter().find(|start| !all.iter().any(|m| matches(&m.name, start))) {
            let known = all.iter().map(|m| m.name.clone()).collect();
            return Err(TaskError::Unknown { kind: "measurement", name: start.clone(), known });
        }
        let named =
            |m: &&Measurement| self.only.is_empty() || self.only.iter().any(|start| matches(&m.name, start));
        let small = |m: &&Measurement| !self.quick || m.nodes <= self.group.quick_nodes();
        Ok(all.iter().filter(named).filter(small).collect())
    }

    fn plan(&self, measurement: &Measurement) -> Plan {
        let (full, quick) = measurement.runs;
        let runs = if self.quick { quick } else { full };
        Plan { nodes: measurement.nodes, runs, seeds: self.seeds.clone() }
    }

    /// The measuring process is part of what is measured on a small machine, so it is built as the daemons are.
    fn again_in_release(&self) -> Result<(), TaskError> {
        let mut program = Program::cargo()
            .words("run --quiet --release --package xtask -- bench")
            .arg(self.group.word())
            .unlimited();
        if self.quick {
            program = program.arg("--quick");
        }
        if let Some(seeds) = &self.seeds {
            program = program.arg("--seeds").arg(seeds);
        }
        if !self.only.is_empty() {
            program = program.arg("--only").arg(self.only.join(","));
        }
        program.run()
    }
}

impl Reach {
    fn text(self, unit: Unit) -> String {
        match self {
            Reach::AtMost(value) => format!("≤ {}", unit.text(value)),
            Reach::AtLeast(value) => format!("≥ {}", unit.text(value)),
            Reach::Baseline => "–".to_owned(),
            Reach::Done => "done".to_owned(),
        }
    }

    fn verdict(self, median: f64) -> &'static str {
        match self {
            Reach::AtMost(value) if median <= value => "met",
            Reach::AtLeast(value) if median >= value => "met",
            Reach::AtMost(_) | Reach::AtLeast(_) => "MISSED",
            Reach::Baseline => "baseline",
            Reach::Done => "met",
        }
    }
}

impl Outcome<'_> {
    fn row(&self) -> Vec<String> {
        let Measurement { what, unit, reach, .. } = self.measurement;
        let mut row = vec![what.clone(), reach.text(*unit)];
        match &self.result {
            Ok(series) => {
                row.extend([series.median(), series.least(), series.most()].map(|value| unit.text(value)));
                row.extend([series.runs().len().to_string(), reach.verdict(series.median()).to_owned()]);
            }
            Err(error) => row.extend(["–", "–", "–", "0", error.verdict()].map(str::to_owned)),
        }
        row
    }

    fn json(&self, host: &Host) -> Value {
        let Measurement { name, what, unit, reach, nodes, .. } = self.measurement;
        let mut value = json!({
            "schema_version": 1,
            "name": name,
            "what": what,
            "nodes": nodes,
            "unit": unit.name(),
            "reach": reach.text(*unit),
            "machine": host.json(),
        });
        match &self.result {
            Ok(series) => {
                value["runs"] = json!(series.runs());
                value["median"] = json!(series.median());
                value["verdict"] = json!(reach.verdict(series.median()));
            }
            Err(error) => {
                value["verdict"] = json!(error.verdict());
                value["error"] = json!(error.to_string());
            }
        }
        value
    }
}

/// Builds the programs in release form.
fn build() -> Result<(), TaskError> {
    Program::cargo().words("build --quiet --release --locked --bin imex --bin imexd --bin imexctl").run()?;
    Program::cargo().words("build --quiet --release --locked --package imex-wire --example bare_links").run()
}

/// A program in release form.
fn program(name: &str) -> PathBuf {
    tree::target().join("release").join(name)
}

fn write(value: &Value, name: &str) -> Result<(), TaskError> {
    let folder = tree::target().join("bench");
    fs::create_dir_all(&folder).map_err(TaskError::file("make", &folder))?;
    let path = folder.join(format!("{name}.json"));
    fs::write(&path, format!("{value:#}\n")).map_err(TaskError::file("write", &path))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_measurement_has_a_name_of_its_own() {
        let all: Vec<_> = Group::value_variants().iter().flat_map(|group| group.measurements()).collect();
        let names: BTreeSet<_> = all.iter().map(|measurement| &measurement.name).collect();
        assert_eq!(names.len(), all.len());
    }

    #[test]
    fn the_bound_itself_is_met() {
        assert_eq!(Reach::AtMost(50.0).verdict(50.0), "met");
        assert_eq!(Reach::AtMost(50.0).verdict(50.1), "MISSED");
        assert_eq!(Reach::AtLeast(1e5).verdict(1e5), "met");
        assert_eq!(Reach::AtLeast(1e5).verdict(9e4), "MISSED");
    }
}
