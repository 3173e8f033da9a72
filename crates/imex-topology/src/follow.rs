//! When a node takes the new map of its domain: the rule by which all members come to it together, without a server.
//!
//! Where domains are not made for each job, the map of a node follows the topology. Members restart together: one that
//! restarted alone would leave its domain and wait for hours in the next. Each member tells, to whoever asks, which map it
//! wants and how far it is ([`Announcement`]); each decides for itself from what the other members of *its* new map tell:
//!
//! ```text
//!            another map is wanted            no lease here, all members       all members have
//!                                             want this map and are free       claimed or moved
//!   ┌─────────┐        ┌─────────┐                 ┌─────────┐                   ┌────────┐
//!   │ Settled ├───────►│ Waiting ├────────────────►│ Claimed ├──────────────────►│ Moving │
//!   └────▲────┘        └─▲──▲────┘  Step::Claim    └──┬──────┘    Step::Move     └─┬────┬─┘
//!        │               │  └────────────────────────┘ too long: Step::Release     │    │
//!        │               └─────────────────────────────────────────── failed ──────┘    │
//!        └──────────────────────────────────────────────────────────────── restarted ───┘
//! ```
//!
//! A claim keeps jobs away, so it is held only while it may lead somewhere: no longer than [`Timing::claim`], or
//! [`Timing::commit`] if another member has moved already. Members find one another within one round of asking, so claims
//! overlap. What is told decides when a member moves, never whether a job is disturbed: that is its own lease.

use std::fmt;
use std::time::Duration;

use imex_core::{MapDigest, Moment, NodeMap};
use serde::{Deserialize, Serialize};

/// How long claims are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The time that the other members have to claim as well.
    pub claim: Duration,
    /// The same once a member has moved: it has no domain until the others come.
    pub commit: Duration,
    /// The time after a claim that led to nothing.
    pub pause: Duration,
}

/// How far a member is on the way to the map that it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// A job holds its lease.
    Busy,
    /// No job holds its lease.
    Free,
    /// No job can take its lease.
    Claimed,
    /// It has restarted with the map, or is doing so, or had it all along.
    Moved,
}

/// What a member tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Announcement {
    /// The map that it wants.
    pub map: MapDigest,
    /// How far it is.
    pub stage: Stage,
}

/// If a job uses this node's domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lease {
    /// One does.
    Held,
    /// None does.
    Free,
}

/// What a member is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing: it has the map that it should have.
    Rest,
    /// Nothing yet.
    Wait(Waiting),
    /// Claim the node, then [`Follower::claimed`] or [`Follower::refused`].
    Claim,
    /// Give the claim up.
    Release(Waiting),
    /// Write the map and restart the service, then [`Follower::moved`].
    Move(NodeMap),
}

/// For what a member waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "waits_for", content = "members", rename_all = "snake_case")]
pub enum Waiting {
    /// A job here.
    OwnLease,
    /// Members that do not answer.
    Silent(Vec<String>),
    /// Members that want another map: they have not seen the change, or this one has not.
    OtherMap(Vec<String>),
    /// Members where a job runs.
    Busy(Vec<String>),
    /// Members that have not claimed yet.
    Claims(Vec<String>),
    /// The pause after a claim that led to nothing.
    Pause,
}

/// What one other member of the wanted map tells; `None` if it does not answer.
pub type Told = (String, Option<Announcement>);

/// One member.
#[derive(Clone, Debug)]
pub struct Follower {
    timing: Timing,
    /// The map that the service runs with; `None` if that is not known.
    running: Option<NodeMap>,
    wanted: Option<NodeMap>,
    phase: Phase,
    lease: Lease,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Settled,
    Waiting { not_before: Moment },
    Claimed { since: Moment },
    Moving,
}

impl Follower {
    /// A member whose service runs with this map, if that is known. It rests until [`Follower::want`].
    pub fn new(running: Option<NodeMap>, timing: Timing) -> Self {
        Follower { timing, running, wanted: None, phase: Phase::Settled, lease: Lease::Held }
    }

    /// Takes note of the map that the topology asks for. The map that the service runs with changes nothing.
    pub fn want(&mut self, map: NodeMap) {
        if self.phase == Phase::Moving || self.wanted.as_ref() == Some(&map) {
            return;
        }
        let settled = self.running.as_ref() == Some(&map);
        self.wanted = Some(map);
        self.phase = if settled { Phase::Settled } else { Phase::Waiting { not_before: Moment::ZERO } };
    }

    /// Takes note of the map that was found where the service reads it; `None` where there is none. Somebody else may have
    /// changed it since it was written: the service has then another one from its next start on, if not already.
    pub fn found(&mut self, map: Option<NodeMap>) {
        if self.phase == Phase::Settled && self.wanted.is_some() && map != self.wanted {
            self.running = map;
            self.phase = Phase::Waiting { not_before: Moment::ZERO };
        }
    }

    /// The map that it wants, if it is known.
    pub fn wanted(&self) -> Option<&NodeMap> {
        self.wanted.as_ref()
    }

    /// If it has all that it wants.
    pub fn is_settled(&self) -> bool {
        self.phase == Phase::Settled
    }

