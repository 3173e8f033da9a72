//! Writing keys and certificates: keys closed to others, nothing replaced unasked, all or nothing.

use std::ffi::OsString;
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Existing {
    /// They are a failure.
    Kept {
        /// What to do about it.
        hint: String,
    },
    Replaced,
}

impl Existing {
    pub(super) fn from_force(force: bool, hint: String) -> Self {
        if force { Existing::Replaced } else { Existing::Kept { hint } }
    }
}

/// Writes all drafts; none if one of the files is there and is to be kept, or cannot be written.
///
/// Each is written in full beside its place; only when all are there do they take their places, one right after the other. A
/// daemon that reads between two of them finds a key that does not fit its certificate, and keeps what it has until it is
/// told to read again.
pub(super) fn write(drafts: &[Draft], existing: Existing) -> Result<(), Failure> {
    if let Existing::Kept { hint } = existing {
        let there = drafts.iter().find(|draft| draft.path.symlink_metadata().is_ok());
        if let Some(draft) = there {
            let message = format!("{} is there already", draft.path.display());
            return Err(Failure::because(Exit::PkiExists, message).hint(hint));
        }
    }
    let mut staged = Staged(Vec::with_capacity(drafts.len()));
    for draft in drafts {
        staged.add(draft).map_err(|error| unwritable(&draft.path, &error))?;
    }
    staged.take_places()
}

/// Files beside their places. Those that are still there at the end, because something went wrong, are removed.
struct Staged(Vec<(PathBuf, PathBuf)>);

impl Staged {
    fn add(&mut self, draft: &Draft) -> io::Result<()> {
        let Draft { path, secrecy, text } = draft;
        // What no file can replace is found before any is replaced.
        if path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let dir = path.parent().unwrap_or(Path::new("."));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let mode = match secrecy {
            Secrecy::Secret => 0o600,
            Secrecy::Public => 0o644,
        };
        let beside = beside(path);
        // Left behind by a run that was killed; it must not decide the mode.
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside)?;
        self.0.push((beside, path.clone()));
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }

    fn take_places(mut self) -> Result<(), Failure> {
        let all = self.0.len();
        while let Some((beside, path)) = self.0.last() {
            fs::rename(beside, path).map_err(|error| {
                let hint =
                    format!("{} of {all} files are in their places already; try again", all - self.0.len());
                unwritable(path, &error).hint(hint)
            })?;
            self.0.pop();
        }
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        for (beside, _) in &self.0 {
            // What stays behind is removed by the next run.
            let _ = fs::remove_file(beside);
        }
    }
}

/// Where a file is until all are written: `server.key.new` and `server.crt.new` are two.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().map(OsString::from).unwrap_or_default();
    name.push(".new");
    path.with_file_name(name)
}

pub(super) fn unwritable(path: &Path, error: &io::Error) -> Failure {
    Failure::because(Exit::PkiUnwritable, format!("{}: {}", path.display(), in_words(error)))
}

/// What the system says, without its number for it.
pub(super) fn in_words(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error").map_or(text.clone(), |(words, _)| words.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_in_full_is_not_written_in_part() {
        let temp = tempfile::tempdir().unwrap();
        let path = |name: &str| temp.path().join(name);
        write(&[draft(path("key"), "old key"), draft(path("crt"), "old crt")], Existing::Replaced).unwrap();
        fs::create_dir(path("ca")).unwrap();
        let news = ["key", "crt", "more/key", "ca"].map(|name| draft(path(name), "new"));
        assert!(write(&news, Existing::Replaced).is_err());
        let read = |name: &str| fs::read_to_string(path(name)).unwrap();
        assert_eq!([read("key"), read("crt")], ["old key", "old crt"]);
        let left: Vec<_> = fs::read_dir(path("more")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
        fs::remove_dir(path("ca")).unwrap();
        write(&news, Existing::Replaced).unwrap();
        assert_eq!([read("key"), read("crt"), read("more/key"), read("ca")], ["new"; 4]);
    }

    #[test]
    fn what_is_there_is_kept_unless_it_is_to_be_replaced() {
        let temp = tempfile::tempdir().unwrap();
        let drafts = ["one", "two"].map(|name| draft(temp.path().join(name), "new"));
        fs::write(temp.path().join("two"), "old").unwrap();
        assert!(write(&drafts, Existing::Kept { hint: String::new() }).is_err());
        assert!(!temp.path().join("one").exists());
        write(&drafts, Existing::Replaced).unwrap();
        assert_eq!(fs::read_to_string(temp.path().join("two")).unwrap(), "new");
    }

    fn draft(path: PathBuf, text: &str) -> Draft {
        Draft { path, secrecy: Secrecy::Secret, text: text.to_owned() }
    }
}
