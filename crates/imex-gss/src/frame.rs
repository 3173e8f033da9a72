//! What goes over the wire: a preface, then frames.
//!
//! ```text
//! preface   "IMEX-GSS" version protection         once, by the initiator
//! frame     kind(1) length(3, big-endian) body
//! ```
//!
//! Until the context is established a frame is a token or a refusal; afterwards every frame is a record that the
//! context protects. What a record is for is its first byte, inside the protection.

use std::fmt;

use imex_gssapi::Protection;
use thiserror::Error;

use crate::error::Refusal;

/// The length of the preface in bytes.
pub const PREFACE: usize = 10;

/// The length of a frame's header in bytes.
pub const HEADER: usize = 4;

/// The largest token in bytes. Kerberos tokens have one or two KiB; those of Active Directory, which list a user's
/// groups, may have 48 KiB and are never larger than 64.
pub const MAX_TOKEN: usize = 64 * 1024;

/// The most bytes of one record before it is protected: one full HTTP/2 frame.
pub const MAX_RECORD: usize = 16 * 1024;

/// The most bytes that protection adds to a record: RFC 4121 section 4.2.4 needs 16 for the token's header, which is
/// repeated when encrypted, a block of up to 16 in front, and a checksum of up to 24 behind. The rest is room for padding.
pub const MAX_OVERHEAD: usize = 256;

/// The fatal alert `handshake_failure` as a record of TLS (RFC 8446, section 6), for peers that do not speak Kerberos: those
/// with TLS understand it, and daemons without security know it by its first byte.
pub(crate) const NO_TLS_HERE: [u8; 7] = [21, 3, 3, 0, 2, 2, 40];

const MAGIC: &[u8; 8] = b"IMEX-GSS";
const VERSION: u8 = 1;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A token of the authentication.
    Token,
    /// The end of it: a reason, and perhaps a token that tells more.
    Refusal,
    /// A protected record.
    Record,
}

/// What a frame's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What it is.
    pub kind: Kind,
    /// How long its body is in bytes, within the bounds of its kind.
    pub length: usize,
}

/// What a record is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It carries bytes of the application.
    Data,
    /// It carries the token that begins a new context.
    Renew,
    /// It carries the answer to it. What the acceptor sends after this is in the new context.
    Renewed,
    /// The new context is refused; the old one goes on.
    NotRenewed,
    /// What the initiator sends after this is in the new context.
    Switch,
}

/// What a peer speaks that does not begin with our preface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoken {
    /// HTTP/2 without any protection.
    Plain,
    /// TLS.
    Tls,
    /// Something else.
    Unknown,
}

/// What came is no frame, or no preface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// It does not begin as an authentication by Kerberos does.
    #[error("the peer speaks {0}, not Kerberos")]
    OtherProtocol(Spoken),
    /// It is of a version that is not known.
    #[error("the peer's version {found} of the Kerberos protocol is not {VERSION}")]
    Version {
        /// The version.
        found: u8,
    },
    /// The peer wants another protection than this side.
    #[error("the peer wants {}, this side {}", mode(*.theirs), mode(*.ours))]
    OtherProtection {
        /// Ours.
        ours: Protection,
        /// Theirs.
        theirs: Protection,
    },
    /// A number has no meaning.
    #[error("{what} {found} has no meaning")]
    Unknown {
        /// What the number is.
        what: &'static str,
        /// The number.
        found: u8,
    },
    /// A frame is empty, or longer than its kind allows.
    #[error("a {kind:?} of {length} bytes is not between 1 and {max}")]
    Length {
        /// Its kind.
        kind: Kind,
        /// What its header says.
        length: usize,
        /// The most.
        max: usize,
    },
    /// A frame came out of its order.
    #[error("a {found:?} came where none was expected")]
    Unexpected {
        /// Its kind.
        found: Kind,
    },
    /// A record came out of its order.
    #[error("a record for {found:?} came where none was expected")]
    UnexpectedRecord {
        /// What it was for.
        found: Purpose,
    },
}

impl Kind {
    fn max(self) -> usize {
        match self {
            Kind::Token => MAX_TOKEN,
            Kind::Refusal => 1 + MAX_TOKEN,
            // A token may be in a record too, with the byte that says what the record is for.
            Kind::Record => 1 + MAX_TOKEN + MAX_OVERHEAD,
        }
    }

    fn number(self) -> u8 {
        match self {
            Kind::Token => 1,
            Kind::Refusal => 2,
            Kind::Record => 3,
        }
    }
}

impl Header {
    /// The header of a frame with a body of this many bytes.
    pub fn new(kind: Kind, length: usize) -> Result<Self, FrameError> {
        let max = kind.max();
        if length == 0 || length > max {
            return Err(FrameError::Length { kind, length, max });
        }
        Ok(Header { kind, length })
    }

    /// Reads a header. Whatever it gives is within the bounds of its kind.
    pub fn parse(bytes: [u8; HEADER]) -> Result<Self, FrameError> {
        let [kind, length @ ..] = bytes;
        let kind = match kind {
            1 => Kind::Token,
            2 => Kind::Refusal,
            3 => Kind::Record,
            found => return Err(FrameError::Unknown { what: "kind of frame", found }),
        };
        let length = length.into_iter().fold(0, |length, byte| length << 8 | usize::from(byte));
        Header::new(kind, length)
    }

    /// Its bytes.
    pub fn bytes(self) -> [u8; HEADER] {
        // A body has less than 2^24 bytes.
        let [.., a, b, c] = self.length.to_be_bytes();
        [self.kind.number(), a, b, c]
    }
}

