//! Why a domain is not UP: who is missing, and what the others say about it.
//!
//! One node of eighteen that is away makes 35 cells of the table wrong. This module finds the fewest nodes that
//! explain all of them, so that one node is one line, and nodes with the same fault share one.

mod text;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use imex_core::{Cause, CauseClass, DomainState, DomainTable, Evidence, LinkState, NodeState};
use serde::{Serialize, Serializer};

use crate::exit::Exit;
use crate::output::millis;

/// What is wrong with a domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Diagnosis {
    /// The node whose view this is.
    pub(crate) viewer: Option<usize>,
    /// Every fault, the gravest kind first.
    pub(crate) problems: Vec<Problem>,
    /// Every link of which somebody says that it is not connected.
    pub(crate) missing: Vec<Missing>,
}

/// A link that is not connected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Missing {
    /// Whose row it is.
    pub(crate) from: usize,
    /// Towards whom.
    pub(crate) to: usize,
    /// The state's word.
    pub(crate) state: &'static str,
    /// Why.
    pub(crate) cause: String,
    /// The kind of the cause.
    pub(crate) kind: Kind,
    /// For how long.
    #[serde(rename = "for_ms", serialize_with = "as_millis")]
    pub(crate) since: Duration,
}

/// One fault, of one node or of several alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Problem {
    /// The gravest kind among the reasons.
    pub(crate) kind: Kind,
    /// Whose fault it seems to be.
    pub(crate) nodes: Vec<usize>,
    /// Their entries of the node map.
    pub(crate) addresses: Vec<String>,
    /// Their state's word.
    pub(crate) state: &'static str,
    /// What is said; empty if the state alone is the fault.
    pub(crate) reasons: Vec<Reason>,
}

/// What is said about the nodes of a problem, or by them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Reason {
    /// Who says it.
    pub(crate) said: Said,
    /// The other nodes.
    pub(crate) others: Vec<usize>,
    /// What: the text of a cause.
    pub(crate) cause: String,
    /// For how long, the longest.
    #[serde(rename = "for_ms", serialize_with = "as_millis")]
    pub(crate) since: Duration,
}

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Said {
    /// The others, of the problem's nodes.
    ByOthers,
    /// The problem's nodes, of the others.
    OfOthers,
}

/// The kinds of faults: first those that waiting does not heal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    /// The node maps differ.
    Map,
    /// The versions differ.
    Version,
    /// It belongs to another domain.
    OtherDomain,
    /// It does not prove who it is, or does not accept this node's proof.
    Unauthenticated,
    /// It breaks the protocol.
    Protocol,
    /// It cannot be reached, or no longer.
    Unreachable,
    /// It is connected but not READY.
    NotReady,
}

impl Kind {
    /// The exit code of a command that fails because of it.
    pub(crate) fn exit(self) -> Exit {
        match self {
            Kind::Map => Exit::Map,
            Kind::Version => Exit::Version,
            Kind::OtherDomain => Exit::OtherDomain,
            Kind::Unauthenticated => Exit::Unauthenticated,
            Kind::Protocol => Exit::Protocol,
            Kind::Unreachable => Exit::Unreachable,
            Kind::NotReady => Exit::NotReady,
        }
    }

    fn of(cause: Option<&Cause>) -> Self {
        match cause.map(Cause::class) {
            Some(CauseClass::Map) => Kind::Map,
            Some(CauseClass::Version) => Kind::Version,
            Some(CauseClass::OtherDomain) => Kind::OtherDomain,
            Some(CauseClass::Authentication) => Kind::Unauthenticated,
            Some(CauseClass::Protocol) => Kind::Protocol,
            Some(CauseClass::Unreachable) | None => Kind::Unreachable,
        }
    }
}

impl Diagnosis {
    /// Finds out what is wrong with a domain. Nothing is, if it is UP.
    pub(crate) fn of(table: &DomainTable) -> Self {
        let missing = missing(table);
        let mut problems = culprits(table, &missing);
        let known: BTreeSet<usize> = problems.iter().flat_map(|problem| problem.nodes.clone()).collect();
        let complained_of: BTreeSet<usize> = missing.iter().map(|link| link.to).collect();
        for (node, row) in table.rows.iter().enumerate() {
            let unexplained = match row.state {
                NodeState::Ready => false,
                NodeState::Unavailable => !known.contains(&node) && !complained_of.contains(&node),
                NodeState::Initializing
                | NodeState::StartingAuthServer
                | NodeState::WaitingForPeers
                | NodeState::WaitingForRecovery
                | NodeState::InitGpu
                | NodeState::ShuttingDown => !known.contains(&node),
            };
            if unexplained {
                problems.push(not_ready(table, node));
            }
        }
        Diagnosis { viewer: table.viewer.map(|node| node.index()), problems: merged(problems), missing }
    }

    /// That of a domain that is UP.
    pub(crate) fn nothing() -> Self {
        Diagnosis { viewer: None, problems: Vec::new(), missing: Vec::new() }
    }

    /// The exit code for a domain in this state: that of the gravest fault.
    pub(crate) fn exit(&self, state: DomainState) -> Exit {
        match (state, self.problems.first()) {
            (DomainState::Up, _) => Exit::Done,
            (DomainState::Down | DomainState::Degraded, Some(problem)) => problem.kind.exit(),
            (DomainState::Down | DomainState::Degraded, None) => Exit::Failed,
        }
    }
}

