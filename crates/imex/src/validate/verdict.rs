//! Compares what the members of a job tell.
//!
//! The job's nodes are divided by NVLink partition where all GPUs tell theirs, else by the block that the prologs noted, else
//! not at all; each part must be one domain with exactly these members.

use std::collections::{BTreeMap, BTreeSet};

use imex_core::{LinkState, NodeState};
use imex_host::compress;
use serde::Serialize;

use super::collect::Job;
use super::member::{ChannelSeen, Report};
use crate::exit::Exit;
use crate::table::Member;

/// The reports by node.
pub(super) type Reports = BTreeMap<String, Report>;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Wrong {
    /// What kind, as the exit code of a command that fails because of it.
    pub(super) exit_code: Exit,
    /// On which nodes, as Slurm writes them.
    pub(super) nodes: String,
    /// What: a fragment.
    pub(super) what: String,
}

/// One domain, as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Part {
    /// By what its nodes belong together: a partition, a block, or nothing for the whole job.
    pub(super) by: Option<String>,
    /// The nodes, in the job's order.
    pub(super) nodes: Vec<String>,
    /// What is wrong with it; nothing if it is verified.
    pub(super) wrong: Vec<Wrong>,
}

/// The kinds of what can be wrong, the gravest first: what others follow from.
const GRAVITY: [Exit; 8] = [
    Exit::NoReport,
    Exit::NoDaemon,
    Exit::JobNodes,
    Exit::Map,
    Exit::Version,
    Exit::Unreachable,
    Exit::NotReady,
    Exit::Channel,
];

/// Judges the whole job. The reports of `broken` came, but not whole.
pub(super) fn judge(job: &Job, reports: &Reports, broken: &BTreeSet<String>) -> Vec<Part> {
    let mut parts = divide(job, reports);
    for part in &mut parts {
        part.wrong = wrong(part, reports, broken);
    }
    let ids: Vec<BTreeSet<&str>> = parts.iter().map(|part| ids(part, reports)).collect();
    for (index, part) in parts.iter_mut().enumerate() {
        let mut others = ids.iter().enumerate().filter(|(other, _)| *other != index).flat_map(|(_, ids)| ids);
        if let Some(shared) = others.find(|id| ids[index].contains(*id)) {
            let what = format!("has the same domain id as another part of the job: {shared}");
            part.wrong.push(Wrong { exit_code: Exit::JobNodes, nodes: compress(&part.nodes), what });
        }
    }
    parts
}

/// The exit code for all that is wrong: that of the gravest.
pub(super) fn exit(parts: &[Part]) -> Exit {
    let found = |exit: &Exit| parts.iter().flat_map(|part| &part.wrong).any(|wrong| wrong.exit_code == *exit);
    GRAVITY.into_iter().find(found).unwrap_or(Exit::Done)
}

fn divide(job: &Job, reports: &Reports) -> Vec<Part> {
    let of = |key: fn(&Report) -> Option<&String>| -> BTreeMap<&str, &String> {
        job.nodes.iter().filter_map(|node| Some((node.as_str(), key(reports.get(node)?)?))).collect()
    };
    let (fabrics, blocks) = (of(|report| report.fabric.as_ref()), of(|report| report.block.as_ref()));
    // Where one node's GPUs do not tell, nobody can say whose partition it shares.
    let keys = if !fabrics.is_empty() && fabrics.len() == reports.len() { fabrics } else { blocks };
    let mut parts: Vec<Part> = Vec::new();
    for node in &job.nodes {
        let by = keys.get(node.as_str()).map(|key| (*key).clone());
        // One that has no domain knows no block either, and shares its partition with nobody.
        let alone = by.is_none() && reports.get(node).is_some_and(|report| report.spared.is_some());
        match parts.iter_mut().find(|part| part.by == by && !alone) {
            Some(part) => part.nodes.push(node.clone()),
            None => parts.push(Part { by, nodes: vec![node.clone()], wrong: Vec::new() }),
        }
    }
    parts
}

