//! Why an authentication failed, whose fault it is, and what to do.

use std::io;
use std::time::Duration;

use imex_gssapi::{Fault, GssError};
use thiserror::Error;

use crate::frame::FrameError;
use crate::principal::PrincipalError;

/// Why an authentication failed. Its text reads after "failed to".
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AuthError {
    /// This side got no ticket with which to show itself to the peer.
    #[error("get a ticket for {target}")]
    Ticket {
        /// The peer's service.
        target: String,
        /// Why.
        #[source]
        source: GssError,
    },
    /// This side cannot read the key with which others show themselves to it.
    #[error("find the key of {name} in the key table")]
    Key {
        /// The name of its own service.
        name: String,
        /// Why.
        #[source]
        source: GssError,
    },
    /// The Kerberos library does not come back: it waits for a KDC, or for a name server.
    #[error("get an answer from the Kerberos library within {after:?}")]
    Silent {
        /// How long was waited.
        after: Duration,
    },
    /// Too many calls that do not come back are before this one, which was not begun.
    #[error("get a turn at the Kerberos library within {after:?}: too many calls wait in it")]
    Busy {
        /// How long was waited.
        after: Duration,
    },
    /// The peer's token is not good.
    #[error("accept the peer's token")]
    Token(#[source] GssError),
    /// The peer's ticket has ended, if only by less than clocks may differ: there is no time left for a link.
    #[error("accept the peer's ticket: it has expired")]
    Spent,
    /// The peer's answer to the own token is not good, or says why the token was refused.
    #[error("take the peer for what it should be")]
    Answer(#[source] GssError),
    /// The peer refused, with no more than a word.
    #[error("be accepted by the peer: {0}")]
    Refused(Refusal),
    /// The peer is somebody else.
    #[error("take the peer for what it should be")]
    Principal(#[source] PrincipalError),
    /// The peer does not speak as it should.
    #[error("speak Kerberos with the peer")]
    Frame(#[from] FrameError),
    /// The connection ended.
    #[error("keep the connection: {0}")]
    Broken(io::ErrorKind),
}

/// Why the other side refused, as far as it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// It wants another protection.
    #[error("it wants another protection")]
    OtherProtection,
    /// It did not accept the token.
    #[error("it did not accept the token")]
    Token,
    /// It cannot authenticate anybody.
    #[error("it cannot authenticate anybody now")]
    Unable,
    /// A reason that this version does not know.
    #[error("for a reason that is not known here")]
    Unknown,
}

/// Whose fault a failure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// This machine's set-up: waiting does not heal it.
    Own,
    /// The KDC or the name service, or nobody's: it may heal by itself.
    Kdc,
    /// The peer's, or that of somebody between.
    Peer,
}

impl Refusal {
    pub(crate) fn number(self) -> u8 {
        match self {
            Refusal::Unknown => 0,
            Refusal::OtherProtection => 1,
            Refusal::Token => 2,
            Refusal::Unable => 3,
        }
    }

    pub(crate) fn from_number(number: u8) -> Self {
        match number {
            1 => Refusal::OtherProtection,
            2 => Refusal::Token,
            3 => Refusal::Unable,
            _ => Refusal::Unknown,
        }
    }
}

impl AuthError {
    /// Whose fault it is.
    pub fn blame(&self) -> Blame {
        match self {
            AuthError::Ticket { source, .. } => match source.fault() {
                // Tickets that have expired are those of a cache that somebody else fills.
                Fault::KdcUnreachable | Fault::ClockSkew | Fault::NotYetValid | Fault::Expired => Blame::Kdc,
                Fault::ServiceUnknown | Fault::RealmUnknown => Blame::Peer,
                Fault::NoKey
                | Fault::NoCredential
                | Fault::ClientUnknown
                | Fault::WrongKey
                | Fault::Replay
                | Fault::OutOfOrder
                | Fault::BadToken
                | Fault::Unprotected
                | Fault::OtherBinding
                | Fault::Configuration
                | Fault::Other => Blame::Own,
            },
            AuthError::Key { .. } => Blame::Own,
            AuthError::Silent { .. } | AuthError::Busy { .. } => Blame::Kdc,
            AuthError::Token(_)
            | AuthError::Spent
            | AuthError::Answer(_)
            | AuthError::Refused(_)
            | AuthError::Principal(_)
            | AuthError::Frame(_)
            | AuthError::Broken(_) => Blame::Peer,
        }
    }

    /// What it comes down to, where the Kerberos library was asked.
    pub fn fault(&self) -> Option<Fault> {
        match self {
            // An acceptor has no other credential than its key.
            AuthError::Key { source, .. } if source.fault() == Fault::NoCredential => Some(Fault::NoKey),
            AuthError::Ticket { source, .. }
            | AuthError::Key { source, .. }
            | AuthError::Token(source)
            | AuthError::Answer(source) => Some(source.fault()),
            AuthError::Silent { .. } => Some(Fault::KdcUnreachable),
            AuthError::Spent => Some(Fault::Expired),
            AuthError::Busy { .. }
            | AuthError::Refused(_)
            | AuthError::Principal(_)
            | AuthError::Frame(_)
            | AuthError::Broken(_) => None,
        }
    }

    /// Whether an acceptor, which may be this machine, has no key for what it was shown.
    pub(crate) fn is_about_a_key(&self) -> bool {
        match self {
            AuthError::Token(error) | AuthError::Answer(error) => {
                matches!(error.fault(), Fault::NoKey | Fault::WrongKey)
            }
            AuthError::Ticket { .. }
            | AuthError::Key { .. }
            | AuthError::Silent { .. }
            | AuthError::Busy { .. }
            | AuthError::Spent
            | AuthError::Refused(_)
            | AuthError::Principal(_)
            | AuthError::Frame(_)
            | AuthError::Broken(_) => false,
        }
    }

    /// What to do about it, where that can be said.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            AuthError::Principal(error) => Some(error.hint()),
            AuthError::Frame(FrameError::OtherProtocol(_) | FrameError::OtherProtection { .. }) => {
                Some("set IMEX_ENABLE_AUTH_ENCRYPTION and IMEX_AUTH_ENCRYPTION_MODE alike on all nodes")
            }
            AuthError::Refused(Refusal::OtherProtection) => {
                Some("set IMEX_AUTH_ENCRYPTION_MODE alike on all nodes")
            }
            AuthError::Refused(Refusal::Unable) => Some("the peer's own log says what its Kerberos lacks"),
            AuthError::Ticket { .. } | AuthError::Key { .. } | AuthError::Silent { .. } => {
                self.fault().and_then(own_hint)
            }
            AuthError::Token(_) | AuthError::Spent | AuthError::Answer(_) => self.fault().and_then(peer_hint),
            AuthError::Busy { .. } => Some("what the log says of other nodes tells who does not answer"),
            AuthError::Frame(_) | AuthError::Refused(_) | AuthError::Broken(_) => None,
        }
    }
}

