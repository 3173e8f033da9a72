//! A domain as one node sees it: who is there, and who reaches whom.
//!
//! It comes from imexd's table, or from what `nvidia-imex-ctl -N -j` prints.

use imex_core::cause::Unreachable;
use imex_core::{Cause, DomainState, DomainTable, Evidence, LinkState, NodeState};
use serde::Serialize;

pub mod control;

/// A domain as this node sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Which member this node is, from 0.
    pub own: usize,
    /// The members, in the order of the node map.
    pub members: Vec<Member>,
    /// What they add up to.
    pub state: DomainState,
}

/// One member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its entry of the node map.
    pub address: String,
    /// Its state; UNAVAILABLE if it does not answer.
    pub state: NodeState,
    /// Its version; empty if it does not answer.
    pub version: String,
    /// Whether it says anything itself.
    pub voice: Voice,
    /// Its links to all members, in order. They say nothing if it is [`Voice::Silent`].
    pub links: Vec<Cell>,
}

/// Whether a member's row is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Voice {
    /// It is its own word.
    Heard,
    /// Nothing came from it.
    Silent,
}

/// A link, as its own end knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its state.
    pub state: LinkState,
    /// Why it is not connected, if that is told.
    pub cause: Option<String>,
    /// What the cause proves about the far end.
    pub proof: Proof,
}

/// What the cause of a missing link proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The far machine answers, and nobody listens there: the network works and the service does not run.
    NobodyListens,
    /// The service at the far end has said that it leaves: somebody stopped it.
    Left,
    /// Nothing.
    Nothing,
}

impl Cell {
    /// Whether the link is ready for use.
    pub fn is_connected(&self) -> bool {
        self.state == LinkState::Connected
    }
}

impl View {
    /// What a daemon's table says. `None` if it is not the view of one of its nodes.
    pub fn of(table: &DomainTable) -> Option<Self> {
        let own = table.viewer?.index();
        let members = table.rows.iter().map(|row| Member {
            address: row.address.to_string(),
            state: row.state,
            version: row.version.to_string(),
            voice: match row.evidence {
                Evidence::Own | Evidence::Reported | Evidence::Asked => Voice::Heard,
                Evidence::NoAnswer => Voice::Silent,
            },
            links: row.links.iter().map(|link| cell(link.state, link.cause.as_ref())).collect(),
        });
        Some(View { own, members: members.collect(), state: table.state })
    }

    /// Whether its members are exactly these entries of a node map, in this order.
    pub fn has_members<'m>(&self, entries: impl ExactSizeIterator<Item = &'m str>) -> bool {
        entries.len() == self.members.len()
            && entries.zip(&self.members).all(|(entry, member)| entry == member.address)
    }

    /// How many members are READY.
    pub fn ready(&self) -> usize {
        self.members.iter().filter(|member| member.state == NodeState::Ready).count()
    }

    /// Which members have left: they say so themselves, or have said so to somebody.
    pub fn left(&self) -> Vec<bool> {
        let leaves = |member: &Member| member.state == NodeState::ShuttingDown;
        let mut left: Vec<bool> = self.members.iter().map(leaves).collect();
        for (_, to, cell) in self.missing() {
            left[to] |= cell.proof == Proof::Left;
        }
        // A node knows of its own service in other ways.
        left[self.own] = false;
        left
    }

    /// Whether a member has left since `before`, or a link is gone that was connected then. Of a service that is stopped the
    /// closed connection may be seen before its leave.
    pub fn lost_since(&self, before: &View) -> bool {
        let was = |from: usize, to: usize| {
            let row = before.members.get(from).filter(|row| row.voice == Voice::Heard);
            row.and_then(|row| row.links.get(to)).is_some_and(Cell::is_connected)
        };
        let silent =
            |(then, now): (&Member, &Member)| then.voice == Voice::Heard && now.voice == Voice::Silent;
        self.left().contains(&true)
            || self.missing().any(|(from, to, _)| was(from, to))
            || before.members.iter().zip(&self.members).any(silent)
    }

    /// The links, by their two ends, that their own end says are not connected.
    pub fn missing(&self) -> impl Iterator<Item = (usize, usize, &Cell)> {
        let heard = self.members.iter().enumerate().filter(|(_, member)| member.voice == Voice::Heard);
        heard.flat_map(|(from, member)| {
            let links = member.links.iter().enumerate();
            links.filter(|(_, cell)| !cell.is_connected()).map(move |(to, cell)| (from, to, cell))
        })
    }
}

fn cell(state: LinkState, cause: Option<&Cause>) -> Cell {
    let proof = match cause {
        Some(Cause::Unreachable(Unreachable::PortClosed)) => Proof::NobodyListens,
        Some(Cause::Left | Cause::Leaving) => Proof::Left,
        Some(_) | None => Proof::Nothing,
    };
    Cell { state, cause: cause.map(Cause::to_string), proof }
}
