//! Names of things: nodes, instances, boots, domains.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

/// A node's place in the node map, counted from 0.
///
/// The kernel interface stores it in 16 bits and keeps 0xFFFF for "none"
/// (open-gpu-kernel-modules, `ctrl00f1.h`), so the largest id is 65,533 with [`NodeMap::MAX_ENTRIES`] entries.
///
/// [`NodeMap::MAX_ENTRIES`]: crate::NodeMap::MAX_ENTRIES
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u16);

impl NodeId {
    /// The id with this number.
    pub const fn new(number: u16) -> Self {
        NodeId(number)
    }

    /// The number, as people and files write it.
    pub const fn number(self) -> u16 {
        self.0
    }

    /// The place in a list of all nodes.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// One run of a daemon: a random number made at its start.
///
/// Two runs of the daemon on one node differ in it; that is how a peer tells "the connection came back" (nothing
/// to clean up) from "the daemon was restarted" (everything that came from the old run is void).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(u128);

impl InstanceId {
    /// The instance with this number. A daemon draws it from the system's source of chance.
    pub const fn new(number: u128) -> Self {
        InstanceId(number)
    }

    /// The number, for the wire.
    pub const fn number(self) -> u128 {
        self.0
    }
}

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InstanceId({:08x}…)", self.0 >> 96)
    }
}

/// One boot of a machine, from `/proc/sys/kernel/random/boot_id`; zero where that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BootId(u128);

impl BootId {
    /// The boot with this number.
    pub const fn new(number: u128) -> Self {
        BootId(number)
    }

    /// The number, for the wire.
    pub const fn number(self) -> u128 {
        self.0
    }
}

/// What makes two domains with equal node maps different: a job's id and its run, for example.
///
/// Empty by default. Daemons with different tokens refuse each other and never show each other as members.
/// At most [`DomainToken::MAX_BYTES`] bytes of printable ASCII without blanks.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DomainToken(Arc<str>);

/// Why a text is no domain token.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DomainTokenError {
    /// It is too long.
    #[error("domain token has {found} bytes, at most {max} are allowed", max = DomainToken::MAX_BYTES)]
    TooLong {
        /// Its length in bytes.
        found: usize,
    },
    /// It holds something other than printable ASCII without blanks.
    #[error("domain token has {found:?} at byte {at}, only printable ASCII without blanks is allowed")]
    BadCharacter {
        /// The first character that is not allowed.
        found: char,
        /// Where it stands, in bytes from 0.
        at: usize,
    },
}

impl DomainToken {
    /// The longest token, in bytes: room for a cluster's name, a job id, and a run id, and little enough to refuse early.
    pub const MAX_BYTES: usize = 128;

    /// Checks a text.
    pub fn new(text: &str) -> Result<Self, DomainTokenError> {
        if text.len() > Self::MAX_BYTES {
            return Err(DomainTokenError::TooLong { found: text.len() });
        }
        if let Some((at, found)) = text.char_indices().find(|(_, c)| !c.is_ascii_graphic()) {
            return Err(DomainTokenError::BadCharacter { found, at });
        }
        Ok(DomainToken(text.into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for DomainToken {
    fn default() -> Self {
        DomainToken("".into())
    }
}

impl fmt::Debug for DomainToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DomainToken({:?})", self.as_str())
    }
}
