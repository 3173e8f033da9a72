//! How fast the simulator is.

use std::time::{Duration, Instant};

use imex_core::Timing;

use crate::{Operation, Plan, Violation, World};

/// What it took to form a domain.
#[derive(Clone, Copy, Debug)]
pub struct Formation {
    /// How many nodes it has.
    pub nodes: usize,
    /// Events until every node saw it UP.
    pub events: u64,
    /// Messages between members until then, without the hellos.
    pub messages: u64,
    /// Real time in seconds.
    pub seconds: f64,
    /// Events per second of real time.
    pub events_per_second: f64,
    /// Simulated time.
    pub simulated: Duration,
}

/// Maps above this size ping less often in the simulator: 4,096 nodes have 16.8 million links, and pings would be most
/// of the events although nothing is lost.
const PING_UP_TO: usize = 512;

/// Forms a domain of `nodes` nodes that are all started at once, with the invariants checked on the way.
///
/// # Panics
///
/// If the domain is not UP within the bound, which [`Violation`] then tells.
pub fn formation(nodes: usize) -> Formation {
    form(nodes).unwrap_or_else(|violation| panic!("{violation}"))
}

fn form(nodes: usize) -> Result<Formation, Box<Violation>> {
    let mut plan = Plan::new(nodes, 1);
    if nodes > PING_UP_TO {
        plan.timing = Timing { ping_interval: Duration::from_secs(60), ..plan.timing };
    }
    let mut world = World::new(plan);
    let begin = clock();
    for address in world.addresses() {
        world.apply(&Operation::Start(address))?;
    }
    let simulated = world.check_heals()?;
    let seconds = clock().duration_since(begin).as_secs_f64();
    let counts = world.counts();
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let events_per_second = counts.events as f64 / seconds.max(f64::MIN_POSITIVE);
    Ok(Formation {
        nodes,
        events: counts.events,
        messages: counts.messages,
        seconds,
        events_per_second,
        simulated,
    })
}

#[expect(clippy::disallowed_methods, reason = "measures the simulator; no decision depends on it")]
fn clock() -> Instant {
    Instant::now()
}
