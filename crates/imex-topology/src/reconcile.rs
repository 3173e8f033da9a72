//! When a topology that the sources propose replaces the one in use: the reconcile loop, without its hands.
//!
//! Each poll's result goes in with the time, and a [`Decision`] comes out. Nothing is applied that would change nothing,
//! that was seen only once, or that a failing source might have caused.
//!
//! ```text
//!            same as in use                        same again, in time: Apply
//!          ┌───────────────┐   ┌──────────────────────────────────────────────┐
//!          ▼               │   │                                              ▼
//!  ┌──────────────┐ change │  ┌┴─────────┐                              ┌──────────┐
//!  │    Idle      ├────────┼─►│ Settling ├◄─── another change ──────┐   │ Applying │
//!  └──────▲───────┘        └──┴──────────┘                          │   └─┬─────┬──┘
//!         │                        same as in use: Idle            ┌┴─────▼───┐ │ Held
//!         └────────────────────────────────────────────────────────┤ Refused  │ │
//!         ▲                                                        └──────────┘ │
//!         └─────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! A failed poll changes no state: the last good file stays, and what was settling goes on when the source is back.

use std::collections::HashSet;
use std::time::Duration;

use imex_core::Moment;
use serde::Serialize;

use crate::diff::{Diff, diff};
use crate::model::{Topologies, Topology};

/// How changes are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The time between polls.
    pub interval: Duration,
    /// How long a change must stay the same before it is applied. Nodes come in groups, some seconds apart.
    pub debounce: Duration,
    /// How long changes that keep changing may hold back one another; then the newest is applied.
    pub patience: Duration,
    /// The share of placed nodes, in percent, that may be lost at once without being asked again.
    pub max_loss: u8,
    /// What becomes of a change that loses more.
    pub shrink: Shrink,
    /// How long a topology that could not be applied is left alone: first, doubling up to the last.
    pub retry: (Duration, Duration),
}

/// What becomes of a change that loses too many nodes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shrink {
    /// It is applied if a regular poll, an interval later, finds the same.
    Confirm,
    /// It is applied like any other.
    Allow,
}

/// What a poll found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Poll {
    /// All sources answered.
    Found {
        /// What the file in use holds; nothing if there is none or Slurm would refuse it.
        in_use: Topologies,
        /// What it should hold.
        proposed: Topologies,
    },
    /// All sources answered, and they and the file in use say what they said at the last poll, which changed nothing.
    Same,
    /// A source failed, sources disagree, or no block would be left.
    Failed {
        /// Why: a lower-case fragment.
        why: String,
    },
}

/// What is to be done after a poll.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// Nothing: the file holds what the sources say.
    Unchanged,
    /// Nothing: the sources cannot be trusted now, and the file in use stays.
    Keep {
        /// Why.
        why: String,
    },
    /// Nothing yet.
    Wait {
        /// For what.
        #[serde(flatten)]
        reason: Wait,
        /// What would change.
        diff: Diff,
    },
    /// The proposed topology is to be applied.
    Apply {
        /// What changes.
        diff: Diff,
    },
}

/// For what a change waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "waits_for", rename_all = "snake_case")]
pub enum Wait {
    /// To stay the same for a while.
    Settling,
    /// To be found again by a later poll, because it loses many nodes.
    Confirmation {
        /// How many nodes it loses.
        lost: usize,
        /// How many nodes are placed now.
        placed: usize,
    },
    /// For another try: it could not be applied.
    Retry {
        /// How often it was tried.
        tries: u32,
    },
}

/// What became of a topology that was to be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// The controller holds it.
    Held,
    /// It does not: the topology before is in use.
    Refused,
}

/// The reconcile loop between two polls.
#[derive(Clone, Debug)]
pub struct Reconciler {
    policy: Policy,
    state: State,
    next: Moment,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// Nothing is to be changed, as far as is known.
    Idle,
    /// A change was seen and must stay the same until `ready`.
    Settling { proposed: Topologies, first: Moment, ready: Moment },
    /// It is being applied, not for the first time if there were tries.
    Applying { proposed: Topologies, tries: u32 },
    /// It could not be applied and is left alone until `ready`.
    Refused { proposed: Topologies, tries: u32, ready: Moment },
}

impl Reconciler {
    /// A loop whose first poll is due at once.
    pub fn new(policy: Policy) -> Self {
        Reconciler { policy, state: State::Idle, next: Moment::ZERO }
    }

    /// When the next poll is due.
    pub fn next_poll(&self) -> Moment {
        self.next
    }