fn wrong(part: &Part, reports: &Reports, broken: &BTreeSet<String>) -> Vec<Wrong> {
    let mut wrong = Wrongs::default();
    let names = names(part, reports);
    for node in &part.nodes {
        let Some(report) = reports.get(node) else {
            let what = match broken.contains(node) {
                true => "its report did not come whole, which says nothing of the domain: ask again",
                false => "gave no report",
            };
            wrong.note(Exit::NoReport, node, what);
            continue;
        };
        // Of several nodes in one partition each needs the domain, whatever one of them thinks.
        if part.nodes.len() > 1 || report.spared.is_none() {
            own_row(node, report, &mut wrong);
            wrong.members(node, report, part, &names);
        }
        match &report.channel {
            ChannelSeen::Shut { number, why } => {
                let which = number.map_or_else(String::new, |number| format!("channel {number}: "));
                wrong.note(Exit::Channel, node, &format!("{which}{why}"));
            }
            ChannelSeen::NotApplicable if has_channels(part, reports) => {
                wrong.note(Exit::Channel, node, "has no channels, and others have");
            }
            ChannelSeen::Open { .. } | ChannelSeen::NotApplicable => {}
        }
        if report.domain_id.is_none() && !ids(part, reports).is_empty() {
            wrong.note(Exit::JobNodes, node, "has no domain id, and others have one");
        }
    }
    for (exit, what, key) in EQUAL {
        wrong.unequal(exit, what, &values(part, reports, key));
    }
    wrong.sorted()
}

/// If any of its nodes has channels, or should. A part of which none has is not checked for them.
pub(super) fn has_channels(part: &Part, reports: &Reports) -> bool {
    let mut reports = part.nodes.iter().filter_map(|node| reports.get(node));
    reports.any(|report| report.channel != ChannelSeen::NotApplicable)
}

/// A member's own row: it is READY and reaches every one.
fn own_row(node: &str, report: &Report, wrong: &mut Wrongs) {
    let Some(table) = &report.table else {
        let why = report.silent.as_deref().unwrap_or("the daemon does not answer");
        return match report.denied {
            true => wrong.note(Exit::NoDaemon, node, &format!("this user may not ask the daemon: {why}")),
            false => wrong.note(Exit::NoDaemon, node, why),
        };
    };
    let Some(row) = table.own_row() else {
        return wrong.note(Exit::JobNodes, node, "its own node map does not have it");
    };
    if row.state != NodeState::Ready.word() {
        wrong.note(Exit::NotReady, node, &format!("is {}", row.state));
    }
    for (link, Member { address, .. }) in row.links.iter().zip(&table.members) {
        let exit = match link.as_str() {
            word if word == LinkState::Connected.word() => continue,
            word if word == LinkState::MapMismatch.word() => Exit::Map,
            word if word == LinkState::VersionMismatch.word() => Exit::Version,
            _ => Exit::Unreachable,
        };
        wrong.note(exit, node, &format!("{link} towards {address}"));
    }
}

/// Whose each entry of the maps is: by what the prologs noted, and by each member's own place, which counts more.
fn names<'r>(part: &Part, reports: &'r Reports) -> BTreeMap<&'r str, &'r str> {
    let reports: Vec<&Report> = part.nodes.iter().filter_map(|node| reports.get(node)).collect();
    let noted = reports.iter().flat_map(|report| &report.members);
    let mut names: BTreeMap<&str, &str> =
        noted.map(|(name, address)| (address.as_str(), name.as_str())).collect();
    for report in reports {
        let row = report.table.as_ref().and_then(|table| table.own_row());
        names.extend(row.map(|row| (row.address.as_str(), report.node.as_str())));
    }
    names
}

