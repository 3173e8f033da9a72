//! What the running controller holds: the text of `scontrol show topology`.
//!
//! One line for each block: `BlockName=rack1 BlockIndex=0 Nodes=node[1-18] BlockSize=18`. `AggregatedBlock=` lines are
//! steps made of blocks and say nothing new but their size. A block without nodes has no `Nodes=`. Names may hold blanks,
//! so keys are looked for from the end.

use crate::model::{Block, BlockSizes, BlockTopology, NodeSet};

use super::SourceError;

/// Reads the blocks of the text.
///
/// # Errors
///
/// If a line is none that the command prints for blocks.
pub fn parse(text: &str) -> Result<BlockTopology, SourceError> {
    let mut blocks = Vec::new();
    let mut sizes = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let fault = |what: String| SourceError::Line { line: index + 1, what };
        let line = line.trim();
        let (rest, size) =
            line.rsplit_once(" BlockSize=").ok_or_else(|| fault("there is no BlockSize".to_owned()))?;
        let size = size.parse().map_err(|_| fault(format!("`{size}` is not a block size")))?;
        sizes.push(size);
        let Some(rest) = rest.strip_prefix("BlockName=") else {
            if rest.starts_with("AggregatedBlock=") {
                continue;
            }
            return Err(fault("it is no block".to_owned()));
        };
        let (name, rest) =
            rest.rsplit_once(" BlockIndex=").ok_or_else(|| fault("there is no BlockIndex".to_owned()))?;
        let nodes = rest.split_once(" Nodes=").map_or("", |(_, nodes)| nodes);
        let nodes = NodeSet::parse(nodes).map_err(|error| fault(format!("`{nodes}`: {error}")))?;
        blocks.push(Block { name: name.to_owned(), nodes });
    }
    if blocks.is_empty() {
        return Err(SourceError::Nothing);
    }
    let sizes =
        BlockSizes::new(sizes).map_err(|error| SourceError::Line { line: 1, what: error.to_string() })?;
    Ok(BlockTopology { sizes, blocks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read_with_the_sizes_of_their_steps() {
        let blocks = parse(
            "BlockName=rack 1 BlockIndex=0 Nodes=node[1-18] BlockSize=18\n\
             BlockName=rack2 BlockIndex=1 BlockSize=18\n\
             AggregatedBlock=rack[1-2] BlockIndex=2 Nodes=node[1-36] BlockSize=36\n",
        )
        .unwrap();
        assert_eq!(blocks.sizes.as_slice(), [18, 36]);
        let told: Vec<_> =
            blocks.blocks.iter().map(|block| (block.name.as_str(), block.nodes.len())).collect();
        assert_eq!(told, [("rack 1", 18), ("rack2", 0)]);
    }

    #[test]
    fn another_topology_is_refused_with_its_line() {
        let error = parse("SwitchName=s1 Level=0 LinkSpeed=0 Nodes=node[1-18]\n").unwrap_err();
        assert_eq!(error.to_string(), "line 1: there is no BlockSize");
        assert!(matches!(parse(""), Err(SourceError::Nothing)));
    }
}
