//! Every key of `config.cfg`: its values, its default, and what it is for.
//!
//! The table is the one source: values are judged by it, defaults come from it, and the commented example file is
//! written from it. Names and meanings are those of NVIDIA's service (`config.cfg` of its packages and the IMEX guide,
//! chapter on configuration); keys that only this service has begin with `OPENIMEX_`.

pub mod table;
pub mod value;

use std::fmt;

pub use table::ALL;
pub use value::ValueError;

/// One key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its name, as it stands before the `=`.
    pub name: &'static str,
    /// What it has when the file does not set it; may be empty.
    pub default: &'static str,
    /// Which values it takes.
    pub kind: Kind,
    /// Where it belongs.
    pub group: Group,
    /// What it is for, in lines that each begin with a blank.
    pub doc: &'static [&'static str],
}

/// Which values a key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 0 or 1.
    Switch,
    /// A whole number.
    Integer {
        /// The least.
        min: i64,
        /// The greatest.
        max: i64,
    },
    /// A whole number, or empty where the daemon is to choose.
    OptionalInteger {
        /// The least.
        min: i64,
        /// The greatest.
        max: i64,
    },
    /// A TCP port, or empty for none.
    OptionalPort,
    /// Permission bits in octal, at most 0777.
    Mode,
    /// One of some words.
    Word(&'static [&'static str]),
    /// One of some words, or whatever else as long as security is off; see [`crate::security`].
    SecurityWord(&'static [&'static str]),
    /// A path from the root.
    Path,
    /// A path from the root, or empty.
    OptionalPath,
    /// An IP address, or empty. A link-local one may name its interface (`fe80::1%eth0`).
    OptionalAddress,
    /// The same for listening: `0.0.0.0` and `::` are allowed too.
    OptionalListenAddress,
    /// The name of a network interface, or empty.
    OptionalInterface,
    /// A host name, or empty.
    OptionalHost,
    /// A text that is not empty.
    Text,
    /// Any text: its form depends on another key.
    Free,
    /// A domain token, or empty.
    Token,
}

/// The sections of the file, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Logging and process.
    Process,
    /// The network between the nodes.
    Network,
    /// Quorum and lost nodes.
    Quorum,
    /// Authentication and encryption.
    Security,
    /// The command service.
    Command,
    /// Keys that NVIDIA's service does not have.
    Own,
    /// Keys of earlier versions of NVIDIA's service: understood, without effect, not in the example.
    Legacy,
}

impl Group {
    /// Its heading in the file.
    pub const fn heading(self) -> &'static str {
        match self {
            Group::Process => "Logging and process",
            Group::Network => "Network between the nodes",
            Group::Quorum => "Quorum and lost nodes",
            Group::Security => "Authentication and encryption",
            Group::Command => "Command service",
            Group::Own => "Keys of this service only",
            Group::Legacy => "Keys of earlier versions",
        }
    }
}

impl fmt::Display for Kind {
    /// The values, for people.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Switch => f.write_str("0 or 1"),
            Kind::Integer { min, max } => write!(f, "{min} to {max}"),
            Kind::OptionalInteger { min, max } => write!(f, "{min} to {max}, or empty"),
            Kind::OptionalPort => f.write_str("0 to 65535, or empty"),
            Kind::Mode => f.write_str("0000 to 0777, octal"),
            Kind::Word(words) | Kind::SecurityWord(words) => f.write_str(&words.join(", ")),
            Kind::Path => write!(f, "a path from the root, at most {} bytes", value::MAX_PATH_BYTES),
            Kind::OptionalPath => {
                write!(f, "a path from the root, at most {} bytes, or empty", value::MAX_PATH_BYTES)
            }
            Kind::OptionalAddress | Kind::OptionalListenAddress => {
                f.write_str("an IPv4 or IPv6 address, or empty")
            }
            Kind::OptionalInterface => f.write_str("the name of an interface, or empty"),
            Kind::OptionalHost => f.write_str("a host name, or empty"),
            Kind::Text => f.write_str("text"),
            Kind::Free => f.write_str("text, or empty"),
            Kind::Token => f.write_str("printable ASCII without blanks, at most 128 characters, or empty"),
        }
    }
}

/// The key with this name.
pub fn find(name: &str) -> Option<&'static Key> {
    ALL.iter().copied().find(|key| key.name == name)
}

/// The key that somebody who wrote `name` may have meant.
pub fn nearest(name: &str) -> Option<&'static Key> {
    let name = name.to_ascii_uppercase();
    let allowed = allowed_edits(&name);
    let distance = |key: &Key| strsim::damerau_levenshtein(&name, key.name);
    let scored = ALL.iter().copied().map(|key| (distance(key), key));
    // The first of the best: the order of the table decides ties.
    scored.filter(|(edits, _)| *edits <= allowed).min_by_key(|(edits, _)| *edits).map(|(_, key)| key)
}

/// A third of the letters, but no more than 6: beyond that two long names with a common prefix would match. A name
/// that is much longer than any key is not compared at all.
fn allowed_edits(name: &str) -> usize {
    if name.len() > 64 { 0 } else { (name.len() / 3).min(6) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_default_is_a_value_of_its_key() {
        for key in ALL {
            assert_eq!(key.judge(key.default), Ok(()), "{}", key.name);
        }
    }

    #[test]
    fn names_are_unique_and_ours_begin_with_openimex() {
        let names: BTreeSet<_> = ALL.iter().map(|key| key.name).collect();
        assert_eq!(names.len(), ALL.len());
        for key in ALL {
            assert_eq!(key.name.starts_with("OPENIMEX_"), key.group == Group::Own, "{}", key.name);
        }
    }

    #[test]
    fn every_key_says_what_it_is_for_in_lines_that_fit() {
        for key in ALL {
            assert!(!key.doc.is_empty(), "{}", key.name);
            for line in key.doc {
                assert!(line.starts_with(' ') && line.len() <= 100, "{}: {line}", key.name);
            }
        }
    }

    #[test]
    fn a_slip_finds_the_key_and_a_stranger_finds_none() {
        let nearest = |name| nearest(name).map(|key| key.name);
        assert_eq!(nearest("SERVER_PROT"), Some("SERVER_PORT"));
        assert_eq!(nearest("server_port"), Some("SERVER_PORT"));
        assert_eq!(nearest("IMEX_AUTH_ENCRYPTIPON_MODE"), Some("IMEX_AUTH_ENCRYPTION_MODE"));
        assert_eq!(nearest("IMEX_NODES_CONFIG_FILE"), Some("IMEX_NODE_CONFIG_FILE"));
        assert_eq!(nearest("GRPC_KEEPALIVE"), None);
        assert_eq!(nearest("A"), None);
        assert_eq!(nearest(&"SERVER_PORT".repeat(1000)), None);
    }
}