/// What must be equal on all members that tell it.
type Key = fn(&Report) -> Option<String>;
const EQUAL: [(Exit, &str, Key); 6] = [
    (Exit::Map, "node map", |report| {
        let members = report.table.as_ref()?.members.iter();
        Some(members.map(|member| member.address.as_str()).collect::<Vec<_>>().join(" "))
    }),
    (Exit::Map, "meaning of the map's names", |report| {
        let told = report.names.iter().map(|(name, addresses)| format!("{name} is {addresses}"));
        Some(told.collect::<Vec<_>>().join(", ")).filter(|told| !told.is_empty())
    }),
    (Exit::Version, "version", |report| Some(report.table.as_ref()?.own_row()?.version.clone())),
    (Exit::Version, "version of the driver", |report| report.driver.clone()),
    (Exit::JobNodes, "domain id", |report| report.domain_id.clone()),
    (Exit::Channel, "channel", |report| match report.channel {
        ChannelSeen::Open { number } => Some(number.to_string()),
        ChannelSeen::Shut { .. } | ChannelSeen::NotApplicable => None,
    }),
];

fn values<'p>(part: &'p Part, reports: &Reports, key: Key) -> BTreeMap<String, Vec<&'p str>> {
    let mut values: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for node in &part.nodes {
        if let Some(value) = reports.get(node).and_then(key) {
            values.entry(value).or_default().push(node);
        }
    }
    values
}

fn ids<'r>(part: &Part, reports: &'r Reports) -> BTreeSet<&'r str> {
    let reports = part.nodes.iter().filter_map(|node| reports.get(node));
    reports.filter_map(|report| report.domain_id.as_deref()).collect()
}

/// What is wrong, with all nodes of which the same is.
#[derive(Default)]
struct Wrongs(BTreeMap<(usize, String), Vec<String>>);

impl Wrongs {
    fn note(&mut self, exit: Exit, node: &str, what: &str) {
        let gravity = GRAVITY.iter().position(|one| *one == exit).unwrap_or(GRAVITY.len() - 1);
        self.0.entry((gravity, what.to_owned())).or_default().push(node.to_owned());
    }

    /// The members of a node's domain are the nodes of its part, no more and no fewer.
    fn members(&mut self, node: &str, report: &Report, part: &Part, names: &BTreeMap<&str, &str>) {
        let Some(table) = &report.table else { return };
        let expected: BTreeSet<&str> = part.nodes.iter().map(String::as_str).collect();
        let (mut present, mut alien, mut nameless) = (BTreeSet::new(), Vec::new(), Vec::new());
        for Member { address, .. } in &table.members {
            match names.get(address.as_str()).copied() {
                Some(name) if expected.contains(name) => {
                    present.insert(name);
                }
                Some(_) => alien.push(address.as_str()),
                None => nameless.push(address.as_str()),
            }
        }
        let mut lost: Vec<&str> = expected.difference(&present).copied().collect();
        // Entries that nobody claims may be those of nodes of which no entry is known, because they do not tell.
        let known: BTreeSet<&str> = names.values().copied().collect();
        let untold = lost.iter().filter(|node| !known.contains(*node)).count();
        if nameless.len() <= untold {
            lost.retain(|node| known.contains(node) || nameless.len() < untold);
        } else {
            alien.append(&mut nameless);
        }
        if !alien.is_empty() {
            let what = format!("its domain has members that do not belong to it: {}", alien.join(", "));
            self.note(Exit::JobNodes, node, &what);
        }
        if !lost.is_empty() {
            self.note(Exit::JobNodes, node, &format!("its domain lacks {}", compress(&lost)));
        }
    }

    /// Notes the nodes with another value than most; where no value has most, all of them.
    fn unequal(&mut self, exit: Exit, what: &str, values: &BTreeMap<String, Vec<&str>>) {
        if values.len() < 2 {
            return;
        }
        let most = values.values().map(Vec::len).max().unwrap_or(0);
        let tied = values.values().filter(|nodes| nodes.len() == most).count() > 1;
        for (value, nodes) in values.iter().filter(|(_, nodes)| tied || nodes.len() < most) {
            for node in nodes {
                self.note(exit, node, &format!("has another {what} than others: {value}"));
            }
        }
    }

    fn sorted(self) -> Vec<Wrong> {
        let all = self.0.into_iter();
        let wrong = all.map(|((gravity, what), nodes)| Wrong {
            exit_code: GRAVITY[gravity],
            nodes: compress(&nodes),
            what,
        });
        wrong.collect()
    }
}

#[cfg(test)]
mod tests;
