//! Writing keys and certificates: keys closed to others, nothing replaced unasked, all or nothing.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::exit::Exit;
use crate::failure::Failure;

/// A file that is to be written.
pub(super) struct Draft {
    pub(super) path: PathBuf,
    pub(super) secrecy: Secrecy,
    pub(super) text: String,
}

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Secrecy {
    /// Its owner.
    Secret,
    /// Everybody.
    Public,
}

/// Whether files that are there are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Existing {
    Kept,
    Replaced,
}

impl Existing {
    pub(super) fn from_force(force: bool) -> Self {
        if force { Existing::Replaced } else { Existing::Kept }
    }
}

/// Writes all drafts; none if one of the files is there and is to be kept.
pub(super) fn write(drafts: &[Draft], existing: Existing) -> Result<(), Failure> {
    if existing == Existing::Kept {
        let there = drafts.iter().find(|draft| draft.path.symlink_metadata().is_ok());
        if let Some(draft) = there {
            let message = format!("{} is there already", draft.path.display());
            let hint = "--force replaces it; what was issued with an authority's old key then counts no more";
            return Err(Failure::because(Exit::PkiExists, message).hint(hint));
        }
    }
    drafts.iter().try_for_each(|draft| {
        write_one(draft).map_err(|error| {
            Failure::because(Exit::PkiUnwritable, format!("{}: {error}", draft.path.display()))
        })
    })
}

/// Beside its place and then into it, so that a daemon that reads it meanwhile sees the old one or the new one whole.
fn write_one(draft: &Draft) -> io::Result<()> {
    let dir = draft.path.parent().unwrap_or(Path::new("."));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let mode = match draft.secrecy {
        Secrecy::Secret => 0o600,
        Secrecy::Public => 0o644,
    };
    let beside = draft.path.with_extension("new");
    // Left behind by a run that was killed; it must not decide the mode.
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside)?;
    file.write_all(draft.text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, &draft.path)
}
