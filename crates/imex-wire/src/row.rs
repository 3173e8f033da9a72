//! States, cells and their causes: what both services say about links.

use std::sync::Arc;
use std::time::Duration;

use imex_core::cause::{AuthFailure, Unreachable, Violation};
use imex_core::timing::SHOWN_DIFFERENCES;
use imex_core::{Cause, LinkReport, LinkState, MapDifference, NodeMap, NodeState};

use crate::field::{self, FieldError};
use crate::proto::{self, cause::Kind};

/// The longest text of a version in a cause: two numbers and a driver version, with room for the words between.
const MAX_CAUSE_TEXT: usize = 128;

/// The most bytes that one cell takes on the wire: four differences of two entries each, and what is around them.
pub(crate) const MAX_CELL_BYTES: usize = SHOWN_DIFFERENCES * 2 * (NodeMap::MAX_ENTRY_BYTES + 8) + 96;

/// Who says something about a node or a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaker {
    /// The node whose state or row it is. It is never UNAVAILABLE and has no invalid cell.
    Itself,
    /// Somebody else, who may not know.
    Viewer,
}

pub(crate) fn node_state_out(state: NodeState) -> i32 {
    let state = match state {
        NodeState::Initializing => proto::NodeState::Initializing,
        NodeState::StartingAuthServer => proto::NodeState::StartingAuthServer,
        NodeState::WaitingForPeers => proto::NodeState::WaitingForPeers,
        NodeState::WaitingForRecovery => proto::NodeState::WaitingForRecovery,
        NodeState::InitGpu => proto::NodeState::InitGpu,
        NodeState::Ready => proto::NodeState::Ready,
        NodeState::ShuttingDown => proto::NodeState::ShuttingDown,
        NodeState::Unavailable => proto::NodeState::Unavailable,
    };
    state.into()
}

pub(crate) fn node_state_in(found: i32, speaker: Speaker) -> Result<NodeState, FieldError> {
    let field = "node state";
    Ok(match field::known(field, found)? {
        proto::NodeState::Initializing => NodeState::Initializing,
        proto::NodeState::StartingAuthServer => NodeState::StartingAuthServer,
        proto::NodeState::WaitingForPeers => NodeState::WaitingForPeers,
        proto::NodeState::WaitingForRecovery => NodeState::WaitingForRecovery,
        proto::NodeState::InitGpu => NodeState::InitGpu,
        proto::NodeState::Ready => NodeState::Ready,
        proto::NodeState::ShuttingDown => NodeState::ShuttingDown,
        proto::NodeState::Unavailable if speaker == Speaker::Viewer => NodeState::Unavailable,
        proto::NodeState::Unspecified | proto::NodeState::Unavailable => {
            return Err(FieldError::UnknownNumber { field, found });
        }
    })
}

fn link_state_out(state: LinkState) -> i32 {
    let state = match state {
        LinkState::Invalid => proto::LinkState::Invalid,
        LinkState::NeverConnected => proto::LinkState::NeverConnected,
        LinkState::Recovering => proto::LinkState::Recovering,
        LinkState::Disconnected => proto::LinkState::Disconnected,
        LinkState::Authenticating => proto::LinkState::Authenticating,
        LinkState::VersionMismatch => proto::LinkState::VersionMismatch,
        LinkState::MapMismatch => proto::LinkState::MapMismatch,
        LinkState::Connected => proto::LinkState::Connected,
    };
    state.into()
}

fn link_state_in(found: i32, speaker: Speaker) -> Result<LinkState, FieldError> {
    let field = "link state";
    Ok(match field::known(field, found)? {
        proto::LinkState::NeverConnected => LinkState::NeverConnected,
        proto::LinkState::Recovering => LinkState::Recovering,
        proto::LinkState::Disconnected => LinkState::Disconnected,
        proto::LinkState::Authenticating => LinkState::Authenticating,
        proto::LinkState::VersionMismatch => LinkState::VersionMismatch,
        proto::LinkState::MapMismatch => LinkState::MapMismatch,
        proto::LinkState::Connected => LinkState::Connected,
        proto::LinkState::Invalid if speaker == Speaker::Viewer => LinkState::Invalid,
        proto::LinkState::Unspecified | proto::LinkState::Invalid => {
            return Err(FieldError::UnknownNumber { field, found });
        }
    })
}

pub(crate) fn row_out(links: &[LinkReport]) -> Vec<proto::Link> {
    links.iter().map(link_out).collect()
}

pub(crate) fn row_in(links: Vec<proto::Link>, speaker: Speaker) -> Result<Vec<LinkReport>, FieldError> {
    field::count("row", &links, NodeMap::MAX_ENTRIES)?;
    links.into_iter().map(|link| link_in(link, speaker)).collect()
}

