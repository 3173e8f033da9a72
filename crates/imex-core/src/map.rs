//! The node map: who belongs to the domain, in which order.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::NodeId;

/// The ordered list of a domain's nodes, as written: an IP address or a host name each.
///
/// A node's id is its place in the list. Every node of a domain must hold the same list; what is compared is the
/// text of the entries, never what a name resolves to (reference: NVIDIA IMEX guide, chapter on connections).
/// Never empty, no entry twice, cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct NodeMap {
    entries: Arc<[Arc<str>]>,
    digest: MapDigest,
}

/// Why a list of entries is no node map.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NodeMapError {
    /// There is no entry at all.
    #[error("node map is empty")]
    Empty,
    /// There are more entries than node ids.
    #[error("node map has {found} entries, at most {max} are allowed", max = NodeMap::MAX_ENTRIES)]
    TooMany {
        /// How many there are.
        found: usize,
    },
    /// An entry is longer than any host name.
    #[error("entry {index} of the node map has {found} bytes, at most {max} are allowed", max = NodeMap::MAX_ENTRY_BYTES)]
    EntryTooLong {
        /// Its place, from 0.
        index: usize,
        /// Its length in bytes.
        found: usize,
    },
    /// Two entries are the same.
    #[error("entry {entry:?} stands twice in the node map, as node {first} and as node {second}")]
    Duplicate {
        /// The entry.
        entry: String,
        /// Its first place, from 0.
        first: usize,
        /// Its second place, from 0.
        second: usize,
    },
}

impl NodeMap {
    /// The most entries: node ids have 16 bits, 0xFFFF means "none", and 0xFFFE is left free.
    pub const MAX_ENTRIES: usize = 65_534;
    /// The longest entry in bytes: the longest host name of RFC 1035, section 2.3.4.
    pub const MAX_ENTRY_BYTES: usize = 253;

    /// Checks a list of entries and computes its digest.
    pub fn new<I>(entries: I) -> Result<Self, NodeMapError>
    where
        I: IntoIterator,
        I::Item: Into<Arc<str>>,
    {
        let entries: Vec<Arc<str>> = entries.into_iter().map(Into::into).collect();
        if entries.is_empty() {
            return Err(NodeMapError::Empty);
        }
        if entries.len() > Self::MAX_ENTRIES {
            return Err(NodeMapError::TooMany { found: entries.len() });
        }
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, entry) in entries.iter().enumerate() {
            if entry.len() > Self::MAX_ENTRY_BYTES {
                return Err(NodeMapError::EntryTooLong { index, found: entry.len() });
            }
            if let Some(first) = places.insert(entry, index) {
                let entry = entry.to_string();
                return Err(NodeMapError::Duplicate { entry, first, second: index });
            }
        }
        let digest = MapDigest::of(&entries);
        Ok(NodeMap { entries: entries.into(), digest })
    }

    /// How many nodes there are; never 0.
    #[expect(clippy::len_without_is_empty, reason = "a node map is never empty")]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The entry of a node, or `None` if the map is shorter.
    pub fn get(&self, node: NodeId) -> Option<&str> {
        self.entries.get(node.index()).map(AsRef::as_ref)
    }

    /// All nodes, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = NodeId> + Clone + use<> {
        let len = u16::try_from(self.len()).expect("`new` admits at most 65,534 entries");
        (0..len).map(NodeId::new)
    }

    /// All nodes with their entries, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (NodeId, &str)> {
        self.ids().zip(self.entries.iter().map(AsRef::as_ref))
    }

    /// The digest of the whole list: equal for equal lists, different for different ones.
    pub fn digest(&self) -> MapDigest {
        self.digest
    }

    /// Where this map and `other` differ, in order, at most `limit` places.
    ///
    /// `other` may be cut short by its sender; then pass `other_len`, the number of entries it really has.
    pub fn differences(&self, other: &[String], other_len: usize, limit: usize) -> Vec<MapDifference> {
        let known = if other.len() < other_len { other.len() } else { self.len().max(other.len()) };
        (0..known)
            .filter_map(|index| {
                let ours = self.entries.get(index).map(|e| e.to_string());
                let theirs = other.get(index).cloned();
                (ours != theirs).then_some(MapDifference { index, ours, theirs })
            })
            .take(limit)
            .collect()
    }
}

