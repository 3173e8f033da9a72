//! Why a link is not connected: what an operator is told.

use std::fmt;
use std::sync::Arc;

use crate::MapDifference;

/// Why a link is not connected, as its own node knows it. Its text reads after "because".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// No attempt has ended yet.
    NotTriedYet,
    /// The host name in the map did not resolve.
    NameUnknown,
    /// No connection could be made.
    Unreachable(Unreachable),
    /// The peer answered, with another version.
    VersionDiffers {
        /// What this node runs.
        ours: Arc<str>,
        /// What the peer runs.
        theirs: Arc<str>,
    },
    /// The peer answered, with another node map.
    MapDiffers {
        /// Where the maps differ, the first few places.
        differences: Arc<[MapDifference]>,
    },
    /// The node map is the same, but the answer came from a node with another id, or not from its address.
    NotAtItsAddress {
        /// The id that the peer claims.
        claimed: u16,
    },
    /// The node map is the same, but the peer refused this node because it comes from another address than the map has.
    AddressRefused,
    /// The address belongs to a member of another domain.
    OtherDomain,
    /// The two did not authenticate each other.
    Unauthenticated(AuthFailure),
    /// The peer closed the connection, or its machine reset it.
    ConnectionReset,
    /// The peer stopped answering.
    Silent,
    /// The peer said that it was leaving.
    Left,
    /// The peer is leaving and accepts nobody.
    Leaving,
    /// The peer broke the rules of the protocol.
    Violation(Violation),
}

/// What a [`Cause`] comes down to, first what waiting does not heal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CauseClass {
    /// The node maps differ, or a node is not where they say.
    Map,
    /// The versions differ.
    Version,
    /// The address belongs to another domain.
    OtherDomain,
    /// One of the two did not prove who it is.
    Authentication,
    /// The peer breaks the protocol.
    Protocol,
    /// The peer is not there, or no longer: what happens whenever one starts, stops or loses its network.
    Unreachable,
}

impl Cause {
    /// What it comes down to.
    pub const fn class(&self) -> CauseClass {
        match self {
            Cause::MapDiffers { .. } | Cause::NotAtItsAddress { .. } | Cause::AddressRefused => {
                CauseClass::Map
            }
            Cause::VersionDiffers { .. } => CauseClass::Version,
            Cause::OtherDomain => CauseClass::OtherDomain,
            Cause::Unauthenticated(_) => CauseClass::Authentication,
            Cause::Violation(_) => CauseClass::Protocol,
            Cause::NotTriedYet
            | Cause::NameUnknown
            | Cause::Unreachable(_)
            | Cause::ConnectionReset
            | Cause::Silent
            | Cause::Left
            | Cause::Leaving => CauseClass::Unreachable,
        }
    }
}

/// Why no connection could be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unreachable {
    /// The machine answered that nobody listens there.
    PortClosed,
    /// Nothing came back in time.
    TimedOut,
    /// Its machine took the connection, and no answer came in time: its daemon hangs, or is stopped.
    Unanswered,
    /// There is no route to the address.
    NoRoute,
    /// The connection was made but broke before the peer introduced itself.
    Broken,
    /// This machine could not start the attempt: out of descriptors, ports or memory.
    Local,
}

/// Why two nodes did not authenticate each other, as the dialling one sees it.
///
/// The words are those of every kind of security: a credential is a certificate, a Kerberos ticket or a MUNGE credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AuthFailure {
    /// The peer speaks another kind of security, or none.
    NotOffered,
    /// The peer did not finish in time.
    TimedOut,
    /// The connection broke meanwhile.
    Broken,
    /// The peer did not accept what this node showed.
    Refused,
    /// The peer showed no credential.
    Missing,
    /// The peer's credential has expired.
    Expired,
    /// The peer's credential is not valid yet.
    NotYetValid,
    /// The peer's credential comes from an authority that this node does not trust: another root, realm or key.
    OtherAuthority,
    /// The peer's credential is somebody else's.
    OtherName,
    /// The peer's credential has been used before.
    Replayed,
    /// The clocks of the two differ too much.
    ClockSkew,
    /// The peer's credential cannot be read, or its signature is wrong.
    Invalid,
    /// This node has nothing to show: no key, or one that is refused.
    NoneOfOurs,
    /// Who makes this node's credentials, a KDC or munged, does not answer.
    Unanswered,
}

