//! If the running controller holds what a file says.

use crate::diff::{self, BlocksDiff};
use crate::model::BlockTopology;

/// What differs from the blocks of a file to those that `scontrol show topology` shows; `None` if nothing does.
///
/// The command shows the base size with each block and only those steps that the blocks fill. So sizes agree if the base
/// does and every step that is shown is one of the file; a file without sizes agrees with any.
pub fn difference(file: &BlockTopology, shown: &BlockTopology) -> Option<BlocksDiff> {
    let written = file.sizes.as_slice();
    let steps = shown.sizes.as_slice().iter().all(|size| written.contains(size));
    let sizes_agree = written.is_empty() || (steps && file.base() == shown.base());
    let mut shown = shown.clone();
    if sizes_agree {
        shown.sizes = file.sizes.clone();
    }
    let difference = diff::blocks(file, &shown);
    (difference != BlocksDiff::default()).then_some(difference)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{show_topology, topology_file};
    use crate::written::Form;

    #[test]
    fn what_slurm_shows_of_a_file_agrees_with_it() {
        // As printed by slurmctld 26.05 for these sizes.
        let cases = [
            ("[18, 36]", 18, "AggregatedBlock=rack[1-2] BlockIndex=2 Nodes=node[1-36] BlockSize=36\n"),
            ("[18, 72]", 18, "AggregatedBlock=rack[1-2] BlockIndex=2 Nodes=node[1-36] BlockSize=72\n"),
            ("[18]", 18, ""),
            ("[20]", 20, ""),
            ("[16]", 16, ""),
            ("[]", 18, "AggregatedBlock=rack[1-2] BlockIndex=2 Nodes=node[1-36] BlockSize=36\n"),
        ];
        for (sizes, base, more) in cases {
            assert_eq!(difference(&file(sizes), &shown("node[1-18]", base, more)), None, "{sizes}");
        }
    }

    #[test]
    fn a_moved_node_and_another_base_are_told() {
        let moved = difference(&file("[18]"), &shown("node[1-17]", 18, "")).unwrap();
        assert_eq!((moved.left[0].nodes.as_str(), moved.left[0].count), ("node18", 1));
        let sizes = difference(&file("[18]"), &shown("node[1-18]", 9, "")).unwrap().sizes;
        assert_eq!(sizes, Some((vec![18], vec![9])));
    }

    fn file(sizes: &str) -> BlockTopology {
        let text = format!(
            "- topology: t\n  block:\n    block_sizes: {sizes}\n    blocks:\n\
             \x20     - block: rack1\n        nodes: node[1-18]\n\
             \x20     - block: rack2\n        nodes: node[19-36]\n"
        );
        let parsed = topology_file::parse(&text, Form::Yaml).unwrap();
        parsed.list[0].blocks().unwrap().clone()
    }

    fn shown(first: &str, base: usize, more: &str) -> BlockTopology {
        let text = format!(
            "BlockName=rack1 BlockIndex=0 Nodes={first} BlockSize={base}\n\
             BlockName=rack2 BlockIndex=1 Nodes=node[19-36] BlockSize={base}\n{more}"
        );
        show_topology::parse(&text).unwrap()
    }
}