fn link_out(link: &LinkReport) -> proto::Link {
    proto::Link {
        state: link_state_out(link.state),
        cause: link.cause.as_ref().map(cause_out),
        since_ms: u64::try_from(link.since.as_millis()).unwrap_or(u64::MAX),
    }
}

fn link_in(link: proto::Link, speaker: Speaker) -> Result<LinkReport, FieldError> {
    let state = link_state_in(link.state, speaker)?;
    if state == LinkState::Connected && link.cause.is_some() {
        return Err(FieldError::Unexpected { field: "cause" });
    }
    Ok(LinkReport {
        state,
        cause: link.cause.map(cause_in).transpose()?,
        since: Duration::from_millis(link.since_ms),
    })
}

fn cause_out(cause: &Cause) -> proto::Cause {
    let mut out = proto::Cause::default();
    out.set_kind(kind_of(cause));
    match cause {
        Cause::VersionDiffers { ours, theirs } => {
            out.ours = ours.to_string();
            out.theirs = theirs.to_string();
        }
        Cause::MapDiffers { differences } => {
            let shown = differences.iter().take(SHOWN_DIFFERENCES);
            out.differences = shown.map(difference_out).collect();
        }
        Cause::NotAtItsAddress { claimed } => out.claimed = (*claimed).into(),
        Cause::NotTriedYet
        | Cause::NameUnknown
        | Cause::Unreachable(_)
        | Cause::AddressRefused
        | Cause::OtherDomain
        | Cause::Unauthenticated(_)
        | Cause::ConnectionReset
        | Cause::Silent
        | Cause::Left
        | Cause::Leaving
        | Cause::Violation(_) => {}
    }
    out
}

fn kind_of(cause: &Cause) -> Kind {
    match cause {
        Cause::NotTriedYet => Kind::NotTriedYet,
        Cause::NameUnknown => Kind::NameUnknown,
        Cause::Unreachable(Unreachable::PortClosed) => Kind::PortClosed,
        Cause::Unreachable(Unreachable::TimedOut) => Kind::TimedOut,
        Cause::Unreachable(Unreachable::Unanswered) => Kind::Unanswered,
        Cause::Unreachable(Unreachable::NoRoute) => Kind::NoRoute,
        Cause::Unreachable(Unreachable::Broken) => Kind::Broken,
        Cause::Unreachable(Unreachable::Local) => Kind::Local,
        Cause::VersionDiffers { .. } => Kind::VersionDiffers,
        Cause::MapDiffers { .. } => Kind::MapDiffers,
        Cause::NotAtItsAddress { .. } => Kind::NotAtItsAddress,
        Cause::AddressRefused => Kind::AddressRefused,
        Cause::OtherDomain => Kind::OtherDomain,
        Cause::Unauthenticated(why) => auth_kind_of(*why),
        Cause::ConnectionReset => Kind::ConnectionReset,
        Cause::Silent => Kind::Silent,
        Cause::Left => Kind::Left,
        Cause::Leaving => Kind::Leaving,
        Cause::Violation(Violation::NoHello) => Kind::NoHello,
        Cause::Violation(Violation::SecondHello) => Kind::SecondHello,
        Cause::Violation(Violation::Malformed) => Kind::Malformed,
        Cause::Violation(Violation::TooLarge) => Kind::TooLarge,
        Cause::Violation(Violation::NotReading) => Kind::NotReading,
        Cause::Violation(Violation::EndedInstance) => Kind::EndedInstance,
    }
}

fn auth_kind_of(why: AuthFailure) -> Kind {
    match why {
        AuthFailure::NotOffered => Kind::AuthNotOffered,
        AuthFailure::TimedOut => Kind::AuthTimedOut,
        AuthFailure::Broken => Kind::AuthBroken,
        AuthFailure::Refused => Kind::AuthRefused,
        AuthFailure::Missing => Kind::AuthMissing,
        AuthFailure::Expired => Kind::AuthExpired,
        AuthFailure::NotYetValid => Kind::AuthNotYetValid,
        AuthFailure::OtherAuthority => Kind::AuthOtherAuthority,
        AuthFailure::OtherName => Kind::AuthOtherName,
        AuthFailure::Replayed => Kind::AuthReplayed,
        AuthFailure::ClockSkew => Kind::AuthClockSkew,
        AuthFailure::Invalid => Kind::AuthInvalid,
        AuthFailure::NoneOfOurs => Kind::AuthNoneOfOurs,
        AuthFailure::Unanswered => Kind::AuthUnanswered,
    }
}

