//! Which blocks a job gets how many nodes of. Works on counts alone; each rule is in `docs/planner.md` by its number.

use std::cmp::Reverse;
use std::collections::BTreeSet;
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
    /// `--consolidate-segments`: all of them in one group of the lowest size that holds the job.
    Consolidated,
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

/// Places the segments, or none.
pub(super) fn segments(ladder: &Ladder, stock: Stock, ask: Ask) -> Option<Vec<Vec<Share>>> {
    let nodes = ask.segment * ask.segments;
    let level = ladder.level(nodes);
    match ask.spread {
        Spread::Consolidated if ask.segments > 1 && nodes <= level.size => {
            consolidated(ladder, level, &stock, ask)
        }
        Spread::Together | Spread::Apart | Spread::Consolidated => one_by_one(ladder, stock, ask),
    }
}

/// Rule 12: in the group with the fewest free nodes that takes them all; of equals the last.
fn consolidated(ladder: &Ladder, level: Level, stock: &Stock, ask: Ask) -> Option<Vec<Vec<Share>>> {
    let free_in = |group: &Range<usize>| stock.free[group.clone()].iter().sum::<usize>();
    let mut groups = ladder.groups(level);
    groups.retain(|group| free_in(group) >= ask.segment * ask.segments);
    groups.sort_by_key(|group| (free_in(group), Reverse(group.start)));
    groups.into_iter().find_map(|group| {
        let mut free = vec![0; stock.free.len()];
        free[group.clone()].copy_from_slice(&stock.free[group]);
        one_by_one(ladder, Stock { free, must: stock.must.clone() }, ask)
    })
}

/// Places the segments one after the other, or none. Rule 9: nodes can be named only in a job of one segment.
fn one_by_one(ladder: &Ladder, stock: Stock, ask: Ask) -> Option<Vec<Vec<Share>>> {
    let level = ladder.level(ask.segment);
    let mut floor = Floor::new(ladder, level, stock.free);
    if stock.must.iter().any(|must| *must > 0) {
        return (ask.segments == 1)
            .then(|| floor.named_segment(ask.segment, &stock.must))?
            .map(|shares| vec![shares]);
    }
    let mut placed = Vec::with_capacity(ask.segments);
    for _ in 0..ask.segments {
        let shares = floor.segment(ask.segment)?;
        for share in &shares {
            let left = match ask.spread {
                Spread::Together | Spread::Consolidated => floor.free[share.block] - share.nodes,
                Spread::Apart => 0,
            };
            floor.leave(share.block, left);
        }
        placed.push(shares);
    }
    Some(placed)
}

/// What is left while segments are placed.
struct Floor<'a> {
    ladder: &'a Ladder,
    level: Level,
    groups: Vec<Range<usize>>,
    free: Vec<usize>,
    /// The groups by how many nodes are free in them, of equals the last first: with thousands of blocks and segments
    /// they cannot be gone through for each.
    order: BTreeSet<(usize, Reverse<usize>)>,
}

/// How a group is chosen among equals.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    First,
    Later,
}

impl<'a> Floor<'a> {
    fn new(ladder: &'a Ladder, level: Level, free: Vec<usize>) -> Self {
        let groups = ladder.groups(level);
        let mut floor = Floor { ladder, level, groups, free, order: BTreeSet::new() };
        floor.order = (0..floor.groups.len()).map(|group| (floor.free_in(group), Reverse(group))).collect();
        floor
    }

    /// Notes that so many nodes of a block are left.
    fn leave(&mut self, block: usize, left: usize) {
        let group = block / self.level.factor;
        self.order.remove(&(self.free_in(group), Reverse(group)));
        self.free[block] = left;
        self.order.insert((self.free_in(group), Reverse(group)));
    }

