//! Why a job does not start: a fact of the blocks, in words, with what Slurm would say.

use serde::Serialize;

use super::choose::Ask;
use super::{Availability, Board, Gres, Outcome, Request, View};

/// Why a request is refused when it is submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Refusal {
    /// The segments do not make up the nodes.
    #[error("{nodes} nodes cannot be divided into segments of {segment}")]
    Uneven {
        /// Nodes of the job.
        nodes: usize,
        /// Nodes of a segment.
        segment: usize,
    },
    /// Not even one segment fits into empty blocks.
    #[error("{segment} nodes must be together, and no {} of {size} has more than {largest}", unit(*.joined))]
    TooLarge {
        /// Nodes that must be together.
        segment: usize,
        /// The block size that they are placed by.
        size: usize,
        /// How many blocks make that size.
        joined: usize,
        /// The most nodes that such a block has.
        largest: usize,
    },
    /// Some segments fit into empty blocks, but not so many.
    #[error("{segments} segments of {segment} nodes do not fit: the empty blocks hold {fit}")]
    TooMany {
        /// Segments of the job.
        segments: usize,
        /// Nodes of a segment.
        segment: usize,
        /// How many would fit.
        fit: usize,
    },
    /// No node that may be given has what the job's node must have.
    #[error("no node that it may have has {gres}")]
    Lacking {
        /// What it must have.
        gres: String,
    },
    /// The nodes that are asked for by name are in no block, excluded, or too far apart.
    #[error("the nodes that are asked for by name cannot all be in one such job")]
    Named,
}

/// Why a request waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Waiting {
    /// There are not so many nodes: it waits for ever.
    #[error("{nodes} nodes are asked for and there are {known}: it will never start")]
    NeverEnough {
        /// Nodes of the job.
        nodes: usize,
        /// Nodes that Slurm knows.
        known: usize,
    },
    /// Too few nodes are up, even without any job.
    #[error("{nodes} nodes are asked for and {up} are up ({down} are down or drained)")]
    Down {
        /// Nodes of the job.
        nodes: usize,
        /// Nodes in blocks that are up.
        up: usize,
        /// Nodes in blocks that are not.
        down: usize,
    },
    /// Enough nodes are up, but where they are down makes the blocks too small.
    #[error(
        "{up} nodes are up, but not where they are needed: {fit} of {segments} segments of {segment} \
         nodes fit, the best place has {largest} nodes up"
    )]
    Scattered {
        /// Nodes in blocks that are up.
        up: usize,
        /// Segments of the job.
        segments: usize,
        /// Nodes of a segment.
        segment: usize,
        /// How many segments would fit without any job.
        fit: usize,
        /// The most nodes that a place for a segment has up.
        largest: usize,
    },
    /// It could start if jobs ended.
    #[error(
        "it waits for running jobs: {free} nodes are free, {fit} of {segments} segments of {segment} \
         nodes fit, the best place has {largest} nodes free"
    )]
    Jobs {
        /// Nodes in blocks that are free.
        free: usize,
        /// Segments of the job.
        segments: usize,
        /// Nodes of a segment.
        segment: usize,
        /// How many segments would fit now.
        fit: usize,
        /// The most nodes that a place for a segment has free.
        largest: usize,
    },
}

fn unit(joined: usize) -> &'static str {
    if joined == 1 { "block" } else { "group of blocks" }
}

impl Waiting {
    /// What Slurm gives as the reason in `squeue`. It says so only once it has looked at the job.
    pub fn slurm_reason(&self) -> &'static str {
        match self {
            Waiting::NeverEnough { .. } => "PartitionNodeLimit",
            Waiting::Down { .. } => {
                "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
            }
            Waiting::Scattered { .. } => "ReqNodeNotAvail, May be reserved for other job",
            Waiting::Jobs { .. } => "Resources",
        }
    }
}

