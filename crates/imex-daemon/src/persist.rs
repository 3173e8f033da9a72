//! The persist file: who had imported memory from this node when it ended uncleanly.
//!
//! Its first line is the digest of the node map, each further line one importer: `Node 3: 10.0.0.4` (reference, chapter
//! on quorum modes). While nobody imports there is the key alone: from the start on, and after a clean stop too, which is
//! all that tells it from an unclean one. It lies on a file system that a reboot empties, which is right: imports do not
//! survive one.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use imex_config::file::{self, FileError};
use imex_config::replace::{ReplaceError, replace};
use imex_core::{NodeId, NodeMap};
use thiserror::Error;

/// The largest persist file that can be: a full map of entries of the greatest length. What is larger is not ours.
const MAX_BYTES: usize = NodeMap::MAX_ENTRIES * (NodeMap::MAX_ENTRY_BYTES + 16);

/// The persist file of one node.
#[derive(Debug)]
pub(crate) struct PersistFile {
    path: PathBuf,
    map: NodeMap,
    /// What it is known to hold.
    stored: Option<BTreeSet<NodeId>>,
}

/// What a persist file said at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Recalled {
    /// There is none: no run since the boot.
    Nothing,
    /// It belongs to another node map, so nobody in it matters.
    OtherMap,
    /// These nodes had imported; nobody after a clean end.
    Importers(BTreeSet<NodeId>),
}