/// The links that are known not to be connected. A row whose node did not answer says nothing.
fn missing(table: &DomainTable) -> Vec<Missing> {
    let rows = table.rows.iter().enumerate();
    let cells =
        rows.flat_map(|(from, row)| row.links.iter().enumerate().map(move |(to, link)| (from, to, link)));
    let missing =
        cells.filter(|(_, _, link)| !matches!(link.state, LinkState::Connected | LinkState::Invalid));
    missing
        .map(|(from, to, link)| Missing {
            from,
            to,
            state: link.state.word(),
            cause: link.cause.as_ref().map_or_else(|| link.state.word().to_owned(), Cause::to_string),
            kind: Kind::of(link.cause.as_ref()),
            since: link.since,
        })
        .collect()
}

/// Again and again the node with the most links left to explain, until none is left.
fn culprits(table: &DomainTable, missing: &[Missing]) -> Vec<Problem> {
    let mut left: Vec<&Missing> = missing.iter().collect();
    let mut problems = Vec::new();
    while let Some(culprit) = worst(table, &left) {
        let (its, others): (Vec<&Missing>, Vec<&Missing>) =
            left.into_iter().partition(|link| link.from == culprit || link.to == culprit);
        left = others;
        problems.push(problem(table, culprit, &its));
    }
    problems
}

/// The node that explains most. Of two with as many: the one that does not answer, then the one complained about.
fn worst(table: &DomainTable, left: &[&Missing]) -> Option<usize> {
    let mut touched: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for link in left {
        touched.entry(link.to).or_default().1 += 1;
        for end in BTreeSet::from([link.from, link.to]) {
            touched.entry(end).or_default().0 += 1;
        }
    }
    let silent = |node: usize| table.rows.get(node).is_some_and(|row| row.evidence == Evidence::NoAnswer);
    let ranked =
        touched.into_iter().max_by_key(|(node, (all, to))| (*all, silent(*node), *to, Reverse(*node)));
    ranked.map(|(node, _)| node)
}

fn problem(table: &DomainTable, culprit: usize, its: &[&Missing]) -> Problem {
    let mut reasons: BTreeMap<(Said, &str), (BTreeSet<usize>, Duration)> = BTreeMap::new();
    for link in its {
        let (said, other) = match link.to == culprit {
            true => (Said::ByOthers, link.from),
            false => (Said::OfOthers, link.to),
        };
        let (others, since) = reasons.entry((said, &link.cause)).or_default();
        others.insert(other);
        *since = link.since.max(*since);
    }
    let reasons = reasons.into_iter().map(|((said, cause), (others, since))| Reason {
        said,
        others: others.into_iter().collect(),
        cause: cause.to_owned(),
        since,
    });
    let alone = not_ready(table, culprit);
    let kind = match alone.kind {
        // Nobody can reach it before it can prove itself.
        Kind::Unauthenticated => Kind::Unauthenticated,
        Kind::Map
        | Kind::Version
        | Kind::OtherDomain
        | Kind::Protocol
        | Kind::Unreachable
        | Kind::NotReady => its.iter().map(|link| link.kind).min().unwrap_or(Kind::Unreachable),
    };
    Problem { kind, reasons: reasons.collect(), ..alone }
}

/// A node whose state is the fault.
fn not_ready(table: &DomainTable, node: usize) -> Problem {
    let row = &table.rows[node];
    let kind = match (row.evidence, row.state) {
        (Evidence::NoAnswer, _) => Kind::Unreachable,
        // What it proves itself with, its munged or Kerberos, does not work.
        (_, NodeState::StartingAuthServer) => Kind::Unauthenticated,
        (Evidence::Own | Evidence::Reported | Evidence::Asked, _) => Kind::NotReady,
    };
    Problem {
        kind,
        nodes: vec![node],
        addresses: vec![row.address.to_string()],
        state: row.state.word(),
        reasons: Vec::new(),
    }
}

/// Puts nodes with the same fault together, and the gravest kind first.
fn merged(problems: Vec<Problem>) -> Vec<Problem> {
    let mut merged: Vec<Problem> = Vec::new();
    for problem in problems {
        match merged.iter_mut().find(|other| other.is_like(&problem)) {
            Some(other) => other.absorb(problem),
            None => merged.push(problem),
        }
    }
    merged.sort_by(|a, b| (a.kind, &a.nodes).cmp(&(b.kind, &b.nodes)));
    merged
}

impl Problem {
    fn is_like(&self, other: &Problem) -> bool {
        let said = |problem: &Problem| -> Vec<(Said, String)> {
            let reasons = problem.reasons.iter();
            reasons.map(|reason| (reason.said, reason.cause.clone())).collect()
        };
        (self.kind, self.state) == (other.kind, other.state) && said(self) == said(other)
    }

    fn absorb(&mut self, other: Problem) {
        self.nodes.extend(other.nodes);
        self.addresses.extend(other.addresses);
        for (mine, its) in self.reasons.iter_mut().zip(other.reasons) {
            mine.others.extend(its.others);
            mine.others.sort_unstable();
            mine.others.dedup();
            mine.since = mine.since.max(its.since);
        }
    }
}

fn as_millis<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(millis(*time))
}

#[cfg(test)]
mod tests;