/// What to do on this machine.
fn own_hint(fault: Fault) -> Option<&'static str> {
    let hint = match fault {
        Fault::KdcUnreachable => "check that a KDC of the realm runs and that krb5.conf names it",
        Fault::NoKey => "`klist -k` shows what the key table holds; KRB5_KTNAME names another one",
        Fault::NoCredential => "KRB5_CLIENT_KTNAME must name a key table with this machine's principal",
        Fault::ClientUnknown => "add this machine's principal to the KDC's database",
        Fault::ServiceUnknown => {
            "add the peer's principal to the KDC's database, by its name in the node list"
        }
        Fault::RealmUnknown => {
            "krb5.conf must say of which realm the peer is, and the realms trust each other"
        }
        Fault::WrongKey => "export this machine's key again with `ktadd`: the KDC has a newer one",
        Fault::Expired => {
            "the ticket or the principal has expired; `kvno` shows whether a new ticket can be had"
        }
        Fault::ClockSkew | Fault::NotYetValid => "set the clocks of this machine and of the KDC",
        Fault::Configuration => "krb5.conf must be readable and name a default realm",
        Fault::Replay
        | Fault::OutOfOrder
        | Fault::BadToken
        | Fault::Unprotected
        | Fault::OtherBinding
        | Fault::Other => return None,
    };
    Some(hint)
}

/// What to do when two machines do not come together.
fn peer_hint(fault: Fault) -> Option<&'static str> {
    let hint = match fault {
        Fault::ClockSkew | Fault::NotYetValid => "set the clocks of both machines: they differ by minutes",
        Fault::NoKey | Fault::WrongKey => {
            "the acceptor's key table lacks the key for which the KDC gave the ticket: export it again"
        }
        Fault::Expired => "the initiator's ticket has expired; it needs a new one",
        Fault::Replay => {
            "a token came twice: a retry on a broken network, or somebody who listens and repeats"
        }
        Fault::OtherBinding => "somebody changed the first bytes of the connection",
        Fault::KdcUnreachable
        | Fault::NoCredential
        | Fault::ClientUnknown
        | Fault::ServiceUnknown
        | Fault::RealmUnknown
        | Fault::OutOfOrder
        | Fault::BadToken
        | Fault::Unprotected
        | Fault::Configuration
        | Fault::Other => return None,
    };
    Some(hint)
}

impl From<io::Error> for AuthError {
    fn from(error: io::Error) -> Self {
        AuthError::Broken(error.kind())
    }
}
