//! How a peer broke the protocol, in detail for the log; the core is told less.

use imex_core::cause::Violation;
use thiserror::Error;

use crate::peer::FrameError;

/// How a peer broke the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Breach {
    /// It does not speak HTTP/2, or not as its standard says.
    #[error("it broke HTTP/2: {reason}")]
    Http2 {
        /// What the HTTP/2 layer says.
        reason: String,
    },
    /// It asked for something other than a peer link.
    #[error("it asked for {path:?} instead of a peer link")]
    OtherCall {
        /// What for; its first 64 bytes.
        path: String,
    },
    /// It answered the request for a peer link as somebody who has none.
    #[error("it answered with HTTP status {status} and content type {content:?}")]
    OtherAnswer {
        /// The HTTP status.
        status: u16,
        /// The content type; its first 64 bytes, empty if there is none.
        content: String,
    },
    /// It ended the stream where a hello was due.
    #[error("it ended the stream without a hello")]
    NoAnswer,
    /// A message is compressed, which nobody offered.
    #[error("it sent a compressed message")]
    Compressed,
    /// A message is larger than allowed; it was not read.
    #[error("it sent a message of {found} bytes, at most {max} are allowed")]
    TooLarge {
        /// The announced size in bytes.
        found: usize,
        /// The most allowed at this place.
        max: usize,
    },
    /// A message could not be decoded, or has something out of its bounds.
    #[error("it sent a malformed message")]
    Frame(#[from] FrameError),
    /// The first message was no hello.
    #[error("its first message was no hello")]
    NoHello,
    /// A hello came again.
    #[error("it introduced itself twice")]
    SecondHello,
    /// A refusal came after its hello, or from a dialler.
    #[error("it sent a refusal where none can be")]
    StrayRefusal,
}

impl Breach {
    /// The same for the core.
    pub fn violation(&self) -> Violation {
        match self {
            Breach::NoHello | Breach::NoAnswer | Breach::OtherCall { .. } | Breach::OtherAnswer { .. } => {
                Violation::NoHello
            }
            Breach::SecondHello => Violation::SecondHello,
            Breach::TooLarge { .. } => Violation::TooLarge,
            Breach::Http2 { .. } | Breach::Compressed | Breach::Frame(_) | Breach::StrayRefusal => {
                Violation::Malformed
            }
        }
    }
}

/// The first bytes of a text from outside, for an error.
pub(crate) fn excerpt(text: &[u8]) -> String {
    const SHOWN: usize = 64;
    String::from_utf8_lossy(&text[..text.len().min(SHOWN)]).into_owned()
}
