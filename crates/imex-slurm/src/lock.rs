//! One run at a time: prologs, epilogs and sweeps of a node take turns.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;
use tokio::time::sleep;

/// How often a lock is tried again.
const RETRY: Duration = Duration::from_millis(20);

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
    let file = File::options().write(true).create(true).truncate(false).open(&path).map_err(cannot)?;
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
