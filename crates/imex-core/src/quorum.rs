//! How many peers a node waits for before it serves (`IMEX_WAIT_FOR_QUORUM`).

use std::collections::BTreeSet;

use crate::NodeId;

/// Whom a node waits for at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum QuorumMode {
    /// Nobody, not even after an unclean end.
    None,
    /// After an unclean end: every node that had imported from this one. Otherwise nobody.
    #[default]
    Recovery,
    /// Every node of the map.
    Full,
}

/// What a node has to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QuorumVerdict {
    /// Nothing: it may serve.
    Reached,
    /// Links to all nodes.
    AwaitPeers,
    /// The nodes that had imported from it.
    AwaitImporters,
}

/// Judges a quorum: a pure function of the mode, of whom the persist file names, and of who has been met.
///
/// `met` holds the nodes with which this node is connected both ways, itself included once its own link is up.
pub fn judge(
    mode: QuorumMode,
    nodes: usize,
    importers: &BTreeSet<NodeId>,
    met: &BTreeSet<NodeId>,
) -> QuorumVerdict {
    match mode {
        QuorumMode::None => QuorumVerdict::Reached,
        QuorumMode::Recovery if importers.is_subset(met) => QuorumVerdict::Reached,
        QuorumMode::Recovery => QuorumVerdict::AwaitImporters,
        QuorumMode::Full if met.len() >= nodes => QuorumVerdict::Reached,
        QuorumMode::Full => QuorumVerdict::AwaitPeers,
    }
}

#[cfg(test)]
mod tests {
    use super::QuorumMode::{Full, None, Recovery};
    use super::QuorumVerdict::{AwaitImporters, AwaitPeers, Reached};
    use super::*;

    fn set(nodes: &[u16]) -> BTreeSet<NodeId> {
        nodes.iter().copied().map(NodeId::new).collect()
    }

    #[test]
    fn truth_table_over_three_nodes() {
        let table: [(QuorumMode, &[u16], &[u16], QuorumVerdict); 14] = [
            (None, &[], &[], Reached),
            (None, &[0, 1, 2], &[], Reached),
            (None, &[1], &[0, 1, 2], Reached),
            (Recovery, &[], &[], Reached),
            (Recovery, &[], &[1, 2], Reached),
            (Recovery, &[1], &[], AwaitImporters),
            (Recovery, &[1], &[0, 2], AwaitImporters),
            (Recovery, &[1], &[1], Reached),
            (Recovery, &[0, 1], &[1, 2], AwaitImporters),
            (Recovery, &[0, 1], &[0, 1], Reached),
            (Full, &[], &[], AwaitPeers),
            (Full, &[1], &[1], AwaitPeers),
            (Full, &[], &[0, 1], AwaitPeers),
            (Full, &[1], &[0, 1, 2], Reached),
        ];
        for (mode, importers, met, verdict) in table {
            assert_eq!(judge(mode, 3, &set(importers), &set(met)), verdict, "{mode:?} {importers:?} {met:?}");
        }
    }
}
