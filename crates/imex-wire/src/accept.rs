//! Taking in a peer that dialled this daemon.

use std::time::Duration;

use imex_core::{Hello, Refusal};
use thiserror::Error;
use tokio::net::TcpStream;

use crate::io::Io;
use crate::link::{Link, LinkLimits};
use crate::peer::FrameError;

/// How long a connection may take from its acceptance to its hello.
pub const HELLO_DEADLINE: Duration = Duration::from_secs(2);

/// A peer that has introduced itself and waits for the answer.
#[derive(Debug)]
pub struct Incoming {
    hello: Hello,
}

/// Why an accepted connection brought no introduction. Each is counted under [`AcceptError::word`].
#[derive(Debug, Error)]
pub enum AcceptError {
    /// Nothing complete came in time.
    #[error("no hello came within {HELLO_DEADLINE:?}")]
    TimedOut,
    /// The connection ended first.
    #[error("the connection ended before a hello came")]
    Ended,
    /// The first message was no hello.
    #[error("the first message was no hello")]
    Breach(#[source] FrameError),
}

/// Waits until a freshly accepted connection has introduced itself, at most for [`HELLO_DEADLINE`].
///
/// Switches Nagle's algorithm off: without that the first exchange waits for a delayed acknowledgement, 40 ms.
pub async fn accept(stream: TcpStream, limits: LinkLimits) -> Result<Incoming, AcceptError> {
    await_hello(stream, limits).await
}

/// The same over any connection.
#[expect(clippy::unused_async, reason = "not built yet")]
pub async fn await_hello(_io: impl Io, _limits: LinkLimits) -> Result<Incoming, AcceptError> {
    todo!()
}

impl Incoming {
    /// Who it says it is.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Answers with this daemon's own introduction. The answer leaves when the link's receiver is awaited.
    pub fn admit(self, _hello: &Hello) -> Link {
        todo!()
    }

    /// Answers with a refusal, waits a short while until the peer has it, and closes the connection.
    #[expect(clippy::unused_async, reason = "not built yet")]
    pub async fn refuse(self, _refusal: &Refusal) {
        todo!()
    }
}

impl AcceptError {
    /// One word for statistics.
    pub fn word(&self) -> &'static str {
        match self {
            AcceptError::TimedOut => "silent",
            AcceptError::Ended => "ended",
            AcceptError::Breach(_) => "malformed",
        }
    }
}
