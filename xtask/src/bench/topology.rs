//! How `imex topology` grows with the cluster: its parts in this process, `watch` as the process that a unit starts.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use imex_topology::bench::Site;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::error::BenchError;
use super::series::{Series, Unit};
use super::{Measurement, Plan, Reach, program};
use crate::process::Program;
use crate::tree;

/// The sizes that show how it grows.
const SIZES: [(usize, &str); 3] = [(1_000, "1,000"), (10_000, "10,000"), (100_000, "100,000")];

/// A part: its name, what it does, what is to be reached with so many nodes, and how it is measured.
type Part = (&'static str, &'static str, Option<(usize, f64)>, Unit, fn(&Plan) -> Result<Series, BenchError>);

const PARTS: [Part; 8] = [
    ("read", "reports of nodes understood", None, Unit::Milliseconds, |plan| of_site(plan, Site::read)),
    ("generate", "generate", Some((100_000, 150.0)), Unit::Milliseconds, |plan| {
        of_site(plan, Site::generate)
    }),
    ("lint", "lint", Some((100_000, 100.0)), Unit::Milliseconds, |plan| of_site(plan, Site::lint)),
    ("diff", "diff of two", Some((100_000, 100.0)), Unit::Milliseconds, |plan| of_site(plan, Site::diff)),
    ("plan", "plan of half the nodes", Some((10_000, 10.0)), Unit::Milliseconds, |plan| {
        of_site(plan, Site::plan)
    }),
    ("watch", "processor time of a poll without change", Some((100_000, 20.0)), Unit::Milliseconds, |plan| {
        quiet_poll(plan, Source::Inventory)
    }),
    ("watch-reports", "… of the reports of all nodes", None, Unit::Milliseconds, |plan| {
        quiet_poll(plan, Source::Reports)
    }),
    ("memory", "memory of watch, at its most", Some((100_000, 200.0)), Unit::Mebibytes, memory),
];

pub(super) fn measurements() -> Vec<Measurement> {
    let row = |(nodes, size): (usize, &str), (name, what, reach, unit, run): Part| Measurement {
        name: format!("topology-{name}-{nodes}"),
        what: format!("{what}, {size} nodes"),
        unit,
        reach: reach.filter(|(at, _)| *at == nodes).map_or(Reach::Baseline, |(_, most)| Reach::AtMost(most)),
        nodes,
        runs: (5, 3),
        run,
    };
    PARTS.into_iter().flat_map(|part| SIZES.map(|size| row(size, part))).collect()
}

fn of_site(plan: &Plan, part: fn(&Site) -> Duration) -> Result<Series, BenchError> {
    let site = Site::of(plan.nodes);
    Series::of_durations((0..plan.runs).map(|_| part(&site))).ok_or(BenchError::NoRun)
}

/// What all threads of a watch use between being told to poll and having told what it found.
fn quiet_poll(plan: &Plan, source: Source) -> Result<Series, BenchError> {
    let mut watch = Watch::start(plan.nodes, source)?;
    let poll = |_| {
        let before = watch.processor_ms()?;
        watch.nudge()?;
        Ok(watch.processor_ms()? - before)
    };
    let polls: Result<Vec<f64>, BenchError> = (0..plan.runs).map(poll).collect();
    Series::new(polls?).ok_or(BenchError::NoRun)
}

/// The most that a watch ever held: it has read reports and file, generated and compared.
fn memory(plan: &Plan) -> Result<Series, BenchError> {
    let run = |_| Watch::start(plan.nodes, Source::Reports)?.peak_mib();
    let runs: Result<Vec<f64>, BenchError> = (0..plan.runs).map(run).collect();
    Series::new(runs?).ok_or(BenchError::NoRun)
}

/// What a watch reads.
#[derive(Clone, Copy)]
enum Source {
    /// Some bytes for each rack.
    Inventory,
    /// Some 700 bytes for each node: the largest of all sources.
    Reports,
}

/// `imex topology watch` over a file that is as its source says.
struct Watch {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Watch {
    fn start(nodes: usize, source: Source) -> Result<Self, BenchError> {
        let dir = tree::target().join("bench");
        let cannot = |path: &Path| {
            let path = path.to_owned();
            move |source| BenchError::Proc { path, source }
        };
        fs::create_dir_all(&dir).map_err(cannot(&dir))?;
        let site = Site::of(nodes);
        let (kind, text) = match source {
            Source::Inventory => ("inventory", site.inventory()),
            Source::Reports => ("nvml", site.lines().to_owned()),
        };
        let (source, file) = (dir.join(kind), dir.join("topology.yaml"));
        fs::write(&source, text).map_err(cannot(&source))?;
        let source = format!("{kind}:{}", source.display());
        let imex = program("imex");
        let words = ["topology", "generate", "--source"].map(str::to_owned);
        let text =
            words.into_iter().chain([source.clone()]).fold(Program::new(&imex), Program::arg).stdout()?;
        fs::write(&file, text).map_err(cannot(&file))?;
        let mut child = Command::new(&imex)
            .args(["topology", "watch", "--interval", "1h", "--source", &source, "--to"])
            .arg(&file)
            .stdout(Stdio::piped())
            .spawn()
            .map_err(cannot(&imex))?;
        let said = child.stdout.take().map(BufReader::new).ok_or(BenchError::NoRun)?;
        let mut watch = Watch { child, said };
        watch.await_event("decision")?;
        // There is no controller here; that it was asked for is told once.
        watch.await_event("not_verified")?;
        Ok(watch)
    }

    /// Has it poll, and waits until it has told what it found.
    fn nudge(&mut self) -> Result<(), BenchError> {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap_or(i32::MAX));
        kill(pid, Signal::SIGHUP).map_err(|error| BenchError::NotHere(error.to_string()))?;
        self.await_event("decision")
    }

    /// The next line has to be this event, and no decision but that nothing has changed.
    fn await_event(&mut self, event: &str) -> Result<(), BenchError> {
        let mut line = String::new();
        let path = PathBuf::from("the output of imex topology watch");
        self.said.read_line(&mut line).map_err(|source| BenchError::Proc { path, source })?;
        let awaited = line.contains(&format!(r#""event":"{event}""#));
        if awaited && (event != "decision" || line.contains(r#""decision":"unchanged""#)) {
            return Ok(());
        }
        Err(BenchError::Text { what: "imex topology watch", text: line })
    }

    /// Milliseconds that its threads have been running, from /proc/PID/task/TID/schedstat, in nanoseconds there.
    fn processor_ms(&self) -> Result<f64, BenchError> {
        let tasks = PathBuf::from(format!("/proc/{}/task", self.child.id()));
        let cannot = |source| BenchError::Proc { path: tasks.clone(), source };
        let mut sum = 0.0;
        for task in fs::read_dir(&tasks).map_err(cannot)? {
            let text = fs::read_to_string(task.map_err(cannot)?.path().join("schedstat")).map_err(cannot)?;
            let running = text.split(' ').next().and_then(|number| number.parse::<f64>().ok());
            sum += running.ok_or(BenchError::Text { what: "schedstat", text })?;
        }
        Ok(sum / 1e6)
    }

    fn peak_mib(&self) -> Result<f64, BenchError> {
        let path = PathBuf::from(format!("/proc/{}/status", self.child.id()));
        let text = fs::read_to_string(&path).map_err(|source| BenchError::Proc { path, source })?;
        let kib = text
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
        kib.map(|kib: f64| kib / 1024.0).ok_or(BenchError::Text { what: "/proc/PID/status", text })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