fn cause_in(cause: proto::Cause) -> Result<Cause, FieldError> {
    let field = "cause";
    Ok(match field::known(field, cause.kind)? {
        Kind::Unspecified => {
            let found = cause.kind;
            return Err(FieldError::UnknownNumber { field, found });
        }
        Kind::NotTriedYet => Cause::NotTriedYet,
        Kind::NameUnknown => Cause::NameUnknown,
        Kind::PortClosed => Cause::Unreachable(Unreachable::PortClosed),
        Kind::TimedOut => Cause::Unreachable(Unreachable::TimedOut),
        Kind::Unanswered => Cause::Unreachable(Unreachable::Unanswered),
        Kind::NoRoute => Cause::Unreachable(Unreachable::NoRoute),
        Kind::Broken => Cause::Unreachable(Unreachable::Broken),
        Kind::Local => Cause::Unreachable(Unreachable::Local),
        Kind::VersionDiffers => Cause::VersionDiffers {
            ours: field::text("ours", &cause.ours, MAX_CAUSE_TEXT)?,
            theirs: field::text("theirs", &cause.theirs, MAX_CAUSE_TEXT)?,
        },
        Kind::MapDiffers => Cause::MapDiffers { differences: differences_in(&cause.differences)? },
        Kind::NotAtItsAddress => {
            Cause::NotAtItsAddress { claimed: field::node("claimed", cause.claimed)?.number() }
        }
        Kind::AddressRefused => Cause::AddressRefused,
        Kind::OtherDomain => Cause::OtherDomain,
        Kind::AuthNotOffered => Cause::Unauthenticated(AuthFailure::NotOffered),
        Kind::AuthTimedOut => Cause::Unauthenticated(AuthFailure::TimedOut),
        Kind::AuthBroken => Cause::Unauthenticated(AuthFailure::Broken),
        Kind::AuthRefused => Cause::Unauthenticated(AuthFailure::Refused),
        Kind::AuthMissing => Cause::Unauthenticated(AuthFailure::Missing),
        Kind::AuthExpired => Cause::Unauthenticated(AuthFailure::Expired),
        Kind::AuthNotYetValid => Cause::Unauthenticated(AuthFailure::NotYetValid),
        Kind::AuthOtherAuthority => Cause::Unauthenticated(AuthFailure::OtherAuthority),
        Kind::AuthOtherName => Cause::Unauthenticated(AuthFailure::OtherName),
        Kind::AuthReplayed => Cause::Unauthenticated(AuthFailure::Replayed),
        Kind::AuthClockSkew => Cause::Unauthenticated(AuthFailure::ClockSkew),
        Kind::AuthInvalid => Cause::Unauthenticated(AuthFailure::Invalid),
        Kind::AuthNoneOfOurs => Cause::Unauthenticated(AuthFailure::NoneOfOurs),
        Kind::AuthUnanswered => Cause::Unauthenticated(AuthFailure::Unanswered),
        Kind::ConnectionReset => Cause::ConnectionReset,
        Kind::Silent => Cause::Silent,
        Kind::Left => Cause::Left,
        Kind::Leaving => Cause::Leaving,
        Kind::NoHello => Cause::Violation(Violation::NoHello),
        Kind::SecondHello => Cause::Violation(Violation::SecondHello),
        Kind::Malformed => Cause::Violation(Violation::Malformed),
        Kind::TooLarge => Cause::Violation(Violation::TooLarge),
        Kind::NotReading => Cause::Violation(Violation::NotReading),
        Kind::EndedInstance => Cause::Violation(Violation::EndedInstance),
    })
}

fn difference_out(difference: &MapDifference) -> proto::MapDifference {
    proto::MapDifference {
        index: u32::try_from(difference.index).unwrap_or(u32::MAX),
        ours: difference.ours.clone(),
        theirs: difference.theirs.clone(),
    }
}

fn differences_in(differences: &[proto::MapDifference]) -> Result<Arc<[MapDifference]>, FieldError> {
    field::count("differences", differences, SHOWN_DIFFERENCES)?;
    differences.iter().map(difference_in).collect()
}

fn difference_in(difference: &proto::MapDifference) -> Result<MapDifference, FieldError> {
    Ok(MapDifference {
        index: field::number("index", difference.index, field::LAST_NODE)?.into(),
        ours: difference.ours.as_deref().map(entry_in).transpose()?,
        theirs: difference.theirs.as_deref().map(entry_in).transpose()?,
    })
}

/// An entry of a node map, as written.
pub(crate) fn entry_in(entry: &str) -> Result<String, FieldError> {
    field::text("map entry", entry, NodeMap::MAX_ENTRY_BYTES).map(|text| text.to_string())
}
