//! How two daemons introduce themselves, and how one is turned away.

use std::sync::Arc;

use thiserror::Error;

use crate::{BootId, DomainToken, InstanceId, MapDigest, NodeId, NodeMap};

/// The version of the peer protocol that this crate speaks. Daemons with different numbers refuse each other (`!V!`).
pub const PROTOCOL_VERSION: u32 = 1;

/// A daemon's introduction: the first message on every stream, both ways.
///
/// Its fields are private: whatever holds one knows that it is within its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello(Introduction);

/// The contents of a [`Hello`], before and after the check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Introduction {
    /// The protocol version, see [`PROTOCOL_VERSION`].
    pub protocol: u32,
    /// The version of the daemon's program; for people.
    pub software: Arc<str>,
    /// The version of the GPU driver, or `NO_GPU`; members must agree on it.
    pub driver: Arc<str>,
    /// The sender's place in its map.
    pub node: NodeId,
    /// The sender's run.
    pub instance: InstanceId,
    /// The boot of the sender's machine.
    pub boot: BootId,
    /// The digest of the sender's map.
    pub digest: MapDigest,
    /// The sender's domain token.
    pub token: DomainToken,
    /// The name of the sender's machine, for people; may be empty.
    pub host: Arc<str>,
}

/// Why an introduction is not acceptable whatever the map says.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HelloError {
    /// A version text is empty, too long or not printable.
    #[error("{field} version {found:?} is not 1 to {max} printable ASCII characters", max = Hello::MAX_VERSION_BYTES)]
    Version {
        /// Which one.
        field: &'static str,
        /// The first characters of what was sent.
        found: String,
    },
    /// The host name is too long or not printable.
    #[error("host name {found:?} is not at most {max} printable ASCII characters", max = NodeMap::MAX_ENTRY_BYTES)]
    Host {
        /// The first characters of what was sent.
        found: String,
    },
}

impl Hello {
    /// The longest version text in bytes.
    pub const MAX_VERSION_BYTES: usize = 64;
    /// The driver version of a daemon that runs without a GPU.
    pub const NO_GPU: &'static str = "NO_GPU";

    /// Checks what a peer sent, or what this daemon is about to send.
    pub fn check(introduction: Introduction) -> Result<Self, HelloError> {
        check_version("software", &introduction.software)?;
        check_version("driver", &introduction.driver)?;
        check_host(&introduction.host)?;
        Ok(Hello(introduction))
    }

    /// The contents.
    pub fn get(&self) -> &Introduction {
        &self.0
    }

    /// The sender's run.
    pub fn instance(&self) -> InstanceId {
        self.0.instance
    }

    /// The sender's place in its map.
    pub fn node(&self) -> NodeId {
        self.0.node
    }

    /// What must be equal for two daemons to talk, as people read it.
    pub fn version_text(&self) -> String {
        format!("protocol {} with driver {}", self.0.protocol, self.0.driver)
    }
}

fn check_version(field: &'static str, text: &str) -> Result<(), HelloError> {
    let printable = text.chars().all(|c| c.is_ascii_graphic() || c == ' ');
    if text.is_empty() || text.len() > Hello::MAX_VERSION_BYTES || !printable {
        return Err(HelloError::Version { field, found: text.chars().take(16).collect() });
    }
    Ok(())
}

fn check_host(text: &str) -> Result<(), HelloError> {
    if text.len() > NodeMap::MAX_ENTRY_BYTES || !text.chars().all(|c| c.is_ascii_graphic()) {
        return Err(HelloError::Host { found: text.chars().take(16).collect() });
    }
    Ok(())
}

/// A refusal: the answer to a hello instead of a hello. The stream is closed after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The two run different protocol or driver versions (`!V!`).
    Version {
        /// The refusing side's introduction.
        by: Arc<Hello>,
    },
    /// The two have different node maps (`!M!`).
    Map {
        /// The refusing side's introduction.
        by: Arc<Hello>,
        /// The first entries of the refusing side's map, cut to [`Refusal::MAX_MAP_ENTRIES`] and [`Refusal::MAX_MAP_BYTES`].
        entries: Arc<[String]>,
        /// How many entries that map really has.
        len: usize,
    },
    /// The maps are the same, but the hello's sender is not at the address of the node that it claims to be (`!M!`).
    NotAtItsAddress {
        /// The refusing side's introduction.
        by: Arc<Hello>,
    },
    /// The two have different domain tokens. Says nothing about the refusing side: it is none of the other's business.
    OtherDomain,
    /// The hello came from an instance that the refusing side knows to have ended.
    EndedInstance,
    /// The refusing side is shutting down.
    Leaving,
    /// What was shown does not prove that the hello's sender is the node that it claims to be. Says nothing more: whoever
    /// gets it may be a stranger.
    Unproven,
    /// The map has no node at the address that the hello came from (`!M!`). Says nothing more, likewise.
    AddressUnknown,
}

impl Refusal {
    /// The most map entries in a refusal: two racks with room to spare; the rest is not needed to find a mistake.
    pub const MAX_MAP_ENTRIES: usize = 1024;
    /// The most bytes of map entries in a refusal, so that a refusal stays below the limit for one message.
    pub const MAX_MAP_BYTES: usize = 32 * 1024;
}