    /// If the claim is needed. One that is not is to be given up.
    pub fn needs_claim(&self) -> bool {
        matches!(self.phase, Phase::Claimed { .. } | Phase::Moving)
    }

    /// What it tells who asks; nothing before it knows.
    pub fn announcement(&self) -> Option<Announcement> {
        let map = self.wanted.as_ref()?.digest();
        let stage = match (self.phase, self.lease) {
            (Phase::Settled | Phase::Moving, _) => Stage::Moved,
            (Phase::Claimed { .. }, _) => Stage::Claimed,
            (Phase::Waiting { .. }, Lease::Held) => Stage::Busy,
            (Phase::Waiting { .. }, Lease::Free) => Stage::Free,
        };
        Some(Announcement { map, stage })
    }

    /// Decides, knowing its own lease and what the other members of the wanted map tell.
    pub fn step(&mut self, lease: Lease, told: &[Told], now: Moment) -> Step {
        self.lease = lease;
        let Some(wanted) = self.wanted.clone() else { return Step::Rest };
        let others = Others::of(wanted.digest(), told);
        match self.phase {
            // While it restarts nothing else is decided.
            Phase::Settled | Phase::Moving => Step::Rest,
            Phase::Waiting { not_before } => {
                if lease == Lease::Held {
                    return Step::Wait(Waiting::OwnLease);
                }
                match others.keep_from_claiming() {
                    Some(waiting) => Step::Wait(waiting),
                    None if now < not_before => Step::Wait(Waiting::Pause),
                    None => Step::Claim,
                }
            }
            Phase::Claimed { since } => {
                let held = now.since(since);
                let limit = if others.moved { self.timing.commit } else { self.timing.claim };
                match others.keep_from_moving() {
                    None => {
                        self.phase = Phase::Moving;
                        Step::Move(wanted)
                    }
                    Some(waiting) if held >= limit || matches!(waiting, Waiting::Busy(_)) => {
                        self.phase = Phase::Waiting { not_before: now + self.timing.pause };
                        Step::Release(waiting)
                    }
                    Some(waiting) => Step::Wait(waiting),
                }
            }
        }
    }

    /// The claim is had.
    pub fn claimed(&mut self, now: Moment) {
        if let Phase::Waiting { .. } = self.phase {
            self.phase = Phase::Claimed { since: now };
        }
    }

    /// The claim is not to be had: a job was faster.
    pub fn refused(&mut self, now: Moment) {
        if let Phase::Waiting { .. } = self.phase {
            self.phase = Phase::Waiting { not_before: now + self.timing.pause };
        }
    }

    /// The service was restarted with the map, or could not be.
    pub fn moved(&mut self, outcome: Moved, now: Moment) {
        if self.phase != Phase::Moving {
            return;
        }
        match outcome {
            Moved::Restarted => {
                self.running.clone_from(&self.wanted);
                self.phase = Phase::Settled;
            }
            Moved::Failed => {
                self.running = None;
                self.phase = Phase::Waiting { not_before: now + self.timing.pause };
            }
        }
    }
}

/// If a restart came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moved {
    /// It did.
    Restarted,
    /// It did not.
    Failed,
}

/// The other members, by what they tell.
#[derive(Debug, Default)]
struct Others {
    silent: Vec<String>,
    other_map: Vec<String>,
    busy: Vec<String>,
    free: Vec<String>,
    moved: bool,
}

impl Others {
    fn of(map: MapDigest, told: &[Told]) -> Self {
        let mut others = Others::default();
        for (member, told) in told {
            let list = match told {
                None => &mut others.silent,
                Some(told) if told.map != map => &mut others.other_map,
                Some(Announcement { stage: Stage::Busy, .. }) => &mut others.busy,
                Some(Announcement { stage: Stage::Free, .. }) => &mut others.free,
                Some(Announcement { stage: Stage::Claimed, .. }) => continue,
                Some(Announcement { stage: Stage::Moved, .. }) => {
                    others.moved = true;
                    continue;
                }
            };
            list.push(member.clone());
        }
        others
    }

    fn keep_from_claiming(&self) -> Option<Waiting> {
        let some = |members: &Vec<String>| (!members.is_empty()).then(|| members.clone());
        some(&self.silent)
            .map(Waiting::Silent)
            .or_else(|| some(&self.other_map).map(Waiting::OtherMap))
            .or_else(|| some(&self.busy).map(Waiting::Busy))
    }

    fn keep_from_moving(&self) -> Option<Waiting> {
        let unclaimed = || (!self.free.is_empty()).then(|| Waiting::Claims(self.free.clone()));
        self.keep_from_claiming().or_else(unclaimed)
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Waiting::OwnLease => f.write_str("a job holds this node's lease"),
            Waiting::Silent(members) => write!(f, "no answer from {}", members.join(", ")),
            Waiting::OtherMap(members) => write!(f, "another map is wanted by {}", members.join(", ")),
            Waiting::Busy(members) => write!(f, "a job holds the lease of {}", members.join(", ")),
            Waiting::Claims(members) => write!(f, "not yet claimed by {}", members.join(", ")),
            Waiting::Pause => f.write_str("the last claim led to nothing, the next is to come"),
        }
    }
}

#[cfg(test)]
mod tests;
