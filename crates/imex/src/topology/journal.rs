//! What a change of the topology file has come to, written before each step so that the next run can finish or undo it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::exit::Exit;
use crate::failure::Failure;

/// The version of the journal. A later one is not understood: the later program must finish what it began.
const SCHEMA_VERSION: u32 = 1;

/// The journal beside a file.
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    path: PathBuf,
}

/// A change that is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    schema_version: u32,
    /// Where it is.
    pub(crate) phase: Phase,
    /// The text before; `None` if there was no file.
    pub(crate) old: Option<String>,
    /// The text after.
    pub(crate) new: String,
}

/// Which way a change goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Phase {
    /// Towards the new text.
    Forward,
    /// Back to the old one.
    Back,
}

impl Journal {
    /// The journal of `file`: `.NAME.imex-journal` in its folder.
    pub(crate) fn of(file: &Path) -> Self {
        Journal { path: beside(file, "journal") }
    }

    /// If a run before left something unfinished.
    pub(crate) fn exists(&self) -> bool {
        self.path.exists()
    }

    /// The change that a run before left unfinished, if there is one.
    pub(crate) fn read(&self) -> Result<Option<Entry>, Failure> {
        let text = match fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failure(&error)),
        };
        let entry: Entry = serde_json::from_slice(&text).map_err(|error| self.failure(&error))?;
        if entry.schema_version == SCHEMA_VERSION {
            return Ok(Some(entry));
        }
        let what = format!("its version is {}, not {SCHEMA_VERSION}", entry.schema_version);
        Err(self.failure(&io::Error::other(what)))
    }

    /// Notes where a change is. It is on the disk when this returns.
    pub(crate) fn write(&self, phase: Phase, old: Option<&str>, new: &str) -> Result<(), Failure> {
        let (old, new) = (old.map(str::to_owned), new.to_owned());
        let entry = Entry { schema_version: SCHEMA_VERSION, phase, old, new };
        let text = serde_json::to_vec(&entry).map_err(|error| self.failure(&error))?;
        imex_config::replace(&self.path, &text).map_err(|error| Failure::new(Exit::Failed, &error))
    }

    /// Notes that nothing is under way.
    pub(crate) fn clear(&self) -> Result<(), Failure> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(self.failure(&error)),
        }
    }

    fn failure(&self, error: &dyn std::error::Error) -> Failure {
        Failure::new(Exit::Failed, error)
            .about(&format!("the journal {}", self.path.display()))
            .hint("if no other program is changing the file, look at the file, then remove the journal")
    }
}

/// A hidden file of ours in the folder of `file`.
pub(crate) fn beside(file: &Path, what: &str) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!(".{name}.imex-{what}"))
}
