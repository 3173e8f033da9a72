//! Which blocks a job gets how many nodes of. Works on counts alone; each rule is in `docs/planner.md` by its number.

use std::cmp::Reverse;
use std::ops::Range;

use serde::Serialize;

use super::Request;
use super::ladder::{Ladder, Level};

/// If segments may share a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// They may.
    #[default]
    Together,
    /// `--spread-segments`: each segment in blocks of its own.
    Apart,
}

/// How many nodes are to be had of each block.
pub(super) struct Stock {
    pub(super) free: Vec<usize>,
    /// How many of these the request names.
    pub(super) must: Vec<usize>,
}

/// So many nodes of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) block: usize,
    pub(super) nodes: usize,
}

/// The numbers of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    /// Nodes of a segment, at least 1.
    pub(super) segment: usize,
    pub(super) segments: usize,
    pub(super) spread: Spread,
}

impl Ask {
    /// `None` if the segments do not make up the nodes. Rule 2: a job without segments is one segment.
    pub(super) fn new(request: &Request) -> Option<Self> {
        let segment = request.segment.unwrap_or(request.nodes).min(request.nodes);
        let whole = request.nodes.checked_rem(segment)? == 0;
        whole.then(|| Ask { segment, segments: request.nodes / segment, spread: request.spread })
    }
}

/// Places the segments one after the other, or none.
pub(super) fn segments(ladder: &Ladder, stock: Stock, ask: Ask) -> Option<Vec<Vec<Share>>> {
    let level = ladder.level(ask.segment);
    let groups = ladder.groups(level);
    let mut floor = Floor { ladder, level, groups, free: stock.free, must: stock.must };
    let mut placed = Vec::with_capacity(ask.segments);
    for _ in 0..ask.segments {
        let shares = floor.segment(ask.segment)?;
        for share in &shares {
            floor.free[share.block] = match ask.spread {
                Spread::Together => floor.free[share.block] - share.nodes,
                Spread::Apart => 0,
            };
            floor.must[share.block] = floor.must[share.block].saturating_sub(share.nodes);
        }
        placed.push(shares);
    }
    floor.must.iter().all(|must| *must == 0).then_some(placed)
}

/// What is left while segments are placed.
struct Floor<'a> {
    ladder: &'a Ladder,
    level: Level,
    groups: Vec<Range<usize>>,
    free: Vec<usize>,
    must: Vec<usize>,
}

/// How a group is chosen among equals.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    First,
    Later,
}

impl Floor<'_> {
    fn segment(&self, nodes: usize) -> Option<Vec<Share>> {
        // Rule 4: so many groups are needed if all were full, and no more may be used.
        let most = nodes.div_ceil(self.level.size);
        if self.uses_all_groups(most) {
            return self.take(nodes, 0..self.free.len(), usize::MAX);
        }
        if most > 1 && !self.counted_groups_suffice(nodes, most) {
            return None;
        }
        let mut shares = Vec::new();
        let (mut left, mut turn) = (nodes, Turn::First);
        let mut open: Vec<usize> = (0..self.groups.len()).collect();
        for _ in 0..most {
            let group = self.pick_group(&open, left, turn)?;
            let count = left.min(self.free_in(group));
            shares.extend(self.take(count, self.groups[group].clone(), self.most_blocks(nodes, most))?);
            left -= count;
            if left == 0 {
                return Some(shares);
            }
            open.retain(|other| *other != group);
            turn = Turn::Later;
        }
        None
    }

    /// Rule 7: if every group is needed and none is short, blocks are chosen as if there were no groups.
    fn uses_all_groups(&self, most: usize) -> bool {
        self.level.factor > 1
            && most > 1
            && most == self.groups.len()
            && self.groups.iter().all(|group| self.level.counts(group))
    }

    /// Rule 6: what needs several groups must fit into those that count.
    fn counted_groups_suffice(&self, nodes: usize, most: usize) -> bool {
        let counted = (0..self.groups.len()).filter(|group| self.level.counts(&self.groups[*group]));
        let mut free: Vec<usize> = counted.map(|group| self.free_in(group)).collect();
        free.sort_unstable_by_key(|free| Reverse(*free));
        free.iter().take(most).sum::<usize>() >= nodes
    }

    /// Rule 8: where the ladder skips a step, a single group may not be used more thinly than its blocks allow.
    fn most_blocks(&self, nodes: usize, groups: usize) -> usize {
        let skips = groups == 1 && self.level.below == 1 && self.level.factor > 2;
        if skips { nodes.div_ceil(self.ladder.base()) } else { usize::MAX }
    }

    /// Rules 3 and 5: the smallest group that has room, else the largest; the last of equals.
    fn pick_group(&self, open: &[usize], nodes: usize, turn: Turn) -> Option<usize> {
        let named = |group: &usize| self.must[self.groups[*group].clone()].iter().any(|must| *must > 0);
        let some_named = open.iter().any(named);
        let candidates = || open.iter().copied().filter(move |group| !some_named || named(group));
        let fits = candidates().filter(|group| self.free_in(*group) >= nodes);
        let tightest = |group: usize| match turn {
            Turn::First => None,
            Turn::Later => {
                let blocks = self.free[self.groups[group].clone()].iter();
                Some(blocks.copied().filter(|free| *free >= nodes).min().unwrap_or(usize::MAX))
            }
        };
        let largest = |group: usize| self.free[self.groups[group].clone()].iter().max().copied();
        fits.min_by_key(|group| (self.free_in(*group), tightest(*group), Reverse(*group))).or_else(|| {
            let some = candidates().filter(|group| self.free_in(*group) > 0);
            some.max_by_key(|group| (self.free_in(*group), largest(*group), *group))
        })
    }

    fn free_in(&self, group: usize) -> usize {
        self.free[self.groups[group].clone()].iter().sum()
    }

    /// Takes nodes of at most so many blocks of a range: of the smallest block that has all that is missing, else of the
    /// largest; of equals the last.
    fn take(&self, nodes: usize, range: Range<usize>, most: usize) -> Option<Vec<Share>> {
        let mut open: Vec<usize> = range.filter(|block| self.free[*block] > 0).collect();
        let (mut shares, mut left) = (Vec::new(), nodes);
        while left > 0 {
            if shares.len() == most {
                return None;
            }
            let named = |block: &usize| self.must[*block] > 0;
            let some_named = open.iter().any(named);
            let candidates = || open.iter().copied().filter(|block| !some_named || named(block));
            let fits = candidates().filter(|block| self.free[*block] >= left);
            let block = fits
                .min_by_key(|block| (self.free[*block], Reverse(*block)))
                .or_else(|| candidates().max_by_key(|block| (self.free[*block], *block)))?;
            let count = left.min(self.free[block]);
            shares.push(Share { block, nodes: count });
            left -= count;
            open.retain(|other| *other != block);
        }
        Some(shares)
    }
}
