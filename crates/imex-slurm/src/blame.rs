//! Who is at fault when a domain is not UP: a pure function of what one node sees.
//!
//! Each node judges alone, and the nodes must not all come to "not I": then nothing would be drained and the job would be
//! requeued to the same nodes for ever. Nor may one bad node make all come to "I". The rule, in this order, for each member:
//!
//! 0. It has left: somebody stopped its service. While a domain forms that is the epilog of a node whose prolog has judged
//!    already, so that Slurm has given the job up. It is **left**: not at fault, and it has a vote only for those that it
//!    took leave of, which it had reached.
//! 1. Nobody listens there although its machine answers, and nothing is heard from it: **at fault**, its service does not
//!    run. Its vote does not count below. (Not if that is so of more than half of the others: then it is more likely this
//!    node that reaches nobody. Of two nodes the other one is believed.)
//! 2. Fewer than half of the others, those of rule 1 not counted, reach it: **at fault**. A row that is not known reaches
//!    nobody, so a node whose own network is down finds itself at fault.
//! 3. As in 2, but it and those that reach it are exactly half of all: **tied**. Two nodes that do not see each other are
//!    tied, and so are the halves of a split rack.
//! 4. It is connected, and says itself that it is not READY for a reason of its own: **at fault**.
//! 5. It is connected from here and says nothing: **at fault**.
//! 6. Links are missing among those that are left: the end with more missing links is **at fault**, of equals both are
//!    **tied**.
//!
//! Rules 4 and 5 hold only while they hold for fewer than half of the members: what all are slow at is nobody's fault.
//!
//! What is left is good. What a node then does is policy: `innocent` and `tie` in `openimex.toml`.

pub mod text;

use imex_core::{DomainState, NodeState};
use serde::Serialize;

use crate::view::{Proof, View, Voice};

/// What is to be thought of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "standing", rename_all = "snake_case")]
pub enum Standing {
    /// Nothing speaks against it.
    Good,
    /// It is at fault.
    AtFault {
        /// Why.
        fault: Fault,
    },
    /// Its service was stopped.
    Left,
    /// It, or the other side.
    Tied {
        /// Why.
        tie: Tie,
    },
}

/// Why a member is at fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Fault {
    /// Its machine answers, its service does not run.
    NotRunning,
    /// Too few reach it.
    Unreached {
        /// How many do.
        by: usize,
        /// Of how many.
        of: usize,
    },
    /// It is connected but not READY.
    NotReady {
        /// Its state's word.
        state: &'static str,
    },
    /// It is connected but does not answer.
    Silent,
    /// More links are missing at it than at their other ends.
    Links {
        /// How many.
        missing: usize,
    },
}

/// Why nobody can tell which side is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Tie {
    /// It is with exactly half of the nodes, itself included; the others do not see it.
    Half {
        /// How many they are.
        side: usize,
    },
    /// A link is missing, and both ends miss as many.
    Link {
        /// The other end.
        with: usize,
    },
}

/// What a node's view comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// What is to be thought of each member, in the order of the map.
    pub standings: Vec<Standing>,
    /// What is to be done about it here.
    pub verdict: Verdict,
}

/// What this node is to think of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The domain is UP.
    Up,
    /// This node is at fault.
    AtFault,
    /// This node is one of two sides.
    Tied,
    /// Another node is at fault, or others are tied.
    Innocent,
    /// Nothing speaks against anybody, but others have left: Slurm has given the job up.
    Abandoned,
    /// The domain is not UP and nothing shows why.
    Unexplained,
}

/// Judges what this node sees.
pub fn judge(view: &View) -> Judgement {
    if view.state == DomainState::Up {
        let standings = vec![Standing::Good; view.members.len()];
        return Judgement { standings, verdict: Verdict::Up };
    }
    let left = view.left();
    let ranks = Ranks { gone: gone(view, &left), left };
    let mut standings: Vec<Standing> =
        (0..view.members.len()).map(|member| alone(view, &ranks, member)).collect();
    pardon(&mut standings);
    judge_links(view, &mut standings);
    let verdict = match &standings[view.own] {
        Standing::AtFault { .. } => Verdict::AtFault,
        Standing::Tied { .. } => Verdict::Tied,
        Standing::Good | Standing::Left
            if standings.iter().all(|other| matches!(other, Standing::Good | Standing::Left))
                && ranks.left.contains(&true) =>
        {
            Verdict::Abandoned
        }
        Standing::Good if standings.iter().all(|other| *other == Standing::Good) => Verdict::Unexplained,
        Standing::Good | Standing::Left => Verdict::Innocent,
    };
    Judgement { standings, verdict }
}

/// Whose word does not count as others' do.
struct Ranks {
    /// Whose service does not run.
    gone: Vec<bool>,
    /// Whose service was stopped.
    left: Vec<bool>,
}