/// Why a persist file cannot be used.
#[derive(Debug, Error)]
pub(crate) enum PersistError {
    /// Its directory cannot be made.
    #[error("make the directory of persist file {}", path.display())]
    Directory {
        /// Its path.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It cannot be read.
    #[error("read persist file {}", path.display())]
    Unreadable {
        /// Its path.
        path: PathBuf,
        /// Why not.
        source: FileError,
    },
    /// Its new content cannot be put in place of the old.
    #[error(transparent)]
    Replace(#[from] ReplaceError),
    /// A line is none of ours.
    #[error("read persist file {}: line {line} is not \"Node NUMBER: ADDRESS\" of this map", path.display())]
    Line {
        /// Its path.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
}

impl PersistFile {
    /// The persist file at this path for this map. Looks at nothing yet.
    pub(crate) fn new(path: PathBuf, map: NodeMap) -> Self {
        PersistFile { path, map, stored: None }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads it.
    pub(crate) fn recall(&mut self) -> Result<Recalled, PersistError> {
        let bytes = match file::read(&self.path, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(FileError::Missing) => return Ok(Recalled::Nothing),
            Err(source) => return Err(PersistError::Unreadable { path: self.path.clone(), source }),
        };
        // Bytes that are no text are no line of ours either.
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines();
        if lines.next() != Some(self.key().as_str()) {
            return Ok(Recalled::OtherMap);
        }
        let importers = lines
            .enumerate()
            .map(|(n, line)| {
                self.importer(line).ok_or_else(|| PersistError::Line { path: self.path.clone(), line: n + 2 })
            })
            .collect::<Result<BTreeSet<_>, _>>()?;
        self.stored = Some(importers.clone());
        Ok(Recalled::Importers(importers))
    }

    /// Replaces its content, unless it is known to hold the same. When this returns, the content survives a crash of
    /// the machine; at no time does a reader see half of it.
    pub(crate) fn record(&mut self, importers: &BTreeSet<NodeId>) -> Result<(), PersistError> {
        if self.stored.as_ref() == Some(importers) {
            return Ok(());
        }
        self.stored = None;
        if let Some(dir) = self.path.parent() {
            fs::create_dir_all(dir)
                .map_err(|source| PersistError::Directory { path: self.path.clone(), source })?;
        }
        replace(&self.path, self.content(importers).as_bytes())?;
        self.stored = Some(importers.clone());
        Ok(())
    }

    fn key(&self) -> String {
        self.map.digest().to_string()
    }

    fn importer(&self, line: &str) -> Option<NodeId> {
        let (number, address) = line.strip_prefix("Node ")?.split_once(": ")?;
        let node = NodeId::new(number.parse().ok()?);
        (self.map.get(node) == Some(address)).then_some(node)
    }

    fn content(&self, importers: &BTreeSet<NodeId>) -> String {
        let mut text = self.key() + "\n";
        for (node, address) in importers.iter().filter_map(|node| Some((node, self.map.get(*node)?))) {
            // Writing to a string does not fail.
            let _ = writeln!(text, "Node {node}: {address}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_recorded_is_recalled_until_nobody_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = persist_file(dir.path(), &["a", "b", "c"]);
        assert_eq!(file.recall().unwrap(), Recalled::Nothing);
        let importers = BTreeSet::from([NodeId::new(0), NodeId::new(2)]);
        file.record(&importers).unwrap();
        assert_eq!(file.recall().unwrap(), Recalled::Importers(importers));
        file.record(&BTreeSet::new()).unwrap();
        assert_eq!(file.recall().unwrap(), Recalled::Importers(BTreeSet::new()));
    }

    #[test]
    fn without_importers_there_is_the_key_alone() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = persist_file(dir.path(), &["a", "b"]);
        file.record(&BTreeSet::new()).unwrap();
        assert_eq!(fs::read_to_string(file.path()).unwrap(), file.key() + "\n");
    }

    #[test]
    fn what_the_file_holds_is_not_written_again_and_what_failed_is() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = persist_file(dir.path(), &["a", "b"]);
        let importers = BTreeSet::from([NodeId::new(1)]);
        file.record(&importers).unwrap();
        fs::remove_file(file.path()).unwrap();
        file.record(&importers).unwrap();
        assert!(!file.path().exists());
        fs::create_dir(file.path()).unwrap();
        assert!(file.record(&BTreeSet::new()).is_err());
        fs::remove_dir(file.path()).unwrap();
        file.record(&importers).unwrap();
        assert!(file.path().exists());
    }

    #[test]
    fn the_file_has_the_key_and_one_line_per_importer() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = persist_file(dir.path(), &["10.0.0.1", "10.0.0.2"]);
        file.record(&BTreeSet::from([NodeId::new(1)])).unwrap();
        let text = fs::read_to_string(file.path()).unwrap();
        assert_eq!(text, format!("{}\nNode 1: 10.0.0.2\n", file.map.digest()));
    }

    #[test]
    fn a_file_of_another_map_is_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        persist_file(dir.path(), &["a", "b"]).record(&BTreeSet::from([NodeId::new(1)])).unwrap();
        assert_eq!(persist_file(dir.path(), &["b", "a"]).recall().unwrap(), Recalled::OtherMap);
    }

    #[test]
    fn a_damaged_line_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = persist_file(dir.path(), &["a", "b"]);
        for line in ["Node 7: a", "Node 0: b", "Node x: a", "nonsense"] {
            fs::write(file.path(), format!("{}\n{line}\n", file.key())).unwrap();
            let error = file.recall().unwrap_err();
            assert!(matches!(error, PersistError::Line { line: 2, .. }), "{line}: {error:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_belong_to_no_map_of_ours() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = persist_file(dir.path(), &["a"]);
        fs::write(file.path(), [0xff, 0xfe, 0, 1]).unwrap();
        assert_eq!(file.recall().unwrap(), Recalled::OtherMap);
    }

    #[test]
    fn a_pipe_in_its_place_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = persist_file(dir.path(), &["a"]);
        nix::unistd::mkfifo(file.path(), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let told = file.recall();
        assert!(matches!(told, Err(PersistError::Unreadable { source: FileError::Special, .. })), "{told:?}");
        assert!(file.record(&BTreeSet::new()).is_err());
    }

    fn persist_file(dir: &Path, entries: &[&str]) -> PersistFile {
        let map = NodeMap::new(entries.iter().copied()).unwrap();
        PersistFile::new(dir.join("persist.dat"), map)
    }
}
