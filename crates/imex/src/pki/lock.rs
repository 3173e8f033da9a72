//! One run at a time on one authority: two that look for files and then write them would mix their keys and certificates.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use super::files::unwritable;
use crate::exit::Exit;
use crate::failure::Failure;

/// How long another run is waited for. One for a rack takes less than a second.
pub(super) const WAIT: Duration = Duration::from_secs(10);

/// How often it is looked whether the other has ended.
const RETRY: Duration = Duration::from_millis(50);

/// An authority's folder, until it is dropped or this process ends. Nothing stays behind in it.
///
/// Where the file system has no locks of folders, as NFS, runs are not kept apart.
#[derive(Debug)]
pub(super) struct Lock {
    _folder: Option<File>,
}

impl Lock {
    /// Takes the folder of an authority that is to be made, and makes it where it is not there.
    pub(super) fn make(folder: &Path) -> Result<Self, Failure> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| unwritable(folder, &error))?;
        Self::take(folder, WAIT)
    }

    /// Takes the folder of an authority, within a time. Whoever reads what is not there says so better than this.
    pub(super) fn take(folder: &Path, within: Duration) -> Result<Self, Failure> {
        let Ok(file) = File::open(folder) else { return Ok(Lock { _folder: None }) };
        let mut waited = Duration::ZERO;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { _folder: Some(file) }),
                Err(TryLockError::Error(_)) => return Ok(Lock { _folder: None }),
                Err(TryLockError::WouldBlock) if waited >= within => return Err(busy(folder, within)),
                Err(TryLockError::WouldBlock) => {}
            }
            sleep(RETRY);
            waited += RETRY;
        }
    }
}

fn busy(folder: &Path, within: Duration) -> Failure {
    let what = format!("{}: another imex pki has been at work in it for {within:?}", folder.display());
    Failure::because(Exit::PkiUnwritable, what).hint("try again when it has ended")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_one_runs_at_a_time() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("pki");
        let first = Lock::make(&folder).unwrap();
        let busy = Lock::take(&folder, Duration::ZERO).unwrap_err();
        let said = format!("{busy:?}");
        assert!(said.contains("another imex pki has been at work in it"), "{said}");
        drop(first);
        Lock::take(&folder, Duration::ZERO).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_is_not_there_is_not_made_by_whoever_reads() {
        let temp = tempfile::tempdir().unwrap();
        Lock::take(&temp.path().join("pki"), Duration::ZERO).unwrap();
        assert!(!temp.path().join("pki").exists());
    }
}
