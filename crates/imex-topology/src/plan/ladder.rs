//! The sizes of a topology as levels: single blocks, pairs, fours … of consecutive blocks.

use std::ops::Range;

use crate::model::BlockTopology;

/// The levels, lowest first. The lowest joins nothing.
pub(super) struct Ladder {
    base: usize,
    factors: Vec<usize>,
    blocks: usize,
}

/// One level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Level {
    /// How many consecutive blocks make a group.
    pub(super) factor: usize,
    /// How many nodes a job may have to be placed by this level.
    pub(super) size: usize,
    /// The factor of the level below; 0 if this is the lowest.
    pub(super) below: usize,
}

impl Ladder {
    /// The levels that slurmctld makes. Without sizes: the size of the first block, then twice and twice again, until a
    /// group could hold all blocks.
    pub(super) fn new(topology: &BlockTopology) -> Self {
        let blocks = topology.blocks.len();
        let base = topology.base().max(1);
        let sizes = topology.sizes.as_slice();
        let factors = if sizes.is_empty() {
            let doubled = std::iter::successors(Some(1_usize), |factor| factor.checked_mul(2));
            let mut factors: Vec<usize> = doubled.take_while(|factor| *factor < blocks).collect();
            factors.push(blocks.max(1).next_power_of_two());
            factors
        } else {
            sizes.iter().map(|size| size / base).collect()
        };
        Ladder { base, factors, blocks }
    }

    /// The lowest size.
    pub(super) fn base(&self) -> usize {
        self.base
    }

    /// The lowest level of at least so many nodes, else the highest.
    pub(super) fn level(&self, nodes: usize) -> Level {
        let fits = |factor: &usize| self.base.saturating_mul(*factor) >= nodes;
        let index = self.factors.iter().position(fits).unwrap_or(self.factors.len() - 1);
        let below = index.checked_sub(1).map_or(0, |below| self.factors[below]);
        let factor = self.factors[index];
        Level { factor, size: self.base.saturating_mul(factor), below }
    }

    /// The groups of a level: ranges of blocks. The last may be short.
    pub(super) fn groups(&self, level: Level) -> Vec<Range<usize>> {
        let starts = (0..self.blocks).step_by(level.factor);
        starts.map(|start| start..self.blocks.min(start + level.factor)).collect()
    }
}

impl Level {
    /// If slurmctld counts a group as one of this level: it has more than half of the blocks.
    pub(super) fn counts(self, group: &Range<usize>) -> bool {
        group.len() * 2 > self.factor
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Block, BlockSizes, NodeSet};

    fn ladder(sizes: Vec<usize>, blocks: &[&str]) -> Ladder {
        let block = |(index, nodes): (usize, &&str)| Block {
            name: format!("b{index}"),
            nodes: NodeSet::parse(nodes).unwrap(),
        };
        let blocks = blocks.iter().enumerate().map(block).collect();
        Ladder::new(&BlockTopology { sizes: BlockSizes::new(sizes).unwrap(), blocks })
    }

    #[test]
    fn without_sizes_the_first_block_is_the_base_and_steps_reach_past_all_blocks() {
        // scontrol show topology of 26.05.5 lists b[1-2] with 16 and b[1-3] with 32 for these.
        let ladder = ladder(vec![], &["n[5-12]", "n[1-4]", "n[13-17]"]);
        assert_eq!((ladder.base, ladder.factors.as_slice()), (8, [1, 2, 4].as_slice()));
        let top = ladder.level(17);
        assert_eq!((top.size, ladder.groups(top).len()), (32, 1));
        assert!(top.counts(&(0..3)));
    }

    #[test]
    fn a_group_of_half_the_blocks_does_not_count() {
        let ladder =
            ladder(vec![6, 12, 24], &["n[1-6]", "n[7-12]", "n[13-18]", "n[19-24]", "n[25-30]", "n[31-36]"]);
        let top = ladder.level(13);
        let counts: Vec<bool> = ladder.groups(top).iter().map(|group| top.counts(group)).collect();
        assert_eq!(counts, [true, false]);
        assert_eq!(ladder.level(1_000), top);
        assert_eq!(ladder.level(7), Level { factor: 2, size: 12, below: 1 });
    }
}
