//! What a peer sends.

use imex_wire::{decode_frame, encode_frame};

/// A peer's bytes are refused, or they are a message that says the same after being written and read again.
pub fn peer_frame(bytes: &[u8]) {
    let Ok(frame) = decode_frame(bytes) else { return };
    let written = encode_frame(&frame);
    assert_eq!(decode_frame(&written).as_ref(), Ok(&frame), "what we write is what we read");
}
