//! gRPC's frame around each message: a flag byte, a length of four bytes, the message
//! (grpc.github.io, "gRPC over HTTP2", Length-Prefixed-Message).

use bytes::{Buf, BufMut, Bytes, BytesMut};
use prost::Message;

use crate::breach::Breach;

/// Bytes before each message.
pub(crate) const PREFIX: usize = 5;

/// Appends one framed message.
pub(crate) fn frame(message: &impl Message, out: &mut BytesMut) {
    let len = message.encoded_len();
    out.reserve(PREFIX + len);
    out.put_u8(0);
    // A message is bounded far below 4 GiB by `LinkLimits`.
    out.put_u32(u32::try_from(len).unwrap_or(u32::MAX));
    message.encode(out).expect("the buffer has grown by the encoded length");
}

/// Cuts the bytes of a stream into messages.
#[derive(Debug, Default)]
pub(crate) struct Deframer {
    bytes: BytesMut,
}

impl Deframer {
    /// Takes in what came.
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.bytes.extend_from_slice(chunk);
    }

    /// The next complete message, if there is one. One whose prefix announces more than `max` bytes is refused
    /// before it is stored.
    pub(crate) fn next(&mut self, max: usize) -> Result<Option<Bytes>, Breach> {
        let Some((prefix, rest)) = self.bytes.split_first_chunk::<PREFIX>() else {
            return Ok(None);
        };
        let [flag, len @ ..] = *prefix;
        if flag != 0 {
            return Err(Breach::Compressed);
        }
        let found = usize::try_from(u32::from_be_bytes(len)).unwrap_or(usize::MAX);
        if found > max {
            return Err(Breach::TooLarge { found, max });
        }
        if rest.len() < found {
            return Ok(None);
        }
        self.bytes.advance(PREFIX);
        let message = self.bytes.split_to(found).freeze();
        if self.bytes.is_empty() {
            // Most links are idle most of the time: they hold no buffer then.
            self.bytes = BytesMut::new();
        }
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn messages_come_out_whole_however_they_are_cut(
            messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8),
            cut in 1_usize..20,
        ) {
            let mut wire = Vec::new();
            for message in &messages {
                wire.push(0);
                wire.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
                wire.extend(message);
            }
            let mut deframer = Deframer::default();
            let mut found = Vec::new();
            for chunk in wire.chunks(cut) {
                deframer.push(chunk);
                while let Some(message) = deframer.next(40).unwrap() {
                    found.push(message.to_vec());
                }
            }
            prop_assert_eq!(found, messages);
        }
    }

    #[test]
    fn a_large_message_is_refused_by_its_prefix_alone() {
        let mut deframer = Deframer::default();
        deframer.push(&[0, 0, 0, 1, 0]);
        assert_eq!(deframer.next(255), Err(Breach::TooLarge { found: 256, max: 255 }));
        assert_eq!(deframer.next(256), Ok(None));
    }

    #[test]
    fn a_compressed_message_is_refused() {
        let mut deframer = Deframer::default();
        deframer.push(&[1, 0, 0, 0, 0]);
        assert_eq!(deframer.next(255), Err(Breach::Compressed));
    }
}