impl fmt::Debug for NodeMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeMap({} nodes, {})", self.len(), self.digest)
    }
}

/// One place in which two node maps differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapDifference {
    /// The place, from 0: the node id that the two maps give to different nodes.
    pub index: usize,
    /// What this node's map has there; `None` if it is shorter.
    pub ours: Option<String>,
    /// What the other's map has there; `None` if it is shorter.
    pub theirs: Option<String>,
}

impl fmt::Display for MapDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |entry: &Option<String>| entry.clone().unwrap_or_else(|| "nothing".to_owned());
        write!(f, "entry {}: {} here, {} there", self.index, text(&self.ours), text(&self.theirs))
    }
}

/// SHA-256 over a node map's entries, each with its length before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MapDigest([u8; 32]);

impl MapDigest {
    /// The digest with these bytes, as a peer sent them.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        MapDigest(bytes)
    }

    /// The bytes, for the wire and the persist file.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn of(entries: &[Arc<str>]) -> Self {
        let mut hash = Sha256::new();
        for entry in entries {
            hash.update((entry.len() as u64).to_le_bytes());
            hash.update(entry.as_bytes());
        }
        MapDigest(hash.finalize().into())
    }
}

impl fmt::Display for MapDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for MapDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MapDigest({:02x}{:02x}{:02x}{:02x}…)", self.0[0], self.0[1], self.0[2], self.0[3])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_changes_the_digest() {
        let one = NodeMap::new(["10.0.0.1", "10.0.0.2"]).unwrap();
        let two = NodeMap::new(["10.0.0.2", "10.0.0.1"]).unwrap();
        assert_ne!(one.digest(), two.digest());
        assert_eq!(one.digest(), NodeMap::new(["10.0.0.1", "10.0.0.2"]).unwrap().digest());
    }

    #[test]
    fn entries_cannot_be_shifted_into_one_another() {
        let one = NodeMap::new(["ab", "c"]).unwrap();
        let two = NodeMap::new(["a", "bc"]).unwrap();
        assert_ne!(one.digest(), two.digest());
    }

    #[test]
    fn a_duplicate_names_both_places() {
        let error = NodeMap::new(["a", "b", "a"]).unwrap_err();
        assert_eq!(error, NodeMapError::Duplicate { entry: "a".to_owned(), first: 0, second: 2 });
    }

    #[test]
    fn emptiness_size_and_length_are_bounded() {
        assert_eq!(NodeMap::new(Vec::<String>::new()), Err(NodeMapError::Empty));
        let many = (0..=NodeMap::MAX_ENTRIES).map(|n| n.to_string());
        assert_eq!(NodeMap::new(many), Err(NodeMapError::TooMany { found: 65_535 }));
        let long = NodeMap::new(["a".repeat(254)]);
        assert_eq!(long, Err(NodeMapError::EntryTooLong { index: 0, found: 254 }));
    }

    #[test]
    fn differences_name_the_entries_and_respect_a_cut_list() {
        let map = NodeMap::new(["a", "b", "c"]).unwrap();
        let other = ["a".to_owned(), "x".to_owned()];
        let whole = map.differences(&other, 2, 10);
        assert_eq!(whole.len(), 2);
        assert_eq!(whole[1].theirs, None);
        let cut = map.differences(&other, 3, 10);
        assert_eq!(cut.len(), 1, "an entry that was cut off is not known to differ");
        assert_eq!(cut[0].to_string(), "entry 1: b here, x there");
    }
}
