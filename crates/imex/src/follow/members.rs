//! The map that the topology asks for.

use std::collections::BTreeMap;

use imex_core::NodeMap;
use imex_topology::node_map::members;

use super::args::FollowArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::topology::{addresses, agreed, inventory, node_map_failure};

/// A map, and which entry of it is this node's.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) map: NodeMap,
    pub(super) own: String,
    /// What the sources warn of.
    pub(super) warnings: Vec<String>,
}

/// The map of this node as the sources have it now.
pub(super) fn wanted(args: &FollowArgs) -> Result<Wanted, Failure> {
    let merged = inventory(&args.sources)?;
    agreed(&merged)?;
    let known: Option<BTreeMap<String, String>> =
        args.addresses.as_ref().map(|path| addresses(path)).transpose()?;
    let members = members(&merged.inventory, &args.node, args.scope.into()).map_err(node_map_failure)?;
    let text =
        |members: &[&str]| imex_topology::node_map::text(members, known.as_ref()).map_err(node_map_failure);
    let entries: Vec<String> = text(&members)?.lines().map(str::to_owned).collect();
    let own = text(&[&args.node])?.trim_end().to_owned();
    let map = NodeMap::new(entries).map_err(|error| Failure::new(Exit::Config, &error))?;
    Ok(Wanted { map, own, warnings: merged.warnings })
}

/// The text of the map's file.
pub(super) fn text(map: &NodeMap) -> String {
    map.iter().map(|(_, entry)| format!("{entry}\n")).collect()
}
