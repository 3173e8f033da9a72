//! What any implementation over gRPC must pay: as many streams, one message each way on each, and nothing else.
//!
//! The minimal program is the example `bare_links` of `imex-wire`, with the ordinary transport of the tonic library.

use std::time::Duration;

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
    let example = Program::new(program("examples/bare_links")).words("--json tonic").arg(nodes.to_string());
    let printed = example.stdout()?;
    let wall = |line: &str| serde_json::from_str::<Value>(line).ok()?["wall_ms"].as_f64();
    let wall = printed.lines().find_map(wall);
    let wall = wall.ok_or(BenchError::Text { what: "what bare_links printed", text: printed })?;
    Ok(Duration::from_secs_f64(wall / 1e3))
}
