//! One poll: what the sources say, against the file.

use imex_topology::resting::{Proposal, propose};
use imex_topology::{NodeSet, Topologies, Topology};

use super::Watcher;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::topology::{files, sources, transaction};

/// What a poll found.
pub(super) struct Found {
    /// What the file holds; nothing if there is none or Slurm would refuse it.
    pub(super) in_use: Topologies,
    /// What it should hold.
    pub(super) proposal: Proposal,
}

impl Watcher<'_> {
    /// Asks the sources. The controller is asked for powered-down nodes only if nodes would be lost: that costs it more
    /// than all the rest costs here.
    pub(super) async fn poll(&self) -> Result<Found, Failure> {
        let sources = self.args.sources.clone();
        // Sources read files and may wait for a network.
        let merged = tokio::task::spawn_blocking(move || sources::inventory(&sources)).await;
        let merged = merged.map_err(|error| Failure::new(Exit::Failed, &error))??;
        sources::agreed(&merged)?;
        let path = &self.args.to;
        let text = transaction::read(path)?;
        let in_use = text.and_then(|text| files::parse(path, &text).ok()).unwrap_or_default();
        let previous = (!in_use.list.is_empty()).then_some(&in_use);
        let options = self.args.shape.options();
        let proposed = |resting| propose(&merged.inventory, &options, previous, resting);
        let proposal = match proposed(&NodeSet::default()) {
            Ok(proposal) if !loses(&in_use, &proposal.topologies) => Ok(proposal),
            Ok(_) | Err(_) => {
                let resting = self.controller.resting().await.map_err(|error| error.failure())?;
                proposed(&resting)
            }
        };
        let proposal = proposal.map_err(|error| Failure::new(Exit::Failed, &error))?;
        Ok(Found { in_use, proposal })
    }
}

/// If a node of the blocks before is in none after.
fn loses(before: &Topologies, after: &Topologies) -> bool {
    let nodes = |topologies: &Topologies| -> NodeSet {
        let blocks = topologies.list.iter().filter_map(Topology::blocks).flat_map(|blocks| &blocks.blocks);
        blocks.flat_map(|block| block.nodes.iter().map(str::to_owned)).collect()
    };
    if before == after {
        return false;
    }
    let after = nodes(after);
    nodes(before).iter().any(|node| !after.contains(node))
}
