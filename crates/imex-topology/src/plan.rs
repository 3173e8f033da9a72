//! Where a job will land: the placement that slurmctld's topology/block would make, without asking it.
//!
//! [`plan`] is a pure function of the blocks, the states of the nodes and a request. The rules were learned from a real
//! slurmctld 26.05 by experiment; `docs/planner.md` has each rule with its experiment, and what is known to differ.
//! [`nodes`] and [`job`] read what `scontrol … --json` prints; [`picture`] and [`svg`] show a plan.

mod advice;
mod choose;
mod gres;
pub mod job;
mod ladder;
pub mod nodes;
pub mod picture;
mod reason;
pub mod svg;
mod uncovered;

use std::collections::HashSet;

use serde::Serialize;

use crate::model::{BlockTopology, NodeSet};

pub use advice::{Alternative, GroupAdvice, GroupError, Start, best_segment};
pub use choose::Spread;
pub use gres::{Gres, GresError, list as gres_list};
pub use nodes::{Availability, NodeState, NodeStates};
pub use reason::{Refusal, Waiting};
pub use uncovered::{Uncovered, uncovered};

use choose::{Ask, Share, Stock};
use ladder::Ladder;

/// If a job takes whole nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// `--exclusive`: only nodes without any job will do.
    #[default]
    Exclusive,
    /// Nodes that have room beside other jobs will do as well.
    Shared,
}

/// What a job asks for.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Request {
    /// `--nodes`: how many, at least 1.
    pub nodes: usize,
    /// `--segment`: how many nodes must be together. One larger than `nodes` does not bind.
    pub segment: Option<usize>,
    /// `--spread-segments`, `--consolidate-segments`.
    pub spread: Spread,
    /// `--exclusive`.
    pub sharing: Sharing,
    /// `--nodelist`: nodes that must be among them.
    pub wanted: NodeSet,
    /// `--exclude`: nodes that must not.
    pub excluded: NodeSet,
    /// `--gres`: what each node must have.
    pub gres: Vec<Gres>,
}

/// What would become of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The blocks with their nodes, as the topology has them.
    pub racks: Vec<Rack>,
    /// The nodes in no block of which the job gets one.
    pub outside: Vec<String>,
    /// If it starts, waits or is refused.
    pub outcome: Outcome,
    /// Requests near to this one that start now, or could start: none if this one starts.
    pub alternatives: Vec<Alternative>,
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It starts at once, on the nodes that [`Plan::racks`] marks.
    Starts,
    /// It waits: it could start if other nodes were free.
    Waits(Waiting),
    /// It is refused when it is submitted: it could not start even on an empty cluster.
    Refused(Refusal),
}

/// One block of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rack {
    /// The block's name.
    pub name: String,
    /// Its nodes, in Slurm's order.
    pub nodes: Vec<Place>,
    /// How many free nodes are left that are too few for another segment of this size, or, without segments, for a
    /// base block. Only counted in blocks that the job uses.
    pub stranded: usize,
}

/// One node of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The node.
    pub node: String,
    /// What it could do before the job came.
    pub availability: Availability,
    /// The segment of the job that gets it, from 0.
    pub segment: Option<usize>,
}

/// Places a request.
pub fn plan(topology: &BlockTopology, states: &NodeStates, request: &Request) -> Plan {
    let board = Board::new(topology, states, request);
    let mut plan = Plan {
        racks: board.racks(topology),
        outside: Vec::new(),
        outcome: Outcome::Starts,
        alternatives: Vec::new(),
    };
    match board.place(request) {
        Some(Choice::Segments(segments)) => board.mark(request, &segments, &mut plan.racks),
        Some(Choice::Alone(node)) => {
            if !mark_alone(&mut plan.racks, &node) {
                plan.outside.push(node);
            }
        }
        None => {
            plan.outcome = reason::outcome(&board, request);
            plan.alternatives = advice::alternatives(&board, request);
        }
    }
    count_stranded(&mut plan.racks, request.segment.unwrap_or(board.ladder.base()));
    plan
}

impl Plan {
    /// The nodes that the job gets, in natural order. Empty unless it starts.
    pub fn chosen(&self) -> NodeSet {
        let places = self.racks.iter().flat_map(|rack| &rack.nodes);
        let placed = places.filter(|place| place.segment.is_some()).map(|place| place.node.as_str());
        placed.chain(self.outside.iter().map(String::as_str)).collect()
    }

    /// The nodes of one segment, in natural order.
    pub fn segment(&self, number: usize) -> NodeSet {
        let places = self.racks.iter().flat_map(|rack| &rack.nodes);
        places.filter(|place| place.segment == Some(number)).map(|place| place.node.as_str()).collect()
    }

    /// How many free nodes the job strands.
    pub fn stranded(&self) -> usize {
        self.racks.iter().map(|rack| rack.stranded).sum()
    }
}

/// What the job gets.
enum Choice {
    /// Segments, each a number of nodes from some blocks.
    Segments(Vec<Vec<Share>>),
    /// One node, which Slurm does not look at blocks for.
    Alone(String),
}

/// The cluster as a request sees it.
struct Board<'a> {
    ladder: Ladder,
    states: &'a NodeStates,
    /// Per block its nodes in Slurm's order, each with what it can do.
    blocks: Vec<Vec<Seat<'a>>>,
}

/// A node of a block as a request sees it.
#[derive(Clone, Copy)]
struct Seat<'a> {
    name: &'a str,
    order: usize,
    availability: Availability,
    weight: u64,
    wish: Wish,
}

/// What the request says of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wish {
    Any,
    Wanted,
    /// It is named so, or lacks what the job asks for.
    Excluded,
}

