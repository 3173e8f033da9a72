//! One cell of a node's row: its own directed link to one peer.
//!
//! ```text
//!                    AuthenticationStarted
//!          ┌──────────────────────────────► Authenticating ──┐
//!          │                                     │ Lost      │
//!   Apart (N, R or D) ◄──────────────────────────┘           │ Admitted
//!     ▲    │  │                                              ▼
//!     │    │  └───────────── Admitted ───────────────────► Connected
//!     │    │ RefusedVersion, RefusedMap                     ▲   │
//!     │    └──────────► VersionMismatch, MapMismatch ───────┘   │
//!     │                      Admitted                           │
//!     └─────────────────────────── Lost ────────────────────────┘
//! ```
//!
//! A refusal stays on show until the peer answers otherwise: that its machine is switched off for repair does not
//! make its node map right. `CleanedUp` changes no phase, only what the past of an unconnected link is called.

use crate::LinkState;

/// The state of one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// No connection, and the last answer (if any) was no refusal.
    Apart(Past),
    /// Mutual authentication is under way.
    Authenticating(Past),
    /// The peer runs another version.
    VersionMismatch(Past),
    /// The peer has another map or another place in it.
    MapMismatch(Past),
    /// Connected.
    Connected,
}

/// What became of the last connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Past {
    /// There was none since start.
    Never,
    /// It was lost and the grace time has not passed.
    Lost,
    /// It was lost and what came from the peer has been cleaned up.
    CleanedUp,
}

/// What can happen to a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkEvent {
    /// The peer has begun mutual authentication.
    AuthenticationStarted,
    /// The peer accepted this node's hello, and its own is in order.
    Admitted,
    /// The connection, or the attempt to make one, is gone.
    Lost,
    /// The peer runs another version.
    RefusedVersion,
    /// The peer has another map or another place in it.
    RefusedMap,
    /// The grace time has passed, or another instance has taken the peer's place.
    CleanedUp,
}

impl Link {
    /// The state after an event.
    pub(crate) fn after(self, event: LinkEvent) -> Link {
        match (self, event) {
            (Link::Apart(past), LinkEvent::AuthenticationStarted) => Link::Authenticating(past),
            (Link::Apart(_), LinkEvent::Admitted) => Link::Connected,
            (Link::Apart(past), LinkEvent::Lost) => Link::Apart(past),
            (Link::Apart(past), LinkEvent::RefusedVersion) => Link::VersionMismatch(past),
            (Link::Apart(past), LinkEvent::RefusedMap) => Link::MapMismatch(past),
            (Link::Apart(past), LinkEvent::CleanedUp) => Link::Apart(past.cleaned_up()),

            (Link::Authenticating(past), LinkEvent::AuthenticationStarted) => Link::Authenticating(past),
            (Link::Authenticating(_), LinkEvent::Admitted) => Link::Connected,
            (Link::Authenticating(past), LinkEvent::Lost) => Link::Apart(past),
            (Link::Authenticating(past), LinkEvent::RefusedVersion) => Link::VersionMismatch(past),
            (Link::Authenticating(past), LinkEvent::RefusedMap) => Link::MapMismatch(past),
            (Link::Authenticating(past), LinkEvent::CleanedUp) => Link::Authenticating(past.cleaned_up()),

            (Link::VersionMismatch(past), LinkEvent::AuthenticationStarted) => Link::Authenticating(past),
            (Link::VersionMismatch(_), LinkEvent::Admitted) => Link::Connected,
            (Link::VersionMismatch(past), LinkEvent::Lost) => Link::VersionMismatch(past),
            (Link::VersionMismatch(past), LinkEvent::RefusedVersion) => Link::VersionMismatch(past),
            (Link::VersionMismatch(past), LinkEvent::RefusedMap) => Link::MapMismatch(past),
            (Link::VersionMismatch(past), LinkEvent::CleanedUp) => Link::VersionMismatch(past.cleaned_up()),

            (Link::MapMismatch(past), LinkEvent::AuthenticationStarted) => Link::Authenticating(past),
            (Link::MapMismatch(_), LinkEvent::Admitted) => Link::Connected,
            (Link::MapMismatch(past), LinkEvent::Lost) => Link::MapMismatch(past),
            (Link::MapMismatch(past), LinkEvent::RefusedVersion) => Link::VersionMismatch(past),
            (Link::MapMismatch(past), LinkEvent::RefusedMap) => Link::MapMismatch(past),
            (Link::MapMismatch(past), LinkEvent::CleanedUp) => Link::MapMismatch(past.cleaned_up()),

            // A connected link that is dialled anew stays connected until the new attempt has failed.
            (Link::Connected, LinkEvent::AuthenticationStarted) => Link::Connected,
            (Link::Connected, LinkEvent::Admitted) => Link::Connected,
            (Link::Connected, LinkEvent::Lost) => Link::Apart(Past::Lost),
            (Link::Connected, LinkEvent::RefusedVersion) => Link::VersionMismatch(Past::Lost),
            (Link::Connected, LinkEvent::RefusedMap) => Link::MapMismatch(Past::Lost),
            // The peer said that it leaves; the connection itself has not ended yet.
            (Link::Connected, LinkEvent::CleanedUp) => Link::Connected,
        }
    }

    /// Whether the connection was lost and what came from the peer is not cleaned up.
    pub(crate) fn is_lost(self) -> bool {
        match self {
            Link::Apart(past)
            | Link::Authenticating(past)
            | Link::VersionMismatch(past)
            | Link::MapMismatch(past) => past == Past::Lost,
            Link::Connected => false,
        }
    }

    /// What outsiders see.
    pub(crate) fn state(self) -> LinkState {
        match self {
            Link::Apart(Past::Never) => LinkState::NeverConnected,
            Link::Apart(Past::Lost) => LinkState::Recovering,
            Link::Apart(Past::CleanedUp) => LinkState::Disconnected,
            Link::Authenticating(_) => LinkState::Authenticating,
            Link::VersionMismatch(_) => LinkState::VersionMismatch,
            Link::MapMismatch(_) => LinkState::MapMismatch,
            Link::Connected => LinkState::Connected,
        }
    }
}

impl Past {
    fn cleaned_up(self) -> Past {
        match self {
            Past::Never => Past::Never,
            Past::Lost | Past::CleanedUp => Past::CleanedUp,
        }
    }
}

#[cfg(test)]
mod tests;
