//! The names of blocks. A block keeps its name while any of its nodes stays.

use std::collections::{BTreeMap, BTreeSet};

use imex_host::FabricId;

use crate::inventory::BlockKey;
use crate::model::BlockTopology;

/// How blocks without a name get one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Names {
    /// The whole key: `5b1e6f4e-8d3a-4c0b-9a52-0123456789ab.32766`. It never depends on other blocks.
    #[default]
    Key,
    /// A short form of it: `nvl-5b1e6f4e-32766`, with as many more digits as it needs to differ from names in use.
    Short,
}

/// Names the blocks with these keys and nodes. The result is in the order of the previous topology, new blocks behind in
/// the order of their keys.
///
/// A block of the previous topology hands its name to the block that has most of its nodes, one to one. A block that was
/// there under its own key keeps it even when all of its nodes are new.
pub(crate) fn name<'i>(
    blocks: &BTreeMap<&'i BlockKey, Vec<&'i str>>,
    previous: Option<&BlockTopology>,
    names: Names,
) -> Vec<(String, &'i BlockKey)> {
    let mut named: BTreeMap<&BlockKey, (usize, String)> = inherit(blocks, previous);
    let mut taken: BTreeSet<String> = named.values().map(|(_, name)| name.clone()).collect();
    for key in blocks.keys() {
        if !named.contains_key(*key) {
            let name = fresh(key, names, &taken);
            taken.insert(name.clone());
            named.insert(key, (usize::MAX, name));
        }
    }
    let mut order: Vec<(usize, String, &'i BlockKey)> =
        blocks.keys().filter_map(|key| named.remove(*key).map(|(place, name)| (place, name, *key))).collect();
    order.sort_by(|a, b| (a.0, a.2).cmp(&(b.0, b.2)));
    order.into_iter().map(|(_, name, key)| (name, key)).collect()
}

/// The blocks that have the nodes of previous ones, with the place and the name there.
fn inherit<'i>(
    blocks: &BTreeMap<&'i BlockKey, Vec<&'i str>>,
    previous: Option<&BlockTopology>,
) -> BTreeMap<&'i BlockKey, (usize, String)> {
    let Some(previous) = previous else { return BTreeMap::new() };
    let mut place_of: std::collections::HashMap<&str, usize> = std::collections::HashMap::new();
    for (place, block) in previous.blocks.iter().enumerate() {
        block.nodes.iter().for_each(|node| {
            place_of.entry(node).or_insert(place);
        });
    }
    let mut shared: BTreeMap<(usize, &'i BlockKey), usize> = BTreeMap::new();
    for (key, nodes) in blocks {
        for place in nodes.iter().filter_map(|node| place_of.get(node)) {
            *shared.entry((*place, key)).or_default() += 1;
        }
    }
    let mut pairs: Vec<((usize, &BlockKey), usize)> = shared.into_iter().collect();
    pairs.sort_by_key(|(_, nodes)| std::cmp::Reverse(*nodes));
    // Last choice: the same name, for a block that lost all of its nodes at once.
    let by_name = blocks.keys().filter_map(|key| {
        let name = key.to_string();
        previous.blocks.iter().position(|block| block.name == name).map(|place| ((place, *key), 0))
    });
    let (mut named, mut used) = (BTreeMap::new(), BTreeSet::new());
    for ((place, key), _) in pairs.into_iter().chain(by_name) {
        if !named.contains_key(key) && used.insert(place) {
            named.insert(key, (place, previous.blocks[place].name.clone()));
        }
    }
    named
}

fn fresh(key: &BlockKey, names: Names, taken: &BTreeSet<String>) -> String {
    let whole = clean(&key.to_string());
    let wanted = match (key, names) {
        (BlockKey::Fabric(id), Names::Short) => shortest(*id, taken),
        (BlockKey::Fabric(_), Names::Key) | (BlockKey::CapacityBlock(_) | BlockKey::Named(_), _) => whole,
    };
    if !taken.contains(&wanted) {
        return wanted;
    }
    // Two keys whose names differ only in what `clean` takes away, or a name that a person gave to another block.
    let numbered = (2_u32..).map(|number| format!("{wanted}-{number}"));
    numbered.into_iter().find(|name| !taken.contains(name)).unwrap_or(wanted)
}

fn shortest(id: FabricId, taken: &BTreeSet<String>) -> String {
    let digits: String = id.cluster.to_string().chars().filter(|letter| *letter != '-').collect();
    let with = |length: usize| format!("nvl-{}-{}", &digits[..length], id.clique);
    let free = (8..=digits.len()).map(with).find(|name| !taken.contains(name));
    free.unwrap_or_else(|| with(digits.len()))
}

/// A key as a name that can be used wherever Slurm takes names.
fn clean(key: &str) -> String {
    let usable = |letter: char| {
        if letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.') { letter } else { '_' }
    };
    key.chars().map(usable).collect()
}
