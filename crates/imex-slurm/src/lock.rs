//! One run at a time: prologs, epilogs and sweeps of a node take turns.

use std::fs::{self, File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::stat::{major, minor};
use thiserror::Error;
use tokio::time::sleep;

/// How often a lock is tried again.
const RETRY: Duration = Duration::from_millis(20);

/// Whoever can open the lock can take it, even who may only read it, and so keep jobs away.
const PRIVATE: u32 = 0o600;

/// A turn. It ends when it is dropped, and with the process, however that ends.
#[derive(Debug)]
pub struct Turn {
    _file: File,
}

/// Why there is no turn.
#[derive(Debug, Error)]
pub enum LockError {
    /// Another run has it.
    #[error("{} was in use for {} ms", path.display(), after.as_millis())]
    Busy {
        /// The lock.
        path: PathBuf,
        /// How long it was waited for.
        after: Duration,
    },
    /// The file cannot be used.
    #[error("{} cannot be used", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Waits for a turn at the node whose running state is in `run`.
///
/// # Errors
///
/// If there is none `within` the time.
pub async fn turn(run: &Path, within: Duration) -> Result<Turn, LockError> {
    let path = run.join("turn");
    let cannot = |source| LockError::Io { path: path.clone(), source };
    fs::create_dir_all(run).map_err(cannot)?;
    let opened = File::options().write(true).create(true).truncate(false).mode(PRIVATE).open(&path);
    let file = opened.map_err(cannot)?;
    file.set_permissions(Permissions::from_mode(PRIVATE)).map_err(cannot)?;
    let mut waited = Duration::ZERO;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Turn { _file: file }),
            Err(TryLockError::Error(source)) => return Err(LockError::Io { path, source }),
            Err(TryLockError::WouldBlock) if waited >= within => {
                return Err(LockError::Busy { path, after: within });
            }
            Err(TryLockError::WouldBlock) => {}
        }
        sleep(RETRY).await;
        waited += RETRY;
    }
}

/// If a run has its turn at the node whose running state is in `run`, by the kernel's list of locks (proc(5),
/// `/proc/locks`): whoever looks keeps nobody from a turn, and needs no right to take one.
///
/// # Errors
///
/// If the list cannot be read, or what is known of the lock's file.
pub fn is_taken(run: &Path, locks: &Path) -> io::Result<bool> {
    let lock = match fs::metadata(run.join("turn")) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    Ok(lists(&fs::read_to_string(locks)?, lock.dev(), lock.ino()))
}

/// If the list has a lock on this file that somebody holds; who waits for one stands behind an arrow.
fn lists(locks: &str, device: u64, inode: u64) -> bool {
    let file = format!("{:02x}:{:02x}:{inode}", major(device), minor(device));
    locks.lines().any(|line| line.split_whitespace().nth(5) == Some(&file))
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::makedev;

    use super::*;

    #[test]
    fn a_turn_is_seen_by_who_looks_and_takes_none() {
        let dir = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let taken = || is_taken(dir.path(), Path::new("/proc/locks")).unwrap();
        assert!(!taken());
        let first = runtime.block_on(turn(dir.path(), Duration::ZERO)).unwrap();
        assert!(taken());
        drop(first);
        // A process that another test starts in this moment has the lock's descriptor until its own exec.
        drop(runtime.block_on(turn(dir.path(), Duration::from_secs(20))).unwrap());
        let unseen = (0..1000).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            !taken()
        });
        assert!(unseen);
    }

    #[test]
    fn a_lock_is_that_of_its_file_and_of_who_holds_it() {
        let locks =
            "1: FLOCK  ADVISORY  WRITE 812 00:1a:77 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 813 00:1a:78 0 EOF\n";
        assert!(lists(locks, makedev(0, 26), 77));
        for (device, inode) in [(makedev(0, 26), 78), (makedev(0, 26), 7), (makedev(1, 26), 77)] {
            assert!(!lists(locks, device, inode));
        }
    }

    #[test]
    fn one_has_a_turn_and_nobody_else_can_even_open_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let turn = |within| runtime.block_on(turn(dir.path(), Duration::from_millis(within)));
        let first = turn(0).unwrap();
        assert!(matches!(turn(30), Err(LockError::Busy { .. })));
        drop(first);
        // Not at once: a process that another test starts in this moment has the lock's descriptor until its own exec.
        turn(5_000).unwrap();
        let mode = fs::metadata(dir.path().join("turn")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
