//! What one node keeps about one peer.

use std::sync::Arc;

use crate::acquaintance::Acquaintance;
use crate::input::StreamId;
use crate::link::{Link, Past};
use crate::message::Report;
use crate::{Cause, Hello, InstanceId, Moment, NodeId, NodeState};

/// One peer: the link to it, the streams from it, and what is known of it. One per entry of the node map, the node
/// itself included; lives as long as the machine.
#[derive(Debug)]
pub(crate) struct Peer {
    /// The cell of this node's row.
    pub(crate) link: Link,
    /// Since when the cell has its letter.
    pub(crate) since: Moment,
    /// Why it is not connected; `None` also before the first attempt has ended.
    pub(crate) cause: Option<Box<Cause>>,
    /// How often the link has come up.
    pub(crate) times: u32,
    /// The number of the newest attempt; 0 before the first.
    pub(crate) attempt: u32,
    /// How many attempts in a row have failed.
    pub(crate) failures: u32,
    /// What the dialled stream does.
    pub(crate) dial: Dial,
    /// The older dialled stream, which goes on until the newer one is up and the peer knows it.
    pub(crate) kept: Option<Kept>,
    /// When the grace time ends, if it runs.
    pub(crate) grace: Option<Moment>,
    /// The accepted stream whose far end has yet to show that it read this node's hello.
    pub(crate) arriving: Option<Arriving>,
    /// The accepted stream in use.
    pub(crate) accepted: Option<Accepted>,
    /// Which instance lives.
    pub(crate) acquaintance: Acquaintance,
    /// The newest report of the living instance; `None` while no stream connects the two.
    pub(crate) report: Option<Report>,
    /// How the peer is counted in the domain.
    pub(crate) counted: Counted,
}

/// The stream that this node dials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dial {
    /// Not under way; the next attempt is due then. `None` before the start and after the end.
    Waiting(Option<Moment>),
    /// To be dialled as soon as there is a place for it.
    Queued(Urgency),
    /// Under way.
    Asking(Attempt),
    /// Open; the peer was last heard then.
    Open(Moment),
}

/// A stream that stays in use while its peer is dialled anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Which attempt brought it.
    pub(crate) attempt: u32,
    /// When the peer was last heard by it.
    pub(crate) heard: Moment,
}

/// An attempt under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    /// When it began: what its answer says is at least as new.
    pub(crate) since: Moment,
    /// When it is given up.
    pub(crate) until: Moment,
    /// How far it has come.
    pub(crate) stage: Stage,
}

/// How far an attempt has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The peer's machine is being reached.
    Reaching,
    /// Its machine took the connection, and its daemon's answer is awaited.
    Reached,
    /// The two authenticate each other.
    Authenticating,
}

/// How much a queued dial matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// Nothing is known of the peer.
    Ordinary,
    /// The peer has just said hello.
    Urgent,
}

/// An accepted stream that has been answered with a hello.
#[derive(Debug)]
pub(crate) struct Arriving {
    pub(crate) serial: u32,
    pub(crate) asked: Moment,
    pub(crate) hello: Arc<Hello>,
}

/// An accepted stream in use.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) serial: u32,
    /// When its hello arrived.
    pub(crate) came: Moment,
    pub(crate) heard: Moment,
    pub(crate) instance: InstanceId,
}

/// How a peer is counted in the domain's summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) ready: bool,
    pub(crate) complete: bool,
}

impl Peer {
    pub(crate) fn new() -> Self {
        Peer {
            link: Link::Apart(Past::Never),
            since: Moment::ZERO,
            cause: None,
            times: 0,
            attempt: 0,
            failures: 0,
            dial: Dial::Waiting(None),
            kept: None,
            grace: None,
            arriving: None,
            accepted: None,
            acquaintance: Acquaintance::default(),
            report: None,
            counted: Counted::default(),
        }
    }

    /// Whether a dialled stream is connected.
    pub(crate) fn is_open(&self) -> bool {
        self.open().is_some()
    }

    /// The dialled stream in use: the newest that is connected.
    pub(crate) fn open(&self) -> Option<Kept> {
        match self.dial {
            Dial::Open(heard) => Some(Kept { attempt: self.attempt, heard }),
            Dial::Waiting(_) | Dial::Queued(_) | Dial::Asking(_) => self.kept,
        }
    }

    /// Whether any stream connects the two.
    pub(crate) fn is_live(&self) -> bool {
        self.is_open() || self.accepted.is_some()
    }

    /// Connected both ways with one and the same instance.
    pub(crate) fn is_met(&self) -> bool {
        let known = self.acquaintance.instance();
        self.is_open() && self.accepted.as_ref().is_some_and(|accepted| Some(accepted.instance) == known)
    }

    /// Whether the living instance has said that it was leaving.
    pub(crate) fn has_left(&self) -> bool {
        let instance = self.acquaintance.instance();
        instance.is_some_and(|instance| self.acquaintance.has_ended(instance))
    }

    /// Whether the cause that is kept says more than a new one: that a peer left, or why it refused, explains more
    /// than that it cannot be reached afterwards.
    pub(crate) fn outranks(&self, new: &Cause) -> bool {
        let explained = match self.cause.as_deref() {
            Some(Cause::Left) => self.has_left(),
            Some(Cause::VersionDiffers { .. }) => matches!(self.link, Link::VersionMismatch(_)),
            Some(Cause::MapDiffers { .. } | Cause::NotAtItsAddress { .. } | Cause::AddressRefused) => {
                matches!(self.link, Link::MapMismatch(_))
            }
            Some(
                Cause::NotTriedYet
                | Cause::NameUnknown
                | Cause::Unreachable(_)
                | Cause::OtherDomain
                | Cause::Unauthenticated(_)
                | Cause::ConnectionReset
                | Cause::Silent
                | Cause::Leaving
                | Cause::Violation(_),
            )
            | None => false,
        };
        let unreached = matches!(new, Cause::Unreachable(_) | Cause::NameUnknown | Cause::Leaving);
        explained && unreached
    }

    /// How the peer is to be counted.
    pub(crate) fn standing(&self) -> Counted {
        match self.report {
            Some(report) => {
                Counted { ready: report.state == NodeState::Ready, complete: report.missing == 0 }
            }
            None => Counted::default(),
        }
    }

    /// The stream to say something by: the dialled one if it is open, else the accepted one.
    pub(crate) fn stream(&self, peer: NodeId) -> Option<StreamId> {
        if let Some(Kept { attempt, .. }) = self.open() {
            return Some(StreamId::Dialled { peer, attempt });
        }
        self.accepted.as_ref().map(|accepted| StreamId::Accepted { peer, serial: accepted.serial })
    }
}
