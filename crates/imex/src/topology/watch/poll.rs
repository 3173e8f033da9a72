//! One poll: what the sources say, against the file.

use imex_topology::resting::{Proposal, propose};
use imex_topology::{NodeSet, Topologies, Topology};

use super::Watcher;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::topology::sources::Words;
use crate::topology::{files, sources, transaction};

/// What a poll found.
pub(super) enum Looked {
    /// Sources and file say what they said when the last poll found nothing to change.
    Same,
    /// Something may have changed.
    Found(Box<Found>),
}

/// What sources and file mean.
pub(super) struct Found {
    /// What the file holds; nothing if there is none or Slurm would refuse it.
    pub(super) in_use: Topologies,
    /// What it should hold.
    pub(super) proposal: Proposal,
    /// What the sources warn of.
    pub(super) warnings: Vec<String>,
    /// What it was read from, if that decides it alone: the controller was not asked.
    pub(super) read: Option<Read>,
}

/// What sources and file said, to the byte. As long as they say it again nothing needs to be understood again: that is
/// what makes a poll of a large cluster cheap.
#[derive(PartialEq, Eq)]
pub(super) struct Read {
    said: Vec<Words>,
    file: Option<String>,
}

impl Watcher<'_> {
    /// Asks the sources. The controller is asked for powered-down nodes only if nodes would be lost: that costs it more
    /// than all the rest costs here.
    pub(super) async fn poll(&self) -> Result<Looked, Failure> {
        let sources = self.args.sources.clone();
        // Sources read files and may wait for a network.
        let said = tokio::task::spawn_blocking(move || sources::ask(&sources)).await;
        let said = said.map_err(|error| Failure::new(Exit::Failed, &error))??;
        let read = Read { said, file: transaction::read(&self.args.to)? };
        if self.quiet.as_ref().is_some_and(|quiet| quiet.read == read) {
            return Ok(Looked::Same);
        }
        Ok(Looked::Found(Box::new(self.understand(read).await?)))
    }

    async fn understand(&self, read: Read) -> Result<Found, Failure> {
        let merged = sources::understand(&self.args.sources, &read.said)?;
        sources::agreed(&merged)?;
        let in_use = read.file.as_ref().and_then(|text| files::parse(&self.args.to, text).ok());
        let in_use = in_use.unwrap_or_default();
        let previous = (!in_use.list.is_empty()).then_some(&in_use);
        let options = self.args.shape.options();
        let proposed = |resting| propose(&merged.inventory, &options, previous, resting);
        let (proposal, read) = match proposed(&NodeSet::default()) {
            Ok(proposal) if !loses(&in_use, &proposal.topologies) => (Ok(proposal), Some(read)),
            Ok(_) | Err(_) => {
                let resting = self.controller.resting().await.map_err(|error| error.failure())?;
                (proposed(&resting), None)
            }
        };
        let proposal = proposal.map_err(|error| Failure::new(Exit::Failed, &error))?;
        Ok(Found { in_use, proposal, warnings: merged.warnings, read })
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
