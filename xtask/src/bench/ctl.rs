//! How long a person waits for the table.

use imex_lab::NodeSignal;

use super::error::BenchError;
use super::form::times;
use super::rack::Rack;
use super::series::Series;
use super::{Measurement, Plan, program};
use crate::clock::Stopwatch;
use crate::process::Program;

/// The daemon's own deadline for rows that it has to fetch (`imex_core::Timing::table_deadline`) and what may be added.
const WITH_DEADLINE_MS: f64 = 1050.0;

pub(super) fn measurements() -> Vec<Measurement> {
    let dead = ("table-dead-18", "imexctl -N, half of 18 nodes killed");
    let mute = ("table-mute-18", "imexctl -N, half of 18 nodes just stopped");
    vec![
        Measurement::of_a_rack(("table-18", "imexctl -N, 18 nodes"), 15.0, (51, 11), table),
        Measurement::of_a_rack(dead, WITH_DEADLINE_MS, (21, 5), half_killed),
        Measurement::of_a_rack(mute, WITH_DEADLINE_MS, (5, 2), half_stopped),
    ]
}

fn table(plan: &Plan) -> Result<Series, BenchError> {
    let mut rack = Rack::up(plan.nodes)?;
    times(plan, |_| ask(&mut rack))
}

fn half_killed(plan: &Plan) -> Result<Series, BenchError> {
    let mut rack = Rack::up(plan.nodes)?;
    rack.signal(plan.nodes / 2..plan.nodes, NodeSignal::Kill)?;
    rack.rest();
    times(plan, |_| ask(&mut rack))
}

/// The worst case: their connections stand and nobody has noticed yet. A new silence for each run.
fn half_stopped(plan: &Plan) -> Result<Series, BenchError> {
    let mut rack = Rack::up(plan.nodes)?;
    let half = plan.nodes / 2..plan.nodes;
    times(plan, |_| {
        rack.signal(half.clone(), NodeSignal::Stop)?;
        let asked = ask(&mut rack);
        rack.signal(half.clone(), NodeSignal::Cont)?;
        rack.rest();
        rack.await_up()?;
        asked
    })
}

/// From the start of the process to its end.
fn ask(rack: &mut Rack) -> Result<std::time::Duration, BenchError> {
    let config = rack.lab().paths(0).config.clone();
    let imexctl = Program::new(program("imexctl")).arg("-c").arg(config).arg("-N");
    let asking = Stopwatch::start();
    imexctl.stdout()?;
    Ok(asking.elapsed())
}