/// Rule 1: whose service does not run.
fn gone(view: &View, left: &[bool]) -> Vec<bool> {
    let mut gone = vec![false; view.members.len()];
    for (_, to, cell) in view.missing() {
        gone[to] |=
            cell.proof == Proof::NobodyListens && view.members[to].voice == Voice::Silent && !left[to];
    }
    let others = left.iter().filter(|left| !**left).count() - 1;
    let count = gone.iter().filter(|gone| **gone).count();
    if others > 1 && 2 * count > others { vec![false; gone.len()] } else { gone }
}

/// Rules 0 to 5, which look at one member.
fn alone(view: &View, ranks: &Ranks, member: usize) -> Standing {
    if ranks.left[member] {
        return Standing::Left;
    }
    if ranks.gone[member] {
        return Standing::AtFault { fault: Fault::NotRunning };
    }
    let row = &view.members[member];
    let took_leave = |other: usize| row.voice == Voice::Heard && row.links[other].proof == Proof::Left;
    let counts = |other: &usize| {
        *other != member && !ranks.gone[*other] && (!ranks.left[*other] || took_leave(*other))
    };
    let others = || (0..view.members.len()).filter(counts);
    let reaches = |other: &usize| {
        let row = &view.members[*other];
        ranks.left[*other] || (row.voice == Voice::Heard && row.links[member].is_connected())
    };
    let (of, by) = (others().count(), others().filter(reaches).count());
    if 2 * by < of {
        return match 2 * (by + 1) == of + 1 {
            true => Standing::Tied { tie: Tie::Half { side: by + 1 } },
            false => Standing::AtFault { fault: Fault::Unreached { by, of } },
        };
    }
    own_word(view, member)
}

/// What half of the members or more are slow at is nobody's fault.
fn pardon(standings: &mut [Standing]) {
    let slow = |standing: &Standing| {
        matches!(standing, Standing::AtFault { fault: Fault::NotReady { .. } | Fault::Silent })
    };
    let count = standings.iter().filter(|standing| slow(standing)).count();
    if standings.len() > 1 && 2 * count >= standings.len() {
        for standing in standings.iter_mut().filter(|standing| slow(standing)) {
            *standing = Standing::Good;
        }
    }
}

/// Rules 4 and 5: what a member that enough others reach says itself.
fn own_word(view: &View, member: usize) -> Standing {
    let row = &view.members[member];
    let complete = row.links.iter().all(|cell| cell.is_connected());
    let waits_for_others = !complete;
    match (row.voice, row.state) {
        (Voice::Silent, _) if view.members[view.own].links[member].is_connected() => {
            Standing::AtFault { fault: Fault::Silent }
        }
        (Voice::Silent, _) | (Voice::Heard, NodeState::Ready | NodeState::Unavailable) => Standing::Good,
        (Voice::Heard, NodeState::WaitingForPeers | NodeState::WaitingForRecovery) if waits_for_others => {
            Standing::Good
        }
        (
            Voice::Heard,
            NodeState::Initializing
            | NodeState::StartingAuthServer
            | NodeState::WaitingForPeers
            | NodeState::WaitingForRecovery
            | NodeState::InitGpu
            | NodeState::ShuttingDown,
        ) => Standing::AtFault { fault: Fault::NotReady { state: row.state.word() } },
    }
}

/// Rule 6: links that are missing among members that nothing else speaks against.
fn judge_links(view: &View, standings: &mut [Standing]) {
    let good = |member: usize| standings[member] == Standing::Good;
    let mut pairs: Vec<(usize, usize)> = view
        .missing()
        .map(|(from, to, _)| (from.min(to), from.max(to)))
        .filter(|(low, high)| good(*low) && good(*high))
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    let missing =
        |member: usize| pairs.iter().filter(|(low, high)| *low == member || *high == member).count();
    let counts: Vec<usize> = (0..standings.len()).map(missing).collect();
    for &(low, high) in &pairs {
        match counts[low].cmp(&counts[high]) {
            std::cmp::Ordering::Greater => standings[low] = links(counts[low]),
            std::cmp::Ordering::Less => standings[high] = links(counts[high]),
            std::cmp::Ordering::Equal => {
                tie(&mut standings[low], high);
                tie(&mut standings[high], low);
            }
        }
    }
}

fn links(missing: usize) -> Standing {
    Standing::AtFault { fault: Fault::Links { missing } }
}

/// One end of a link whose ends are equal; what is worse stays.
fn tie(standing: &mut Standing, with: usize) {
    if *standing == Standing::Good {
        *standing = Standing::Tied { tie: Tie::Link { with } };
    }
}

#[cfg(test)]
mod tests;