/// Why a request that cannot be placed now is refused or waits.
pub(super) fn outcome(board: &Board<'_>, request: &Request) -> Outcome {
    let known = board.known();
    if request.nodes > known {
        return Outcome::Waits(Waiting::NeverEnough { nodes: request.nodes, known });
    }
    let Some(ask) = Ask::new(request) else {
        let segment = request.segment.unwrap_or(request.nodes);
        return Outcome::Refused(Refusal::Uneven { nodes: request.nodes, segment });
    };
    if request.nodes > 1 && board.segments(request, ask, View::Empty).is_none() {
        return Outcome::Refused(refusal(board, request, ask));
    }
    if request.nodes == 1 && !board.any_suits(request) {
        let gres: Vec<String> = request.gres.iter().map(Gres::to_string).collect();
        return Outcome::Refused(Refusal::Lacking { gres: gres.join(",") });
    }
    Outcome::Waits(waiting(board, request, ask))
}

fn refusal(board: &Board<'_>, request: &Request, ask: Ask) -> Refusal {
    let nameless = Request { wanted: Default::default(), ..request.clone() };
    if board.segments(&nameless, ask, View::Empty).is_some() {
        return Refusal::Named;
    }
    match board.fit(&nameless, ask, View::Empty) {
        0 => {
            let level = board.ladder.level(ask.segment);
            let largest = board.largest(&nameless, ask, View::Empty);
            Refusal::TooLarge { segment: ask.segment, size: level.size, joined: level.factor, largest }
        }
        fit => Refusal::TooMany { segments: ask.segments, segment: ask.segment, fit },
    }
}

fn waiting(board: &Board<'_>, request: &Request, ask: Ask) -> Waiting {
    let (segments, segment) = (ask.segments, ask.segment);
    let up = board.count(|availability| availability != Availability::Down);
    if up < request.nodes {
        let down = board.count(|availability| availability == Availability::Down);
        return Waiting::Down { nodes: request.nodes, up, down };
    }
    if board.segments(request, ask, View::WithoutJobs).is_none() {
        let fit = board.fit(request, ask, View::WithoutJobs);
        let largest = board.largest(request, ask, View::WithoutJobs);
        return Waiting::Scattered { up, segments, segment, fit, largest };
    }
    let free = board.count(|availability| availability.takes(request.sharing));
    let fit = board.fit(request, ask, View::Now);
    Waiting::Jobs { free, segments, segment, fit, largest: board.largest(request, ask, View::Now) }
}

impl Board<'_> {
    /// If a node that the request names, or any, has what it must have, whatever it does now.
    fn any_suits(&self, request: &Request) -> bool {
        let asked = |name: &str| {
            !request.excluded.contains(name) && (request.wanted.is_empty() || request.wanted.contains(name))
        };
        let mut known = self.states.iter();
        request.gres.is_empty()
            || known.len() == 0
            || known.any(|node| asked(&node.name) && self.states.suit(node, request))
    }

    /// How many nodes Slurm knows.
    fn known(&self) -> usize {
        self.states.iter().len().max(self.blocks.iter().map(Vec::len).sum())
    }

    fn count(&self, wanted: impl Fn(Availability) -> bool) -> usize {
        self.blocks.iter().flatten().filter(|seat| wanted(seat.availability)).count()
    }

    /// How many of the segments can be placed.
    fn fit(&self, request: &Request, ask: Ask, view: View) -> usize {
        let fits = |segments: usize| {
            let ask = Ask { segments, ..ask };
            segments == 0 || self.segments(request, ask, view).is_some()
        };
        // Segments are placed one after the other, so that more never fit where fewer do not.
        let (mut fit, mut over) = (0, ask.segments);
        while over - fit > 1 {
            let middle = fit + (over - fit) / 2;
            if fits(middle) { fit = middle } else { over = middle }
        }
        fit
    }

    /// The most nodes that are to be had where one segment is placed.
    fn largest(&self, request: &Request, ask: Ask, view: View) -> usize {
        let stock = self.stock(request, view);
        let level = self.ladder.level(ask.segment);
        let groups = self.ladder.groups(level);
        groups.into_iter().map(|group| stock.free[group].iter().sum()).max().unwrap_or(0)
    }
}
