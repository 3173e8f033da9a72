//! What is tried: shapes of blocks, and random jobs and drained nodes from a seed.

use std::fmt::Write;

use imex_topology::plan::{Availability, Gres, NodeStates, Request, Sharing, Spread};
use imex_topology::{
    Block, BlockSizes, BlockTopology, ClusterDefault, NodeSet, Topologies, Topology, TopologyKind, render,
};

use super::{NODES, Nodes};
use crate::error::TaskError;
use crate::slurm_lab::{DEVICES, Kind};

/// Blocks over the cluster's nodes, under the name of a topology and of the partition that uses it.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) name: &'static str,
    /// What it stands for, in the table.
    class: &'static str,
    pub(super) blocks: BlockTopology,
}

/// One job on one shape.
pub(super) struct Trial<'a> {
    pub(super) shape: &'a Shape,
    pub(super) request: Request,
    kind: &'static str,
}

/// Name, class, sizes, blocks.
type Row = (&'static str, &'static str, &'static [usize], &'static [&'static str]);

const FOURS: [&str; 9] = [
    "node[1-4]",
    "node[5-8]",
    "node[9-12]",
    "node[13-16]",
    "node[17-20]",
    "node[21-24]",
    "node[25-28]",
    "node[29-32]",
    "node[33-36]",
];
const SIXES: [&str; 6] =
    ["node[1-6]", "node[7-12]", "node[13-18]", "node[19-24]", "node[25-30]", "node[31-36]"];
const NINES: [&str; 4] = ["node[1-9]", "node[10-18]", "node[19-27]", "node[28-36]"];
const UNEQUAL: [&str; 5] = ["node[1-5]", "node[6-12]", "node[13-16]", "node[17-25]", "node[26-36]"];

const SHAPES: [Row; 16] = [
    ("one", "one block", &[36], &["node[1-36]"]),
    ("two", "two blocks", &[18], &["node[1-18]", "node[19-36]"]),
    ("two_steps", "two blocks", &[18, 36], &["node[1-18]", "node[19-36]"]),
    ("two_small_base", "base below the blocks", &[16], &["node[1-18]", "node[19-36]"]),
    ("two_large_base", "base above the blocks", &[20], &["node[1-18]", "node[19-36]"]),
    ("four", "four blocks", &[9], &NINES),
    ("four_steps", "four blocks, 2^k sizes", &[9, 18, 36], &NINES),
    ("four_pairs", "four blocks, 2^k sizes", &[9, 18], &NINES),
    ("four_none", "four blocks, no sizes", &[], &NINES),
    ("four_small_base", "base below the blocks", &[4, 8], &NINES),
    ("four_backwards", "four blocks", &[9], &["node[28-36]", "node[19-27]", "node[10-18]", "node[1-9]"]),
    ("six_steps", "six or nine blocks, 2^k sizes", &[6, 12, 24], &SIXES),
    ("nine_steps", "six or nine blocks, 2^k sizes", &[4, 8, 16], &FOURS),
    ("unequal", "unequal blocks", &[4], &UNEQUAL),
    ("halves", "unequal blocks", &[6, 12], &["node[1-18]", "node[19-30]", "node[31-36]"]),
    ("unequal_steps", "unequal blocks, 2^k sizes", &[5, 10], &UNEQUAL),
];

/// All shapes.
pub(super) fn shapes() -> Vec<Shape> {
    SHAPES.iter().map(|row| shape(*row)).collect()
}

fn shape((name, class, sizes, lists): Row) -> Shape {
    let block = |(index, list): (usize, &&str)| Block {
        name: format!("{name}{}", index + 1),
        nodes: NodeSet::parse(list).expect("the lists above are well formed"),
    };
    let sizes = BlockSizes::new(sizes.to_vec()).expect("the sizes above are steps");
    Shape {
        name,
        class,
        blocks: BlockTopology { sizes, blocks: lists.iter().enumerate().map(block).collect() },
    }
}

/// One file with a topology for each shape.
pub(super) fn topology_yaml(shapes: &[Shape]) -> Result<String, TaskError> {
    let topology = |(index, shape): (usize, &Shape)| Topology {
        name: shape.name.to_owned(),
        default: if index == 0 { ClusterDefault::Yes } else { ClusterDefault::No },
        kind: TopologyKind::Block(shape.blocks.clone()),
    };
    let topologies = Topologies { list: shapes.iter().enumerate().map(topology).collect() };
    let mut text = Vec::new();
    render::yaml(&topologies, &[], &mut text).map_err(|error| broken(&error.to_string()))?;
    String::from_utf8(text).map_err(|error| broken(&error.to_string()))
}

fn broken(why: &str) -> TaskError {
    TaskError::Output { line: "render::yaml".to_owned(), why: why.to_owned() }
}

impl<'a> Trial<'a> {
    /// A plain job.
    pub(super) fn new(shape: &'a Shape, request: Request) -> Self {
        Trial { shape, request, kind: "plain" }
    }

    /// Its row of the table.
    pub(super) fn class(&self) -> String {
        format!("{}: {}", self.shape.class, self.kind)
    }

    /// What `sbatch` is told, less the script.
    pub(super) fn arguments(&self) -> Vec<String> {
        let Request { nodes, segment, spread, sharing, wanted, excluded, gres } = &self.request;
        let mut arguments = vec![format!("--partition={}", self.shape.name), format!("--nodes={nodes}")];
        arguments.extend(segment.map(|segment| format!("--segment={segment}")));
        match spread {
            Spread::Together => {}
            Spread::Apart => arguments.push("--spread-segments".to_owned()),
            Spread::Consolidated => arguments.push("--consolidate-segments".to_owned()),
        }
        arguments.extend(gres.iter().map(|gres| format!("--gres={gres}")));
        if *sharing == Sharing::Exclusive {
            arguments.push("--exclusive".to_owned());
        }
        if !wanted.is_empty() {
            arguments.push(format!("--nodelist={}", wanted.to_list()));
        }
        if !excluded.is_empty() {
            arguments.push(format!("--exclude={}", excluded.to_list()));
        }
        arguments
    }

    /// The arguments as a line.
    pub(super) fn line(&self) -> String {
        self.arguments().join(" ")
    }

    /// If `docs/planner.md` lists that slurmctld may do otherwise: the job is larger than the largest size of at least
    /// three, and a block has no node for it.
    pub(super) fn is_listed(&self, states: &NodeStates) -> bool {
        let sizes = self.shape.blocks.sizes.as_slice();
        let segment = self.request.segment.unwrap_or(self.request.nodes).min(self.request.nodes);
        let free: NodeSet = states
            .iter()
            .filter(|node| node.availability.takes(self.request.sharing))
            .map(|node| node.name.as_str())
            .filter(|name| !self.request.excluded.contains(name))
            .collect();
        let has_none = |block: &Block| !block.nodes.iter().any(|node| free.contains(node));
        sizes.len() > 1
            && sizes.last().is_some_and(|largest| segment > *largest)
            && self.shape.blocks.blocks.iter().any(has_none)
    }
}

/// Random numbers from a seed (SplitMix64): the same on every machine.
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Chance(seed)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let end = u64::try_from(end.max(1)).unwrap_or(u64::MAX);
        usize::try_from(mixed % end).unwrap_or(0)
    }

    pub(super) fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// Nodes to drain: none, some anywhere, or a row of them as when a rack is serviced.
    pub(super) fn drained(&mut self) -> NodeSet {
        let nodes = usize::from(NODES);
        let (first, count) = (self.between(1, nodes), self.between(1, 12));
        let numbers: Vec<usize> = match self.below(4) {
            0 => Vec::new(),
            1 => (first..=nodes.min(first + count)).collect(),
            _ => (0..count).map(|_| self.between(1, nodes)).collect(),
        };
        numbers.into_iter().map(|number| format!("node{number}")).collect()
    }

    /// What the nodes are: in rows, as machines of one purchase stand, or anywhere.
    pub(super) fn kinds(&mut self, nodes: Nodes) -> Vec<Kind> {
        let all = usize::from(NODES);
        let (weights, gpus): (&[u32], &[usize]) = match nodes {
            Nodes::Alike => return Vec::new(),
            Nodes::Weights => (&[1, 5, 10], &[0]),
            // Two sorts, one of which is as good as none for most jobs.
            Nodes::Gpus => (&[1], &[4, 4, 2]),
        };
        let mut kinds = Vec::new();
        while kinds.len() < all {
            let kind =
                Kind { weight: weights[self.below(weights.len())], gpus: gpus[self.below(gpus.len())] };
            let row = if self.one_in(3) { 1 } else { self.between(2, 9) };
            kinds.extend(std::iter::repeat_n(kind, row));
        }
        kinds.truncate(all);
        kinds
    }

    fn gres(&mut self) -> Gres {
        let count = self.between(1, DEVICES.len());
        format!("gpu:{count}").parse().expect("this is how a resource is written")
    }

    /// A job: mostly one that could start.
    pub(super) fn trial<'a>(&mut self, shapes: &'a [Shape], states: &NodeStates, nodes: Nodes) -> Trial<'a> {
        let shape = &shapes[self.below(shapes.len())];
        let free: Vec<&str> = states
            .iter()
            .filter(|node| node.availability == Availability::Free)
            .map(|node| node.name.as_str())
            .collect();
        let most = if self.one_in(6) { usize::from(NODES) + 2 } else { free.len().max(1) };
        let mut request = Request { nodes: self.between(1, most), ..Request::default() };
        if nodes == Nodes::Gpus && !self.one_in(4) {
            request.gres = vec![self.gres()];
        }
        let kind = match self.below(12) {
            0..=3 => "plain",
            10..=11 => self.in_segments(&mut request, most, Spread::Consolidated),
            4..=6 => self.in_segments(&mut request, most, Spread::Together),
            7 => self.in_segments(&mut request, most, Spread::Apart),
            8 => self.with_nodes(&mut request, &free),
            _ => self.without_nodes(&mut request),
        };
        Trial { shape, request, kind }
    }

    fn in_segments(&mut self, request: &mut Request, most: usize, spread: Spread) -> &'static str {
        let segment = self.between(1, 18);
        request.segment = Some(segment);
        request.nodes = segment * self.between(1, most / segment);
        if self.one_in(12) {
            request.nodes += 1;
        }
        request.spread = spread;
        match spread {
            Spread::Together => "--segment",
            Spread::Apart => "--spread-segments",
            Spread::Consolidated => "--consolidate-segments",
        }
    }

    fn with_nodes(&mut self, request: &mut Request, free: &[&str]) -> &'static str {
        let count = self.between(1, 2.min(request.nodes));
        let start = self.below(free.len());
        request.wanted = free.iter().skip(start).take(count).copied().collect();
        "--nodelist"
    }

    fn without_nodes(&mut self, request: &mut Request) -> &'static str {
        let (first, count) = (self.between(1, usize::from(NODES)), self.between(1, 8));
        let mut list = String::new();
        for number in (first..first + count).filter(|number| *number <= usize::from(NODES)) {
            write!(list, "node{number},").expect("a string takes it");
        }
        request.excluded = NodeSet::parse(&list).expect("names are a list");
        "--exclude"
    }
}