impl AuthFailure {
    /// All of them, in the order of the protocol's numbers.
    pub const ALL: [AuthFailure; 14] = [
        AuthFailure::NotOffered,
        AuthFailure::TimedOut,
        AuthFailure::Broken,
        AuthFailure::Refused,
        AuthFailure::Missing,
        AuthFailure::Expired,
        AuthFailure::NotYetValid,
        AuthFailure::OtherAuthority,
        AuthFailure::OtherName,
        AuthFailure::Replayed,
        AuthFailure::ClockSkew,
        AuthFailure::Invalid,
        AuthFailure::NoneOfOurs,
        AuthFailure::Unanswered,
    ];

    /// Whether nobody has said no: what was waited for did not come, and may come at any time.
    pub const fn is_silence(self) -> bool {
        match self {
            AuthFailure::TimedOut | AuthFailure::Broken | AuthFailure::Unanswered => true,
            AuthFailure::NotOffered
            | AuthFailure::Refused
            | AuthFailure::Missing
            | AuthFailure::Expired
            | AuthFailure::NotYetValid
            | AuthFailure::OtherAuthority
            | AuthFailure::OtherName
            | AuthFailure::Replayed
            | AuthFailure::ClockSkew
            | AuthFailure::Invalid
            | AuthFailure::NoneOfOurs => false,
        }
    }
}

/// How a peer broke the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Violation {
    /// Something other than a hello came first.
    NoHello,
    /// A hello came again.
    SecondHello,
    /// A message was not of a known form, or out of its range.
    Malformed,
    /// A message was larger than allowed.
    TooLarge,
    /// It does not take what it is sent, and the bounded queue towards it is full.
    NotReading,
    /// The answer came from an instance that is known to have ended.
    EndedInstance,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::NotTriedYet => f.write_str("no attempt has ended yet"),
            Cause::NameUnknown => f.write_str("its host name does not resolve"),
            Cause::Unreachable(why) => write!(f, "{why}"),
            Cause::VersionDiffers { ours, theirs } => write!(f, "it runs {theirs}, this node runs {ours}"),
            Cause::MapDiffers { differences } => write_differences(f, differences),
            Cause::NotAtItsAddress { claimed } => {
                write!(f, "the node at this address calls itself node {claimed}")
            }
            Cause::AddressRefused => {
                f.write_str("it does not know this node by the address from which it comes")
            }
            Cause::OtherDomain => f.write_str("its address belongs to another domain"),
            Cause::Unauthenticated(why) => write!(f, "{why}"),
            Cause::ConnectionReset => f.write_str("it closed the connection"),
            Cause::Silent => f.write_str("it stopped answering"),
            Cause::Left => f.write_str("it left the domain"),
            Cause::Leaving => f.write_str("it is shutting down"),
            Cause::Violation(how) => write!(f, "it broke the protocol: {how}"),
        }
    }
}

fn write_differences(f: &mut fmt::Formatter<'_>, differences: &[MapDifference]) -> fmt::Result {
    f.write_str("its node map differs")?;
    for (n, difference) in differences.iter().enumerate() {
        write!(f, "{} {difference}", if n == 0 { ":" } else { ";" })?;
    }
    Ok(())
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unreachable::PortClosed => "nobody listens on its port",
            Unreachable::TimedOut => "its machine does not answer",
            Unreachable::Unanswered => "its machine takes connections, but its daemon does not answer",
            Unreachable::NoRoute => "there is no route to it",
            Unreachable::Broken => "the connection broke before it introduced itself",
            Unreachable::Local => "this machine is out of descriptors, ports or memory",
        })
    }
}

impl fmt::Display for AuthFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AuthFailure::NotOffered => "it speaks another kind of security, or none",
            AuthFailure::TimedOut => "it did not authenticate in time",
            AuthFailure::Broken => "the connection broke while the two authenticated",
            AuthFailure::Refused => "it does not accept this node's credential",
            AuthFailure::Missing => "it shows no credential",
            AuthFailure::Expired => "its credential has expired",
            AuthFailure::NotYetValid => "its credential is not valid yet",
            AuthFailure::OtherAuthority => "its credential comes from an authority that is not trusted here",
            AuthFailure::OtherName => "its credential is not for its entry in the node map",
            AuthFailure::Replayed => "its credential has been used before",
            AuthFailure::ClockSkew => "its clock and this node's differ too much",
            AuthFailure::Invalid => "its credential cannot be verified",
            AuthFailure::NoneOfOurs => "this node has no credential to show",
            AuthFailure::Unanswered => "whoever makes this node's credentials does not answer",
        })
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Violation::NoHello => "it did not introduce itself first",
            Violation::SecondHello => "it introduced itself twice",
            Violation::Malformed => "it sent a malformed message",
            Violation::TooLarge => "it sent a message over the size limit",
            Violation::NotReading => "it does not read what it is sent",
            Violation::EndedInstance => "an instance answered that had ended",
        })
    }
}
