//! Several sources become one inventory, and what they disagree about.

use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{BlockKey, Entry, Evidence, Inventory, NoBlock, Placement, SourceReport};

/// The inventory of several sources.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Merged {
    /// Where each node is. A node that sources disagree about is in no block.
    pub inventory: Inventory,
    /// What they disagree about, by node.
    pub disagreements: Vec<Disagreement>,
    /// What the sources warn of, in their order.
    pub warnings: Vec<String>,
}

/// Two sources, or one source twice, place a node differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Disagreement {
    /// The node.
    pub node: String,
    /// Where the first source has it.
    pub placed: BlockKey,
    /// The first source.
    pub by: Evidence,
    /// Where the other source has it.
    pub other: BlockKey,
    /// The other source.
    pub other_by: Evidence,
}

/// Makes one inventory of several reports, the first being the most trusted.
///
/// A later report agrees if its blocks can be matched one to one with the blocks so far such that every node that both
/// know is in matching blocks. Blocks are matched by most nodes in common; the nodes that fit no match are the
/// disagreement. A node without a block in one report and with a block in another takes the block: a node that is down
/// cannot ask its GPUs.
pub fn merge(reports: impl IntoIterator<Item = SourceReport>) -> Merged {
    let mut merged = Merged::default();
    for mut report in reports {
        merged.warnings.append(&mut report.warnings);
        merged.repeated(&report);
        merged.add(report);
    }
    let outside: BTreeSet<&str> = merged.disagreements.iter().map(|one| one.node.as_str()).collect();
    for node in outside {
        if let Some(entry) = merged.inventory.nodes.get_mut(node) {
            entry.placement = Placement::NoBlock(NoBlock::Disagreement);
        }
    }
    merged.disagreements.sort_by(|a, b| imex_host::natural::cmp(&a.node, &b.node));
    merged
}

impl Merged {
    fn repeated(&mut self, report: &SourceReport) {
        for (node, other, other_by) in &report.repeated {
            let Some(entry) = report.nodes.get(node) else { continue };
            let Placement::Block(placed) = &entry.placement else { continue };
            self.disagreements.push(Disagreement {
                node: node.clone(),
                placed: placed.clone(),
                by: entry.evidence[0].clone(),
                other: other.clone(),
                other_by: other_by.clone(),
            });
        }
    }

    fn add(&mut self, report: SourceReport) {
        if self.inventory.nodes.is_empty() {
            self.inventory = report.into();
            return;
        }
        let names = self.match_blocks(&report);
        for (node, mut entry) in report.nodes {
            let own = names_of(&entry.placement, &names);
            match self.inventory.nodes.entry(node) {
                Slot::Vacant(slot) => {
                    entry.placement = own;
                    slot.insert(entry);
                }
                Slot::Occupied(mut slot) => {
                    let (node, known) = (slot.key().clone(), slot.get_mut());
                    match (&known.placement, &own) {
                        (Placement::NoBlock(_), Placement::Block(_)) => {
                            *known = Entry { placement: own, evidence: entry.evidence };
                        }
                        (Placement::Block(_), Placement::NoBlock(_)) => {}
                        (Placement::Block(placed), Placement::Block(same)) if placed != same => {
                            let Placement::Block(other) = entry.placement else { continue };
                            self.disagreements.push(Disagreement {
                                node,
                                placed: placed.clone(),
                                by: known.evidence[0].clone(),
                                other,
                                other_by: entry.evidence.remove(0),
                            });
                        }
                        (Placement::Block(_), Placement::Block(_))
                        | (Placement::NoBlock(_), Placement::NoBlock(_)) => {
                            known.evidence.append(&mut entry.evidence);
                        }
                    }
                }
            }
        }
    }

    /// For each block of the report that shares nodes with a block so far: that block, one to one, most nodes first.
    fn match_blocks(&self, report: &SourceReport) -> BTreeMap<BlockKey, BlockKey> {
        let mut shared: BTreeMap<(&BlockKey, &BlockKey), usize> = BTreeMap::new();
        for (node, entry) in &report.nodes {
            let known = self.inventory.nodes.get(node).map(|entry| &entry.placement);
            if let (Placement::Block(new), Some(Placement::Block(old))) = (&entry.placement, known) {
                *shared.entry((new, old)).or_default() += 1;
            }
        }
        let mut pairs: Vec<((&BlockKey, &BlockKey), usize)> = shared.into_iter().collect();
        pairs.sort_by_key(|(_, nodes)| std::cmp::Reverse(*nodes));
        let (mut names, mut taken) = (BTreeMap::new(), BTreeSet::new());
        for ((new, old), _) in pairs {
            if !names.contains_key(new) && !taken.contains(old) {
                taken.insert(old);
                names.insert(new.clone(), old.clone());
            }
        }
        names
    }
}

/// A placement in the words of the sources before, if they have a word for the block.
fn names_of(placement: &Placement, names: &BTreeMap<BlockKey, BlockKey>) -> Placement {
    match placement {
        Placement::Block(key) => Placement::Block(names.get(key).unwrap_or(key).clone()),
        Placement::NoBlock(why) => Placement::NoBlock(why.clone()),
    }
}
