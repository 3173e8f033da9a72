//! Replacing a file as a whole: a reader sees the old contents or the new ones, never a part.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Permission bits of a file that did not exist before: everybody may read it, as packages install it.
const NEW_FILE_MODE: u32 = 0o644;

/// How many names for the new file are tried. One is taken only after a crash of a process with the same number.
const NAMES: u32 = 16;

/// Why a file was not replaced. It is then as it was.
#[derive(Debug, Error)]
#[error("file {} cannot be replaced: {step} failed", path.display())]
pub struct ReplaceError {
    /// The file.
    pub path: PathBuf,
    /// What failed, as a noun.
    pub step: &'static str,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// Writes a file anew: into a new file in the same directory, which is synced and then renamed.
///
/// Mode and owner of the old file are kept, and a symbolic link stays one: the file it leads to is replaced. Nothing but a
/// regular file is: a device or a pipe, which a new file would put an end to, is refused.
pub fn replace(path: &Path, contents: &[u8]) -> Result<(), ReplaceError> {
    let target = match path.canonicalize() {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(failure(path, "finding it")(error)),
    };
    let old = match target.metadata() {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failure(path, "looking at it")(error)),
    };
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        let other = io::Error::other("what lies there is not a regular file");
        return Err(failure(path, "judging what it replaces")(other));
    }
    let (mut file, temporary) = create_beside(&target).map_err(failure(path, "creating a file beside it"))?;
    let renamed = fill(&mut file, old.as_ref(), contents)
        .map_err(failure(path, "writing a file beside it"))
        .and_then(|()| fs::rename(&temporary, &target).map_err(failure(path, "renaming a file to it")));
    if let Err(error) = renamed {
        // The first error is the one to tell; a file that is left behind is in nobody's way.
        let _ = fs::remove_file(&temporary);
        return Err(error);
    }
    // The rename survives a power failure only when the directory is written too.
    File::open(directory(&target))
        .and_then(|directory| directory.sync_all())
        .map_err(failure(path, "syncing its directory"))
}

fn failure(path: &Path, step: &'static str) -> impl Fn(io::Error) -> ReplaceError {
    move |source| ReplaceError { path: path.to_owned(), step, source }
}

fn fill(file: &mut File, old: Option<&fs::Metadata>, contents: &[u8]) -> io::Result<()> {
    file.write_all(contents)?;
    if let Some(old) = old {
        let new = file.metadata()?;
        if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
            fchown(&*file, Some(old.uid()), Some(old.gid()))?;
        }
    }
    let mode = old.map_or(NEW_FILE_MODE, |old| old.mode() & 0o7777);
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    file.sync_all()
}

fn create_beside(target: &Path) -> io::Result<(File, PathBuf)> {
    let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let mut taken = io::Error::from(io::ErrorKind::AlreadyExists);
    for attempt in 0..NAMES {
        let temporary = directory(target).join(format!(".{name}.{}-{attempt}", std::process::id()));
        // Private until it has the old file's owner and mode.
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary) {
            Ok(file) => return Ok((file, temporary)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}

fn directory(target: &Path) -> &Path {
    match target.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        Some(_) | None => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let names =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn the_mode_is_kept_and_nothing_is_left_behind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config.cfg");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o640);
        assert_eq!(names(directory.path()), ["config.cfg"]);
    }

    #[test]
    fn a_file_that_was_not_there_is_made() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config.cfg");
        replace(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o644);
    }

    #[test]
    fn a_link_stays_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let (real, link) = (directory.path().join("real.cfg"), directory.path().join("link.cfg"));
        fs::write(&real, "old").unwrap();
        symlink(&real, &link).unwrap();
        replace(&link, b"new").unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"new");
    }

    #[test]
    fn a_file_left_by_a_crash_is_not_in_the_way() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("config.cfg");
        fs::write(directory.path().join(format!(".config.cfg.{}-0", std::process::id())), "half").unwrap();
        replace(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn only_a_regular_file_is_replaced_and_nothing_is_left_behind() {
        let directory = tempfile::tempdir().unwrap();
        let (folder, pipe) = (directory.path().join("a"), directory.path().join("b"));
        fs::create_dir(&folder).unwrap();
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        symlink(&pipe, directory.path().join("c")).unwrap();
        for path in [&folder, &pipe, &directory.path().join("c"), Path::new("/dev/null")] {
            let error = replace(path, b"new").unwrap_err();
            assert_eq!(error.step, "judging what it replaces");
        }
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        assert_eq!(names(directory.path()), ["a", "b", "c"]);
    }
}
