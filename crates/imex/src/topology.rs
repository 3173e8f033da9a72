//! `imex topology`: where nodes are, and what Slurm should know of it.
//!
//! Each command is a file: it reads, asks [`imex_topology`], and writes what it found.

mod apply;
mod args;
mod aws;
mod collect;
mod controller;
mod diff;
mod files;
mod generate;
mod identify;
mod journal;
mod lifecycle_args;
mod lint;
mod node_map;
mod plan;
mod sources;
mod transaction;
mod verify;
mod watch;

use std::io::Write;

pub(crate) use args::{ScopeArg, SourceArgs, TopologyArgs, TopologyCommand};
pub(crate) use files::read;
pub(crate) use files::topologies as topologies_of;
pub(crate) use node_map::{addresses, failure as node_map_failure};
pub(crate) use sources::{agreed, inventory};

use crate::exit::Exit;
use crate::failure::Stop;

/// Runs a command.
pub(crate) fn run(command: &TopologyCommand, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Stop> {
    match command {
        TopologyCommand::Generate(args) => generate::run(args, out, err),
        TopologyCommand::Lint(args) => lint::run(args, out),
        TopologyCommand::Diff(args) => diff::run(args, out),
        TopologyCommand::Identify(args) => identify::run(args, out),
        TopologyCommand::Collect(args) => collect::run(args, out),
        TopologyCommand::Apply(args) => apply::run(args, out),
        TopologyCommand::Verify(args) => verify::run(args, out, err),
        TopologyCommand::Watch(args) => watch::run(args, out),
        TopologyCommand::NodeMap(args) => node_map::run(args, out, err),
        TopologyCommand::Plan(args) => plan::run(args, out),
    }
}
