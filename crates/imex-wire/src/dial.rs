//! Opening a link to a peer.

use std::io;
use std::net::{IpAddr, SocketAddr};

use imex_core::cause::Unreachable;
use imex_core::input::DialFailure;
use imex_core::{Hello, Refusal};
use thiserror::Error;

use crate::io::Io;
use crate::link::{Link, LinkLimits};
use crate::peer::FrameError;

/// Where to connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DialTarget {
    /// The peer's address and port; with the scope of a link-local IPv6 address.
    pub address: SocketAddr,
    /// The local address to come from; `None` leaves it to the system.
    pub source: Option<IpAddr>,
}

/// How a peer answered.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "short-lived, moved once")]
pub enum Dialled {
    /// It accepted.
    Admitted {
        /// Its introduction.
        hello: Hello,
        /// The open link.
        link: Link,
    },
    /// It refused, and the connection is closed.
    Refused(Refusal),
}

/// Why a dial ended without an answer.
#[derive(Debug, Error)]
pub enum DialError {
    /// No connection could be made.
    #[error("no connection to {address}")]
    Connect {
        /// To where.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The connection broke before the peer answered.
    #[error("the connection broke before the peer answered")]
    Broken,
    /// The peer answered with something that is no answer.
    #[error("the peer gave no proper answer")]
    Breach(#[source] FrameError),
}

/// Connects to a peer, introduces this daemon, and waits for the answer.
///
/// It has no deadline: the caller drops the future when it has waited long enough, which closes the connection.
#[expect(clippy::unused_async, reason = "not built yet")]
pub async fn dial(_target: DialTarget, _hello: &Hello, _limits: LinkLimits) -> Result<Dialled, DialError> {
    todo!()
}

/// The second half of [`dial`], over a connection that is already there.
#[expect(clippy::unused_async, reason = "not built yet")]
pub async fn introduce(_io: impl Io, _hello: &Hello, _limits: LinkLimits) -> Result<Dialled, DialError> {
    todo!()
}

impl DialError {
    /// The same for the core.
    pub fn failure(&self) -> DialFailure {
        DialFailure::Unreachable(Unreachable::Broken)
    }
}
