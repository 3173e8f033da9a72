//! Random topologies, and damage to their text.

use crate::model::{
    Block, BlockSizes, BlockTopology, ClusterDefault, NodeSet, Switch, Topologies, Topology, TopologyKind,
    TreeTopology,
};
use crate::render;
use crate::written::Form;

use super::Case;

/// Numbers from a seed (SplitMix64): the same on every machine and with every version of every library.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `end`, which is not 0.
    fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX);
        usize::try_from(self.next() % end).unwrap_or(0)
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// So many files of each form.
pub(super) fn cases(seed: u64, count: usize) -> Vec<Case> {
    let mut numbers = Numbers(seed);
    let forms = (0..count).flat_map(|index| [(index, Form::Yaml), (index, Form::Conf)]);
    forms.map(|(index, form)| case(index, form, &mut numbers)).collect()
}

fn case(index: usize, form: Form, numbers: &mut Numbers) -> Case {
    let topologies = topologies(form, numbers);
    let mut text = Vec::new();
    let written = match form {
        Form::Yaml => render::yaml(&topologies, &[], &mut text),
        Form::Conf => render::conf(&topologies, &[], &mut text),
    };
    written.expect("such topologies can be written to memory");
    let mut text = String::from_utf8(text).expect("text is written");
    let sizes = bad_sizes(form, numbers);
    if let Some((before, after)) = sizes.filter(|(before, _)| text.contains(*before)) {
        text = text.replacen(before, after, 1);
    }
    let damaged = numbers.one_in(2);
    if damaged {
        text = damage(&text, numbers);
    }
    let kind = if damaged { "damaged" } else { "random" };
    Case { name: format!("{kind}-{index:03}"), form, text }
}

fn topologies(form: Form, numbers: &mut Numbers) -> Topologies {
    let count = if form == Form::Yaml { 1 + numbers.below(3) } else { 1 };
    let mut list: Vec<Topology> = Vec::new();
    for index in 0..count {
        let kind = match numbers.below(6) {
            0 if form == Form::Yaml => TopologyKind::Tree(tree(numbers)),
            1 if form == Form::Yaml => TopologyKind::Flat,
            _ => TopologyKind::Block(blocks(numbers)),
        };
        let default = if numbers.one_in(2) { ClusterDefault::Yes } else { ClusterDefault::No };
        let name = if numbers.one_in(8) { "t0".to_owned() } else { format!("t{index}") };
        list.push(Topology { name, default, kind });
    }
    Topologies { list }
}

fn blocks(numbers: &mut Numbers) -> BlockTopology {
    let size = numbers.pick(&[1, 2, 4, 6, 9, 18, 20]);
    let count = 1 + numbers.below(6);
    let mut blocks = Vec::new();
    for index in 0..count {
        let first = 1 + index * size;
        let missing = if numbers.one_in(4) { numbers.below(size) } else { 0 };
        let overlap = usize::from(numbers.one_in(8));
        let nodes =
            (first.saturating_sub(overlap).max(1)..first + size - missing).map(|node| format!("node{node}"));
        let number = if numbers.one_in(12) { 0 } else { index };
        blocks.push(Block { name: format!("rack{number}"), nodes: NodeSet::from_iter(nodes) });
    }
    let steps = numbers.below(4);
    let sizes = if numbers.one_in(5) { BlockSizes::default() } else { BlockSizes::steps(size, 1 << steps) };
    BlockTopology { sizes, blocks }
}

fn tree(numbers: &mut Numbers) -> TreeTopology {
    let leaves = 1 + numbers.below(4);
    let leaf = |index: usize| Switch {
        name: format!("s{index}"),
        children: NodeSet::default(),
        nodes: (1..=9).map(|node| format!("node{}", index * 9 + node)).collect(),
    };
    let mut switches: Vec<Switch> = (0..leaves).map(leaf).collect();
    let children = leaves + usize::from(numbers.one_in(4));
    let children = (0..children).map(|index| format!("s{index}")).collect();
    switches.insert(0, Switch { name: "root".to_owned(), children, nodes: NodeSet::default() });
    TreeTopology { switches }
}

/// A replacement of good sizes by others, now and then.
fn bad_sizes(form: Form, numbers: &mut Numbers) -> Option<(&'static str, &'static str)> {
    let yaml = [
        ("sizes: [", "sizes: [0, "),
        ("sizes: [", "sizes: [3, "),
        ("sizes: [", "sizes: [x, "),
        ("sizes: [1", "sizes: [7"),
    ];
    let conf =
        [("Sizes=", "Sizes=0,"), ("Sizes=", "Sizes=3,"), ("Sizes=", "Sizes=x,"), ("Sizes=", "Sizes=72,")];
    if !numbers.one_in(3) {
        return None;
    }
    Some(match form {
        Form::Yaml => numbers.pick(&yaml),
        Form::Conf => numbers.pick(&conf),
    })
}

/// One thing done to a text that a person might do: a letter too few or too many, a line lost, twice, elsewhere, moved in.
fn damage(text: &str, numbers: &mut Numbers) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let line = numbers.below(lines.len());
    match numbers.below(7) {
        0 => drop(lines.remove(line)),
        1 => lines.insert(line, lines[line].clone()),
        2 => {
            let other = numbers.below(lines.len());
            lines.swap(line, other);
        }
        3 => lines[line].insert(0, ' '),
        4 => {
            let letter = numbers
                .pick(&['[', ']', ':', ',', '-', '"', '\'', '{', '}', '&', '*', '!', '#', '\t', '%', 'x']);
            let place = numbers.below(lines[line].len() + 1);
            lines[line].insert(place, letter);
        }
        5 if !lines[line].is_empty() => {
            let place = numbers.below(lines[line].len());
            lines[line].remove(place);
        }
        _ => lines.truncate(line),
    }
    lines.into_iter().map(|line| line + "\n").collect()
}
