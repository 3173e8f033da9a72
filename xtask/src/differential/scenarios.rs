//! The four jobs by which AWS PCS explains placement on two UltraServers of 18 nodes.

use imex_topology::NodeSet;
use imex_topology::plan::{NodeStates, Request, plan};

use super::cases::{Shape, Trial};
use super::controller::{Controller, Seen};
use super::judge;
use crate::error::TaskError;
use crate::report::Report;

/// Nodes, segment, and how many nodes of each block the text promises, fewest first.
const SCENARIOS: [(&str, usize, Option<usize>, [usize; 2]); 4] = [
    ("a whole block", 18, None, [0, 18]),
    ("two full blocks", 36, None, [18, 18]),
    ("the first block is filled before the second is used", 24, None, [6, 18]),
    ("segments of 12 on blocks with room", 24, Some(12), [12, 12]),
];

/// Runs them on an empty cluster; gives what is not as promised or not as planned.
pub(super) fn run(
    controller: &Controller<'_>,
    shapes: &[Shape],
    report: &mut Report,
) -> Result<Vec<String>, TaskError> {
    let mut differences = Vec::new();
    let Some(shape) = shapes.iter().find(|shape| shape.name == "two") else { return Ok(differences) };
    controller.reset(&NodeSet::default())?;
    for (what, nodes, segment, promised) in SCENARIOS {
        let trial = Trial::new(shape, Request { nodes, segment, ..Request::default() });
        let (job, seen) = controller.submit(&trial)?;
        let planned = plan(&shape.blocks, &NodeStates::default(), &trial.request);
        let shares = shares(shape, &seen);
        report.line(format_args!("{what}: {} gets {seen}", trial.line()));
        if shares != promised {
            differences.push(format!("{what}: promised are {promised:?}, slurmctld gives {shares:?}"));
        }
        differences.extend(judge(&planned, &seen).map(|difference| format!("{what}: {difference}")));
        if let Some(job) = job {
            controller.cancel(job)?;
        }
    }
    Ok(differences)
}

/// How many nodes of each block a job has, fewest first.
fn shares(shape: &Shape, seen: &Seen) -> Vec<usize> {
    let Seen::Runs(nodes) = seen else { return Vec::new() };
    let blocks = shape.blocks.blocks.iter();
    let mut shares: Vec<usize> =
        blocks.map(|block| block.nodes.iter().filter(|node| nodes.contains(node)).count()).collect();
    shares.sort_unstable();
    shares
}
