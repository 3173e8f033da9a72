//! What must hold at every moment of every run.
//!
//! The simulator knows the truth (which instance runs where, who admitted whom), so it can compare what a daemon
//! believes with what is. Most invariants are checked after each event for the daemon that it was handed to and the
//! peers that it was about; those of a quiet cluster when the caller says that it is quiet.

use std::fmt;

use imex_core::Moment;
use thiserror::Error;

use crate::Address;

/// Something that must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// A link shows C only if the instance at its far end has admitted this one, by the stream that is open or, while the
    /// link is dialled anew, by the one before. Else a program would use memory through a peer that knows nothing of it.
    ConnectedMeansAdmitted,
    /// Whom a node links to or admits exists, lives at the address of its map entry, and has the same map, version and
    /// domain. Else two jobs that share addresses would see each other's memory.
    OnlyMembers,
    /// A node never holds links with two instances of one peer at the same time: what it dialled and what it accepted
    /// are one daemon. Else imports of an ended run would count as live.
    OneInstance,
    /// The instance that a node knows of a peer is never followed by an earlier one. Else a late answer of an ended
    /// daemon would clean up its living successor.
    NoReturn,
    /// Each ended instance that a node knew is cleaned up exactly once before its successor is known; what was cleaned
    /// up is cleaned up again only if it came back in between.
    OneCleanUp,
    /// A clean-up has a true reason: the instance is over, or said that it was leaving, or was lost for the grace time.
    /// Else work in progress would be killed for nothing.
    CleanUpIsDue,
    /// An instance that stays lost is cleaned up when the grace time is over, and never if that is endless.
    GraceIsKept,
    /// A notice of leaving from an instance that is not the known one, and the hello of another domain's member, change
    /// neither state nor link nor domain and clean up nothing (the public fault: a leaving daemon of an old domain broke
    /// a new one through a reused address).
    StrangersChangeNothing,
    /// A node waits for its quorum exactly as long as somebody of it is not linked both ways.
    QuorumIsExact,
    /// Nothing is said on a stream before the hellos, and the dialler's first words are a report: that is what tells a
    /// living dialler from one whose hello came late.
    HelloThenReport,
    /// A node dials nobody twice at once, and answers each hello that arrives once.
    StreamsAreKept,
    /// One input asks for no more than a few actions per peer, and time is passed to a node no more than a few times
    /// per peer and second: no storm and no busy loop.
    WorkIsBounded,
    /// In a quiet cluster each node's view of the domain is what the true rows add up to.
    QuietViewIsTrue,
    /// A healed cluster with equal maps is UP everywhere within [`crate::World::healing_bound`].
    Heals,
}

/// An invariant that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{invariant} does not hold at {at:?} on host {address}: {detail}")]
pub struct Violation {
    /// Which.
    pub invariant: Invariant,
    /// When.
    pub at: Moment,
    /// Where.
    pub address: Address,
    /// What was seen.
    pub detail: String,
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What the simulator remembers of one daemon and one peer. There is one for each link of the cluster, so it is small.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    /// When the link was lost; if it never was up, when the peer's own link was.
    pub(crate) lost: Moment,
    /// The run of the newest instance that the daemon has known.
    pub(crate) run: u32,
    /// Whether that instance is cleaned up and has not come back since.
    pub(crate) cleaned: bool,
    /// Whether the link is up.
    pub(crate) linked: bool,
    /// Whether the link to this instance has ever been up.
    pub(crate) ever_linked: bool,
    /// Whether the peer's own link is up.
    pub(crate) admitted: bool,
}

impl Pair {
    /// The run of a peer that has never been known.
    pub(crate) const UNKNOWN: u32 = u32::MAX;
}

impl Default for Pair {
    fn default() -> Self {
        Pair {
            lost: Moment::ZERO,
            run: Pair::UNKNOWN,
            cleaned: false,
            linked: false,
            ever_linked: false,
            admitted: false,
        }
    }
}
