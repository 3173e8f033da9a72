//! `imex lab kill` and `imex lab start`: what is done to one node.

use std::io::Write;

use imex_lab::LabClient;
use serde::Serialize;

use crate::cli::{KillArgs, OfLab, StartArgs, format};
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format};
use crate::run::block_on;

/// What was done.
#[derive(Debug, Serialize)]
struct Done {
    /// To which node.
    node: usize,
    /// To which process.
    pid: u32,
    /// The signal sent; `None` if the node was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<&'static str>,
}

/// Sends a signal to a node.
pub(crate) fn kill(args: &KillArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let lab = LabClient::open(&args.lab.dir).map_err(Failure::from)?;
    let signal = args.signal.0;
    let pid = block_on(lab.kill(args.node, signal))?.map_err(Failure::from)?;
    let done = Done { node: args.node, pid, signal: Some(signal.word()) };
    done.show(&args.lab, out)
}

/// Starts a node.
pub(crate) fn start(args: &StartArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let lab = LabClient::open(&args.lab.dir).map_err(Failure::from)?;
    let pid = block_on(lab.start(args.node))?.map_err(Failure::from)?;
    let done = Done { node: args.node, pid, signal: None };
    done.show(&args.lab, out)
}

impl Done {
    fn show(&self, args: &OfLab, out: &mut dyn Write) -> Result<Exit, Stop> {
        let Done { node, pid, signal } = self;
        match (format(args.json), signal) {
            (Format::Json, _) => output::json(self, out)?,
            (Format::Text, Some(signal)) => writeln!(out, "node {node} (process {pid}) was sent {signal}")?,
            (Format::Text, None) => writeln!(out, "node {node} was started (process {pid})")?,
        }
        Ok(Exit::Done)
    }
}
