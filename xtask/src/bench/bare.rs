//! What any implementation over gRPC must pay: as many streams, one message each way on each, and nothing else.
//!
//! The minimal program is the example `bare_links` of `imex-wire`, with the ordinary transport of the tonic library.

use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
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
pub(super) fn once(nodes: usize) -> Result<Duration, BenchError> {
    allow_descriptors(2 * (nodes * nodes) as u64 + OWN_DESCRIPTORS);
    let example = Program::new(program("examples/bare_links")).words("--json tonic").arg(nodes.to_string());
    let printed = example.stdout()?;
    let wall = |line: &str| serde_json::from_str::<Value>(line).ok()?["wall_ms"].as_f64();
    let wall = printed.lines().find_map(wall);
    let wall = wall.ok_or(BenchError::Text { what: "what bare_links printed", text: printed })?;
    Ok(Duration::from_secs_f64(wall / 1e3))
}

/// Listeners, standard streams and the runtime's own, with room to spare.
const OWN_DESCRIPTORS: u64 = 1024;

/// Raises the limit for the programs that this one starts: both ends of every stream are in one process. Who may not
/// raise it is told so by the program that runs out.
fn allow_descriptors(needed: u64) {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return };
    if soft < needed {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, needed, hard.max(needed));
    }
}