    fn segment(&self, nodes: usize) -> Option<Vec<Share>> {
        let most = self.most_groups(nodes);
        let limit = self.most_blocks(nodes, most);
        if most == 1 {
            let (_, Reverse(group)) = *self.order.range((nodes, Reverse(usize::MAX))..).next()?;
            return self.take(nodes, self.groups[group].clone(), limit);
        }
        if self.uses_all_groups(most) {
            return self.take(nodes, 0..self.free.len(), usize::MAX);
        }
        if !self.counted_groups_suffice(nodes, most) {
            return None;
        }
        self.fill(nodes, (0..self.groups.len()).collect(), most, limit)
    }

    /// Rule 9: the named nodes come first, then what is left in their groups, then other groups.
    fn named_segment(&mut self, nodes: usize, must: &[usize]) -> Option<Vec<Share>> {
        let most = self.most_groups(nodes);
        let mut left = nodes.checked_sub(must.iter().sum())?;
        let named = must.iter().enumerate().filter(|(_, nodes)| **nodes > 0);
        let mut shares: Vec<Share> = named.map(|(block, nodes)| Share { block, nodes: *nodes }).collect();
        for share in &shares {
            self.free[share.block] -= share.nodes;
        }
        if self.uses_all_groups(most) {
            shares.extend(self.take(left, 0..self.free.len(), usize::MAX)?);
            return Some(shares);
        }
        let all = 0..self.groups.len();
        let (drawn, others): (Vec<usize>, Vec<usize>) =
            all.partition(|group| must[self.groups[*group].clone()].iter().any(|must| *must > 0));
        let spare = most.checked_sub(drawn.len())?;
        for group in drawn {
            let count = left.min(self.free_in(group));
            shares.extend(self.take(count, self.groups[group].clone(), usize::MAX)?);
            left -= count;
        }
        shares.extend(self.fill(left, others, spare, usize::MAX)?);
        Some(shares)
    }

    /// Rule 4: so many groups are needed if all were full, and no more may be used.
    fn most_groups(&self, nodes: usize) -> usize {
        nodes.div_ceil(self.level.size)
    }

    /// Takes nodes of at most `most` of these groups, in each of at most `blocks` blocks.
    fn fill(&self, nodes: usize, mut open: Vec<usize>, most: usize, blocks: usize) -> Option<Vec<Share>> {
        let (mut shares, mut left, mut turn) = (Vec::new(), nodes, Turn::First);
        for _ in 0..most {
            if left == 0 {
                break;
            }
            let group = self.pick_group(&open, left, turn)?;
            let count = left.min(self.free_in(group));
            shares.extend(self.take(count, self.groups[group].clone(), blocks)?);
            left -= count;
            open.retain(|other| *other != group);
            turn = Turn::Later;
        }
        (left == 0).then_some(shares)
    }

    /// Rule 7: if every group is needed and none is short, blocks are chosen as if there were no groups.
    fn uses_all_groups(&self, most: usize) -> bool {
        most > 1 && most == self.groups.len() && self.groups.iter().all(|group| self.level.counts(group))
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
        let fits = open.iter().copied().filter(|group| self.free_in(*group) >= nodes);
        let tightest = |group: usize| match turn {
            Turn::First => None,
            Turn::Later => {
                let blocks = self.free[self.groups[group].clone()].iter();
                Some(blocks.copied().filter(|free| *free >= nodes).min().unwrap_or(usize::MAX))
            }
        };
        let largest = |group: usize| self.free[self.groups[group].clone()].iter().max().copied();
        fits.min_by_key(|group| (self.free_in(*group), tightest(*group), Reverse(*group))).or_else(|| {
            let some = open.iter().copied().filter(|group| self.free_in(*group) > 0);
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
            let fits = open.iter().copied().filter(|block| self.free[*block] >= left);
            let block = fits
                .min_by_key(|block| (self.free[*block], Reverse(*block)))
                .or_else(|| open.iter().copied().max_by_key(|block| (self.free[*block], *block)))?;
            let count = left.min(self.free[block]);
            shares.push(Share { block, nodes: count });
            left -= count;
            open.retain(|other| *other != block);
        }
        Some(shares)
    }
}
