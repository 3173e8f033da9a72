//! How fast the simulator is, and how large a cluster it holds.

use imex_sim::bench::{Formation, formation};

use super::error::BenchError;
use super::series::{Series, Unit};
use super::{Measurement, Plan, Reach};

pub(super) fn measurements() -> Vec<Measurement> {
    vec![
        Measurement {
            name: "simulated-144".to_owned(),
            what: "simulated cluster of 144 nodes forms, events".to_owned(),
            unit: Unit::PerSecond,
            reach: Reach::AtLeast(100_000.0),
            // Nothing real runs, so its size does not make it slow.
            nodes: 0,
            runs: (5, 2),
            run: |plan| each(plan, || formation(144).events_per_second),
        },
        Measurement {
            name: "simulated-4096".to_owned(),
            what: "simulated cluster of 4096 nodes forms".to_owned(),
            unit: Unit::Seconds,
            reach: Reach::Done,
            nodes: 4096,
            runs: (1, 1),
            run: |plan| {
                each(plan, || {
                    let Formation { seconds, .. } = formation(4096);
                    seconds
                })
            },
        },
    ]
}

fn each(plan: &Plan, run: impl Fn() -> f64) -> Result<Series, BenchError> {
    Series::new((0..plan.runs).map(|_| run()).collect()).ok_or(BenchError::NoRun)
}
