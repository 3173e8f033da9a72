//! What a daemon costs while nothing happens.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::error::BenchError;
use super::rack::Rack;
use super::series::{Series, Unit};
use super::{Measurement, Plan, Reach};
use crate::clock::Stopwatch;

/// How long the daemons are left alone: long enough for twenty pings on each link, and for ten thousand times the
/// resolution of the processor time that the kernel counts.
const IDLE: Duration = Duration::from_secs(20);

/// Processor time in /proc/PID/stat is counted in hundredths of a second on every Linux (`USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;

pub(super) fn measurements() -> Vec<Measurement> {
    let row = |name: &str, what: &str, unit, reach, nodes, run| Measurement {
        name: name.to_owned(),
        what: what.to_owned(),
        unit,
        reach: Reach::AtMost(reach),
        nodes,
        runs: (1, 1),
        run,
    };
    vec![
        row("memory-18", "memory of one daemon, 18 nodes", Unit::Mebibytes, 10.0, 18, memory),
        row("idle-18", "processor time of one idle daemon, 18 nodes", Unit::Percent, 0.2, 18, idle),
        row("memory-144", "memory of one daemon, 144 nodes", Unit::Mebibytes, 40.0, 144, memory),
        row("idle-144", "processor time of one idle daemon, 144 nodes", Unit::Percent, 0.2, 144, idle),
    ]
}

/// One value per daemon.
fn memory(plan: &Plan) -> Result<Series, BenchError> {
    memory_of(&mut Rack::up(plan.nodes)?)
}

/// The same of a rack that is up.
pub(super) fn memory_of(rack: &mut Rack) -> Result<Series, BenchError> {
    let resident = pids(rack).into_iter().map(resident_mib);
    Series::new(resident.collect::<Result<_, _>>()?).ok_or(BenchError::NoRun)
}

/// One value per run: the mean over all daemons, because one daemon's share is near the resolution.
fn idle(plan: &Plan) -> Result<Series, BenchError> {
    idle_of(plan, &mut Rack::up(plan.nodes)?)
}

/// The same of a rack that is up.
pub(super) fn idle_of(plan: &Plan, rack: &mut Rack) -> Result<Series, BenchError> {
    let pids = pids(rack);
    let used = || pids.iter().map(|&pid| processor_seconds(pid)).sum::<Result<f64, BenchError>>();
    let run = |_| {
        let (before, passing) = (used()?, Stopwatch::start());
        rack.pass(IDLE);
        let share = (used()? - before) / passing.elapsed().as_secs_f64();
        Ok(share * 100.0 / f64::from(u32::try_from(plan.nodes).unwrap_or(u32::MAX)))
    };
    let runs: Result<Vec<f64>, BenchError> = (0..plan.runs).map(run).collect();
    Series::new(runs?).ok_or(BenchError::NoRun)
}

fn pids(rack: &mut Rack) -> Vec<u32> {
    let lab = rack.lab();
    (0..lab.nodes()).filter_map(|node| lab.pid(node)).collect()
}

fn resident_mib(pid: u32) -> Result<f64, BenchError> {
    let status = read(pid, "status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).and_then(|kib| kib.parse::<f64>().ok());
    kib.map(|kib| kib / 1024.0).ok_or(BenchError::Text { what: "/proc/PID/status", text: status })
}

/// User and system time. The fields are counted from behind the name, which may hold anything (proc(5)).
fn processor_seconds(pid: u32) -> Result<f64, BenchError> {
    let stat = read(pid, "stat")?;
    let fields = stat.rsplit_once(") ").map(|(_, fields)| fields.split(' ').collect::<Vec<_>>());
    let field = |index: usize| fields.as_ref()?.get(index)?.parse::<f64>().ok();
    match (field(11), field(12)) {
        (Some(user), Some(system)) => Ok((user + system) / TICKS_PER_SECOND),
        (None, _) | (_, None) => Err(BenchError::Text { what: "/proc/PID/stat", text: stat }),
    }
}

fn read(pid: u32, file: &str) -> Result<String, BenchError> {
    let path = PathBuf::from(format!("/proc/{pid}/{file}"));
    fs::read_to_string(&path).map_err(|source| BenchError::Proc { path, source })
}