    /// Makes the next poll due now. What it finds is judged like any other.
    pub fn nudge(&mut self, now: Moment) {
        self.next = now;
    }

    /// Judges what a poll found.
    pub fn poll(&mut self, poll: Poll, now: Moment) -> Decision {
        self.next = now + self.policy.interval;
        let (in_use, proposed) = match poll {
            Poll::Failed { why } => return Decision::Keep { why },
            Poll::Same => {
                self.state = State::Idle;
                return Decision::Unchanged;
            }
            Poll::Found { in_use, proposed } => (in_use, proposed),
        };
        let diff = diff(&in_use, &proposed);
        if diff.is_empty() {
            self.state = State::Idle;
            return Decision::Unchanged;
        }
        let loss = Loss::between(&in_use, &proposed).filter(|loss| self.is_grave(*loss));
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Refused { proposed: same, tries, ready } if same == proposed => {
                if now >= ready {
                    return self.apply(proposed, tries, diff);
                }
                self.state = State::Refused { proposed, tries, ready };
                self.wait(Wait::Retry { tries }, ready, diff)
            }
            State::Settling { proposed: same, first, ready } if same == proposed => {
                if now >= ready {
                    return self.apply(proposed, 0, diff);
                }
                self.settle(proposed, (first, ready), loss, diff)
            }
            State::Settling { first, .. } if loss.is_none() && now.since(first) >= self.policy.patience => {
                self.apply(proposed, 0, diff)
            }
            State::Settling { first, .. } => {
                self.settle(proposed, (first, self.ready(loss, now)), loss, diff)
            }
            // A change that is being applied is reported before the next poll; if not, nothing is known of it.
            State::Idle | State::Applying { .. } | State::Refused { .. } => {
                let ready = self.ready(loss, now);
                if ready <= now {
                    return self.apply(proposed, 0, diff);
                }
                self.settle(proposed, (now, ready), loss, diff)
            }
        }
    }

    /// Takes note of what became of the last [`Decision::Apply`].
    pub fn applied(&mut self, outcome: Applied, now: Moment) {
        let State::Applying { proposed, tries } = std::mem::replace(&mut self.state, State::Idle) else {
            return;
        };
        match outcome {
            Applied::Held => {}
            Applied::Refused => {
                let (first, last) = self.policy.retry;
                let wait = first.saturating_mul(2_u32.saturating_pow(tries)).min(last);
                let ready = now + wait;
                self.next = self.next.min(ready);
                self.state = State::Refused { proposed, tries: tries.saturating_add(1), ready };
            }
        }
    }

    fn apply(&mut self, proposed: Topologies, tries: u32, diff: Diff) -> Decision {
        self.state = State::Applying { proposed, tries };
        Decision::Apply { diff }
    }

    fn settle(
        &mut self,
        proposed: Topologies,
        (first, ready): (Moment, Moment),
        loss: Option<Loss>,
        diff: Diff,
    ) -> Decision {
        self.state = State::Settling { proposed, first, ready };
        let reason = match loss {
            Some(Loss { lost, placed }) => Wait::Confirmation { lost, placed },
            None => Wait::Settling,
        };
        self.wait(reason, ready, diff)
    }

    fn wait(&mut self, reason: Wait, ready: Moment, diff: Diff) -> Decision {
        self.next = self.next.min(ready);
        Decision::Wait { reason, diff }
    }

    /// When a change that is first seen now may be applied.
    fn ready(&self, loss: Option<Loss>, now: Moment) -> Moment {
        match loss {
            Some(_) => now + self.policy.interval.max(self.policy.debounce),
            None => now + self.policy.debounce,
        }
    }

    fn is_grave(&self, Loss { lost, placed }: Loss) -> bool {
        self.policy.shrink == Shrink::Confirm
            && lost.saturating_mul(100) > placed.saturating_mul(usize::from(self.policy.max_loss))
    }
}

/// Nodes that are in a block before a change and in none after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Loss {
    lost: usize,
    placed: usize,
}

impl Loss {
    fn between(before: &Topologies, after: &Topologies) -> Option<Loss> {
        let (before, after) = (placed(before), placed(after));
        let lost = before.difference(&after).count();
        (lost > 0).then_some(Loss { lost, placed: before.len() })
    }
}

fn placed(topologies: &Topologies) -> HashSet<&str> {
    let blocks = topologies.list.iter().filter_map(Topology::blocks).flat_map(|blocks| &blocks.blocks);
    blocks.flat_map(|block| block.nodes.iter()).collect()
}

#[cfg(test)]
mod tests;
