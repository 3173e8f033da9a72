//! What any implementation over gRPC must pay: as many streams, one message each way on each, and nothing else.
//!
//! The minimal program is the example `bare_links` of `imex-wire`, with the ordinary transport of the tonic library.

use std::thread;
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit};
use serde_json::Value;

use super::error::BenchError;
use super::form::times;
use super::series::Series;
use super::{Plan, program};
use crate::process::Program;

pub(super) fn streams(plan: &Plan) -> Result<Series, BenchError> {
    times(plan, |_| once(plan.nodes))
}

/// The time from the first connect to the last answer, both ends on this machine.
///
/// Both ends of every stream are in one process; where that takes more descriptors than one may have, several of them
/// open their share at the same time.
pub(super) fn once(nodes: usize) -> Result<Duration, BenchError> {
    let split = split(nodes);
    let walls: Result<Vec<Duration>, BenchError> = thread::scope(|scope| {
        let shares: Vec<_> = (0..split * split).map(|_| scope.spawn(|| share(nodes / split))).collect();
        shares.into_iter().map(|share| share.join().expect("a share reports its failure")).collect()
    });
    Ok(walls?.into_iter().max().unwrap_or_default())
}

fn share(nodes: usize) -> Result<Duration, BenchError> {
    let example = Program::new(program("examples/bare_links")).words("--json tonic").arg(nodes.to_string());
    let printed = example.stdout()?;
    let wall = |line: &str| serde_json::from_str::<Value>(line).ok()?["wall_ms"].as_f64();
    let wall = printed.lines().find_map(wall);
    let wall = wall.ok_or(BenchError::Text { what: "what bare_links printed", text: printed })?;
    Ok(Duration::from_secs_f64(wall / 1e3))
}

/// Listeners, standard streams and the runtime's own, with room to spare.
const OWN_DESCRIPTORS: u64 = 1024;

/// Into how many parts both sides are cut: 1, or the least divisor whose shares have descriptors enough.
fn split(nodes: usize) -> usize {
    let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(_, hard)| hard);
    let fits = |parts: &usize| 2 * ((nodes / parts) * (nodes / parts)) as u64 + OWN_DESCRIPTORS <= limit;
    (1..=nodes).filter(|parts| nodes.is_multiple_of(*parts)).find(fits).unwrap_or(nodes)
}
