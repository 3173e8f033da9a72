//! How long until a lost member is noticed, and until a restarted one is back.

use imex_lab::NodeSignal;

use super::error::BenchError;
use super::form::times;
use super::network;
use super::rack::Rack;
use super::series::Series;
use super::{Measurement, Plan};

/// The node that things happen to: in the middle, so that nothing can depend on being first or last.
const NODE: usize = 5;

pub(super) fn measurements() -> Vec<Measurement> {
    let lost = ("killed-18", "a member killed → the others show it");
    let mute = ("stopped-18", "a member stops running (SIGSTOP) → the others show it");
    let cut = ("dropped-18", "a member's packets are dropped → the others show it");
    let again = ("back-18", "a killed member started again → UP");
    vec![
        Measurement::of_a_rack(lost, 50.0, (11, 3), killed),
        Measurement::of_a_rack(mute, 3500.0, (7, 2), stopped),
        Measurement::of_a_rack(cut, 3500.0, (7, 2), dropped),
        Measurement::of_a_rack(again, 150.0, (11, 3), back),
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
