//! How long a domain takes to form, and how much of that is the bare cost of its streams.

use std::time::Duration;

use super::error::BenchError;
use super::rack::Rack;
use super::series::{Series, Unit};
use super::{Measurement, Plan, Reach, bare};

pub(super) fn measurements() -> Vec<Measurement> {
    let at_once = [(18, 400.0, (11, 3)), (36, 1200.0, (7, 3)), (144, 20_000.0, (5, 1))];
    let last = [(18, 50.0, (11, 3)), (144, 400.0, (3, 1))];
    let at_once = at_once.into_iter().flat_map(|(nodes, reach, runs)| all_of_size(nodes, reach, runs));
    let last = last.into_iter().map(|(nodes, reach, runs)| last_of_size(nodes, reach, runs));
    at_once.chain(last).collect()
}

/// The baseline, the domain, and the one as a multiple of the other.
fn all_of_size(nodes: usize, reach_ms: f64, runs: (usize, usize)) -> [Measurement; 3] {
    let row = |name, what, unit, reach, run| Measurement {
        name: format!("{name}-{nodes}"),
        what,
        unit,
        reach,
        nodes,
        runs,
        run,
    };
    let bare = format!("bare streams, {nodes} × {nodes}");
    let formed = format!("{nodes} daemons started at once → UP");
    let ratio = format!("… as a multiple of {nodes} × {nodes} bare streams");
    [
        row("bare", bare, Unit::Milliseconds, Reach::Baseline, bare::streams),
        row("start", formed, Unit::Milliseconds, Reach::AtMost(reach_ms), all_at_once),
        row("ratio", ratio, Unit::Ratio, Reach::AtMost(2.0), as_multiple),
    ]
}

fn last_of_size(nodes: usize, reach_ms: f64, runs: (usize, usize)) -> Measurement {
    Measurement {
        name: format!("last-{nodes}"),
        what: format!("{} of {nodes} running, the last one started → UP", nodes - 1),
        unit: Unit::Milliseconds,
        reach: Reach::AtMost(reach_ms),
        nodes,
        runs,
        run: last,
    }
}

/// A new rack for each run, so that nobody knows anybody.
fn all_at_once(plan: &Plan) -> Result<Series, BenchError> {
    times(plan, |_| Rack::prepare(plan.nodes)?.start_all())
}

/// Each run beside a run of the baseline, so that both meet the machine in the same mood.
fn as_multiple(plan: &Plan) -> Result<Series, BenchError> {
    let run = |_| {
        let bare = bare::once(plan.nodes)?;
        let domain = Rack::prepare(plan.nodes)?.start_all()?;
        Ok(domain.as_secs_f64() / bare.as_secs_f64())
    };
    let runs: Result<Vec<f64>, BenchError> = (0..plan.runs).map(run).collect();
    Series::new(runs?).ok_or(BenchError::NoRun)
}

/// All but the last have found each other and given up hurrying when the last one starts.
fn last(plan: &Plan) -> Result<Series, BenchError> {
    times(plan, |_| {
        let mut rack = Rack::prepare(plan.nodes)?;
        let last = plan.nodes - 1;
        for node in 0..last {
            rack.lab().start_node(node)?;
        }
        rack.await_ready(last)?;
        rack.rest();
        rack.start(last)
    })
}

/// The durations of all runs.
pub(super) fn times(
    plan: &Plan,
    run: impl FnMut(usize) -> Result<Duration, BenchError>,
) -> Result<Series, BenchError> {
    let runs: Result<Vec<Duration>, BenchError> = (0..plan.runs).map(run).collect();
    Series::of_durations(runs?).ok_or(BenchError::NoRun)
}
