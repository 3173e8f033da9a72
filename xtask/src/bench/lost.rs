//! How long until a lost member is noticed, and until a restarted one is back.

use imex_lab::NodeSignal;

use super::error::BenchError;
use super::form::times;
use super::network;
use super::rack::Rack;
use super::series::{Series, Unit};
use super::{Measurement, Plan, Reach};

/// The node that things happen to: in the middle, so that nothing can depend on being first or last.
const NODE: usize = 5;

pub(super) fn measurements() -> Vec<Measurement> {
    let row = |name: &str, what: &str, reach, runs, run| Measurement {
        name: name.to_owned(),
        what: what.to_owned(),
        unit: Unit::Milliseconds,
        reach: Reach::AtMost(reach),
        nodes: 18,
        runs,
        run,
    };
    vec![
        row("killed-18", "a member killed → the others show it", 50.0, (11, 3), killed),
        row("stopped-18", "a member stops running (SIGSTOP) → the others show it", 3500.0, (7, 2), stopped),
        row("dropped-18", "a member's packets are dropped → the others show it", 3500.0, (7, 2), dropped),
        row("back-18", "a killed member started again → UP", 150.0, (11, 3), back),
    ]
}

fn killed(plan: &Plan) -> Result<Series, BenchError> {
    let mut rack = Rack::up(plan.nodes)?;
    times(plan, |_| {
        let noticed = rack.lose(NODE, NodeSignal::Kill)?;
        rack.start(NODE)?;
        rack.rest();
        Ok(noticed)
    })
}

fn stopped(plan: &Plan) -> Result<Series, BenchError> {
    let mut rack = Rack::up(plan.nodes)?;
    times(plan, |_| {
        let noticed = rack.lose(NODE, NodeSignal::Stop)?;
        rack.lab().kill(NODE, NodeSignal::Cont)?;
        rack.await_up()?;
        rack.rest();
        Ok(noticed)
    })
}

fn dropped(plan: &Plan) -> Result<Series, BenchError> {
    network::in_one_of_its_own(|network| {
        let mut rack = Rack::up(plan.nodes)?;
        let address = rack.lab().address(NODE);
        times(plan, |_| {
            let noticed = rack.lose_by(NODE, || network.cut(address))?;
            network.mend(address)?;
            rack.await_up()?;
            rack.rest();
            Ok(noticed)
        })
    })
}

fn back(plan: &Plan) -> Result<Series, BenchError> {
    let mut rack = Rack::up(plan.nodes)?;
    times(plan, |_| {
        rack.lose(NODE, NodeSignal::Kill)?;
        rack.rest();
        let back = rack.start(NODE)?;
        rack.rest();
        Ok(back)
    })
}