/// Which nodes count as free.
#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    /// Those that are.
    Now,
    /// Also those that a job has.
    WithoutJobs,
    /// All.
    Empty,
}

impl<'a> Board<'a> {
    fn new(topology: &'a BlockTopology, states: &'a NodeStates, request: &Request) -> Self {
        let wanted: HashSet<&str> = request.wanted.iter().collect();
        let excluded: HashSet<&str> = request.excluded.iter().collect();
        let wish = |name: &str| match (excluded.contains(name), wanted.contains(name)) {
            (true, _) => Wish::Excluded,
            (false, true) => Wish::Wanted,
            (false, false) => Wish::Any,
        };
        let mut last = 0;
        let block = |nodes: &'a NodeSet| -> Vec<Seat<'a>> {
            let seats = nodes.iter().filter_map(|name| {
                last += 1;
                let (order, node) = states.find(name, last)?;
                let wish = if states.suit(&node, request) { wish(name) } else { Wish::Excluded };
                Some(Seat { name, order, availability: node.availability, weight: node.weight, wish })
            });
            let mut seats: Vec<Seat<'a>> = seats.collect();
            seats.sort_by_key(|seat| seat.order);
            seats
        };
        let blocks = topology.blocks.iter().map(|block| &block.nodes).map(block).collect();
        Board { ladder: Ladder::new(topology), states, blocks }
    }

    fn place(&self, request: &Request) -> Option<Choice> {
        if request.nodes == 1 {
            return self.alone(request).map(Choice::Alone);
        }
        self.segments(request, Ask::new(request)?, View::Now).map(Choice::Segments)
    }

    /// A job of one node gets the first that is free of the lightest, in a block or not.
    fn alone(&self, request: &Request) -> Option<String> {
        let asked = |name: &str| request.wanted.is_empty() || request.wanted.contains(name);
        let seats = self.blocks.iter().flatten().filter(|seat| seat.usable(request, View::Now));
        let inside = seats.map(|seat| (seat.weight, seat.order, seat.name));
        let known = self.states.iter().enumerate().filter(|(_, node)| {
            node.availability.takes(request.sharing)
                && !request.excluded.contains(&node.name)
                && self.states.suit(node, request)
        });
        let known = known.map(|(order, node)| (node.weight, order, node.name.as_str()));
        inside.chain(known).filter(|(.., name)| asked(name)).min().map(|(.., name)| name.to_owned())
    }

    fn segments(&self, request: &Request, ask: Ask, view: View) -> Option<Vec<Vec<Share>>> {
        let stock = self.stock(request, view);
        let wanted: usize = stock.must.iter().sum();
        if wanted < request.wanted.len() {
            return None;
        }
        choose::segments(&self.ladder, stock, ask)
    }

    fn stock(&self, request: &Request, view: View) -> Stock {
        let count = |seats: &[Seat<'_>], wanted_only: bool| {
            seats
                .iter()
                .filter(|seat| seat.usable(request, view))
                .filter(|seat| !wanted_only || seat.wish == Wish::Wanted)
                .count()
        };
        Stock {
            free: self.blocks.iter().map(|seats| count(seats, false)).collect(),
            must: self.blocks.iter().map(|seats| count(seats, true)).collect(),
        }
    }

    /// Gives each segment its nodes: of each block the wanted ones first, then the first free ones.
    fn mark(&self, request: &Request, segments: &[Vec<Share>], racks: &mut [Rack]) {
        let order = |seats: &Vec<Seat<'_>>| {
            let usable = |index: &usize| seats[*index].usable(request, View::Now);
            let mut order: Vec<usize> = (0..seats.len()).filter(usable).collect();
            order.sort_by_key(|&index| (seats[index].wish != Wish::Wanted, index));
            order.into_iter()
        };
        let mut free: Vec<_> = self.blocks.iter().map(order).collect();
        for (number, segment) in segments.iter().enumerate() {
            for share in segment {
                for index in free[share.block].by_ref().take(share.nodes) {
                    racks[share.block].nodes[index].segment = Some(number);
                }
            }
        }
    }

    fn racks(&self, topology: &BlockTopology) -> Vec<Rack> {
        let place = |seat: &Seat<'_>| Place {
            node: seat.name.to_owned(),
            availability: seat.availability,
            segment: None,
        };
        let racks = topology.blocks.iter().zip(&self.blocks).map(|(block, seats)| Rack {
            name: block.name.clone(),
            nodes: seats.iter().map(place).collect(),
            stranded: 0,
        });
        racks.collect()
    }
}

impl Seat<'_> {
    fn usable(&self, request: &Request, view: View) -> bool {
        let free = match view {
            View::Now => self.availability.takes(request.sharing),
            View::WithoutJobs => self.availability != Availability::Down,
            View::Empty => true,
        };
        free && self.wish != Wish::Excluded
    }
}

fn mark_alone(racks: &mut [Rack], node: &str) -> bool {
    let place = racks.iter_mut().flat_map(|rack| &mut rack.nodes).find(|place| place.node == node);
    place.map(|place| place.segment = Some(0)).is_some()
}

fn count_stranded(racks: &mut [Rack], useful: usize) {
    for rack in racks {
        let used = rack.nodes.iter().any(|place| place.segment.is_some());
        let left = rack.nodes.iter().filter(|place| place.is_left()).count();
        rack.stranded = if used && left < useful { left } else { 0 };
    }
}

impl Place {
    /// If it is free before the job and after it.
    pub fn is_left(&self) -> bool {
        self.availability == Availability::Free && self.segment.is_none()
    }
}

#[cfg(test)]
mod tests;
