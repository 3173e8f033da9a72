//! What two daemons say to each other, in checked types.

use imex_core::cause::Violation;
use imex_core::{Hello, PeerMessage, Refusal};
use thiserror::Error;

use crate::field::FieldError;

/// One message of the peer protocol, within its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// An introduction.
    Hello(Hello),
    /// An introduction was turned away.
    Refusal(Refusal),
    /// Anything that members say to each other.
    Message(PeerMessage),
}

/// Why bytes are no message of the peer protocol.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// They are no protobuf message of this form.
    #[error("the message is not valid protobuf")]
    Encoding(#[source] prost::DecodeError),
    /// A field is out of its bounds.
    #[error(transparent)]
    Field(#[from] FieldError),
}

/// Reads one message, without the gRPC prefix.
pub fn decode_frame(_bytes: &[u8]) -> Result<Frame, FrameError> {
    todo!()
}

/// Writes one message, without the gRPC prefix.
pub fn encode_frame(_frame: &Frame) -> Vec<u8> {
    todo!()
}

impl FrameError {
    /// What it means for the link on which the bytes came.
    pub fn violation(&self) -> Violation {
        Violation::Malformed
    }
}
