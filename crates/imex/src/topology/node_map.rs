//! `imex topology node-map`: the node map of a domain that is not made for each job.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use imex_topology::node_map::{NodeMapError, Scope, members, text};
use imex_topology::show_nodes;
use serde::Serialize;

use super::args::{NodeMapArgs, ScopeArg};
use super::{files, sources};
use crate::cli::format;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format};

/// What was found.
#[derive(Debug, Serialize)]
struct Map<'a> {
    node: &'a str,
    members: Vec<&'a str>,
    /// The text of nodes_config.cfg.
    text: String,
    /// What the sources warn of.
    warnings: &'a [String],
}

/// Runs the command.
pub(crate) fn run(args: &NodeMapArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Stop> {
    let merged = sources::inventory(&args.sources)?;
    sources::warn(&merged.warnings, err);
    sources::agreed(&merged)?;
    let addresses = args.addresses.as_ref().map(|path| addresses(path)).transpose()?;
    let members = members(&merged.inventory, &args.node, args.scope.into()).map_err(failure)?;
    let text = text(&members, addresses.as_ref()).map_err(failure)?;
    match format(args.json) {
        Format::Json => {
            output::json(&Map { node: &args.node, members, text, warnings: &merged.warnings }, out)?
        }
        Format::Text => out.write_all(text.as_bytes())?,
    }
    Ok(Exit::Done)
}

impl From<ScopeArg> for Scope {
    fn from(scope: ScopeArg) -> Self {
        match scope {
            ScopeArg::Domain => Scope::Domain,
            ScopeArg::Partition => Scope::Partition,
        }
    }
}

/// The failure of a node that has no map.
pub(crate) fn failure(error: NodeMapError) -> Failure {
    let exit = match &error {
        NodeMapError::Unknown { .. } => Exit::Usage,
        NodeMapError::NoAddress { .. } => Exit::Failed,
        NodeMapError::NoBlock { .. } | NodeMapError::NoCluster { .. } => Exit::NoFabric,
    };
    let failure = Failure::new(exit, &error);
    match error {
        NodeMapError::NoCluster { .. } => {
            failure.hint("a source that knows the block's `fabric` tells: docs/topology-sources.md")
        }
        NodeMapError::Unknown { .. } | NodeMapError::NoAddress { .. } | NodeMapError::NoBlock { .. } => {
            failure
        }
    }
}

/// The nodes' addresses in the output of `scontrol show nodes --json`.
pub(crate) fn addresses(path: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let nodes = show_nodes::parse(&files::read(path)?).map_err(|error| files::unreadable(path, &error))?;
    let addressed = nodes.into_iter().filter(|node| !node.address.is_empty());
    Ok(addressed.map(|node| (node.name, node.address)).collect())
}
