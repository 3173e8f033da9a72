//! The map that the topology asks for.

use std::collections::BTreeMap;

use imex_core::NodeMap;
use imex_topology::node_map::members;

use super::args::FollowArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::topology::{addresses, agreed, inventory, node_map_failure};

/// The map of this node as the sources have it now.
pub(super) fn wanted(args: &FollowArgs) -> Result<NodeMap, Failure> {
    let merged = inventory(&args.sources)?;
    agreed(&merged)?;
    let known: Option<BTreeMap<String, String>> =
        args.addresses.as_ref().map(|path| addresses(path)).transpose()?;
    let members = members(&merged.inventory, &args.node, args.scope.into()).map_err(node_map_failure)?;
    let text = imex_topology::node_map::text(&members, known.as_ref()).map_err(node_map_failure)?;
    let entries = text.lines().map(str::to_owned).collect::<Vec<String>>();
    NodeMap::new(entries).map_err(|error| Failure::new(Exit::Config, &error))
}

/// The entry of this node in the maps that it has.
pub(super) fn own_entry(args: &FollowArgs) -> Result<String, Failure> {
    let Some(path) = &args.addresses else { return Ok(args.node.clone()) };
    addresses(path)?.remove(&args.node).ok_or_else(|| {
        Failure::because(Exit::Config, format!("no address is known for this node, `{}`", args.node))
    })
}

/// The text of the map's file.
pub(super) fn text(map: &NodeMap) -> String {
    map.iter().map(|(_, entry)| format!("{entry}\n")).collect()
}