impl Purpose {
    /// Splits a record into what it is for and what it carries.
    pub fn split(record: &[u8]) -> Result<(Self, &[u8]), FrameError> {
        let (first, rest) = record.split_first().unwrap_or((&u8::MAX, &[]));
        let purpose = match first {
            0 => Purpose::Data,
            1 => Purpose::Renew,
            2 => Purpose::Renewed,
            3 => Purpose::NotRenewed,
            4 => Purpose::Switch,
            found => return Err(FrameError::Unknown { what: "purpose of a record", found: *found }),
        };
        Ok((purpose, rest))
    }

    /// Its first byte.
    pub fn number(self) -> u8 {
        match self {
            Purpose::Data => 0,
            Purpose::Renew => 1,
            Purpose::Renewed => 2,
            Purpose::NotRenewed => 3,
            Purpose::Switch => 4,
        }
    }
}

/// The preface of an initiator that wants this protection. Both sides bind it into the context, so that it cannot be
/// changed on its way.
pub fn preface(protection: Protection) -> [u8; PREFACE] {
    let mut preface = [0; PREFACE];
    preface[..MAGIC.len()].copy_from_slice(MAGIC);
    preface[MAGIC.len()] = VERSION;
    preface[MAGIC.len() + 1] = number(protection);
    preface
}

/// Checks that what came is the preface of somebody who wants the same protection.
pub fn check_preface(bytes: &[u8; PREFACE], ours: Protection) -> Result<(), FrameError> {
    let (magic, rest) = bytes.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(FrameError::OtherProtocol(Spoken::of(bytes)));
    }
    match rest {
        [VERSION, found] if *found == number(ours) => Ok(()),
        [VERSION, found] => {
            let known = [Protection::Integrity, Protection::Privacy];
            let theirs = known.into_iter().find(|known| number(*known) == *found);
            Err(theirs.map_or(FrameError::Unknown { what: "protection", found: *found }, |theirs| {
                FrameError::OtherProtection { ours, theirs }
            }))
        }
        rest => Err(FrameError::Version { found: rest.first().copied().unwrap_or_default() }),
    }
}

/// Splits a refusal into its reason and the token that may tell more.
pub fn split_refusal(body: &[u8]) -> (Refusal, &[u8]) {
    let (reason, token) = body.split_first().unwrap_or((&0, &[]));
    (Refusal::from_number(*reason), token)
}

fn number(protection: Protection) -> u8 {
    match protection {
        Protection::Integrity => 1,
        Protection::Privacy => 2,
    }
}

/// What the configuration calls it.
pub(crate) fn mode(protection: Protection) -> &'static str {
    match protection {
        Protection::Integrity => "GSS_AUTH_ONLY",
        Protection::Privacy => "GSS_AUTH_ENCRYPT",
    }
}

impl Spoken {
    /// Guesses from the first bytes.
    fn of(bytes: &[u8; PREFACE]) -> Self {
        match bytes {
            // The connection preface of HTTP/2, RFC 9113 section 3.4.
            [b'P', b'R', b'I', b' ', ..] => Spoken::Plain,
            // A handshake record of TLS, RFC 8446 section 5.1.
            [0x16, 0x03, ..] => Spoken::Tls,
            _ => Spoken::Unknown,
        }
    }
}

impl fmt::Display for Spoken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Spoken::Plain => "plain HTTP/2",
            Spoken::Tls => "TLS",
            Spoken::Unknown => "something else",
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_peer_without_kerberos_is_known_by_its_first_bytes() {
        let spoken = |bytes: &[u8; PREFACE]| check_preface(bytes, Protection::Privacy);
        assert_eq!(spoken(b"PRI * HTTP"), Err(FrameError::OtherProtocol(Spoken::Plain)));
        assert_eq!(
            spoken(b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03"),
            Err(FrameError::OtherProtocol(Spoken::Tls))
        );
        assert_eq!(spoken(b"SSH-2.0-x\n"), Err(FrameError::OtherProtocol(Spoken::Unknown)));
    }

    #[test]
    fn a_peer_that_wants_less_protection_is_told_apart() {
        let error = check_preface(&preface(Protection::Integrity), Protection::Privacy).unwrap_err();
        assert_eq!(error.to_string(), "the peer wants GSS_AUTH_ONLY, this side GSS_AUTH_ENCRYPT");
        assert_eq!(
            check_preface(b"IMEX-GSS\x01\x07", Protection::Privacy).unwrap_err().to_string(),
            "protection 7 has no meaning"
        );
        assert_eq!(
            check_preface(b"IMEX-GSS\x02\x01", Protection::Privacy),
            Err(FrameError::Version { found: 2 })
        );
    }

    #[test]
    fn an_oversized_or_empty_frame_is_refused_by_its_header() {
        let parse = |bytes| Header::parse(bytes);
        assert!(parse([1, 1, 0, 0]).is_ok());
        assert_eq!(
            parse([1, 1, 0, 1]),
            Err(FrameError::Length { kind: Kind::Token, length: 65_537, max: 65_536 })
        );
        assert!(matches!(parse([3, 0, 0, 0]), Err(FrameError::Length { length: 0, .. })));
        assert!(matches!(parse([9, 0, 0, 1]), Err(FrameError::Unknown { found: 9, .. })));
    }

    proptest! {
        #[test]
        fn a_header_is_read_as_it_was_written(kind in 0..3usize, length in 1..MAX_TOKEN) {
            let kind = [Kind::Token, Kind::Refusal, Kind::Record][kind];
            let header = Header::new(kind, length).unwrap();
            prop_assert_eq!(Header::parse(header.bytes()), Ok(header));
        }

        #[test]
        fn no_header_asks_for_more_than_its_kind_may_have(bytes: [u8; HEADER]) {
            if let Ok(header) = Header::parse(bytes) {
                prop_assert!((1..=header.kind.max()).contains(&header.length));
            }
        }
    }
}
