//! Who uses the node's IMEX domain, and who is about to remake it: a folder of small files.
//!
//! A job's prolog takes a lease before the job may run and its epilog gives it back; `imex follow` claims the node before
//! it writes another node map and restarts the service. While there is a lease nobody can claim, while there is a claim
//! nobody can take a lease. docs/deployment-models.md is the contract for other programs.
//!
//! A lease is a file, because who takes it ends at once and it must outlive them; it is gone after a reboot, as the job
//! is. A claim is a lock on a file, held by a process: one that dies has claimed nothing.

use std::fs::{self, File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The folder where everybody expects the leases.
pub const DEFAULT_DIR: &str = "/run/imex/leases";

/// The version of a lease's file. It rises when a field changes its meaning or goes, not when one comes.
const SCHEMA_VERSION: u32 = 1;

/// How long a turn at the folder is waited for. Turns take less than a millisecond; longer means that somebody was
/// stopped in the middle of one.
const TURN: Duration = Duration::from_secs(2);

/// How often a turn is tried again.
const RETRY: Duration = Duration::from_millis(5);

/// The leases of this node.
#[derive(Clone, Debug)]
pub struct Leases {
    dir: PathBuf,
}

/// Who holds a lease: 1 to 64 of letters, digits, `.`, `_`, `-`, not beginning with a dot. For a Slurm job: its number and
/// restart count, `123.0`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Holder(String);

/// A text that names no holder.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is no holder of a lease: 1 to 64 letters, digits, dots, `_` or `-`, not a dot first")]
pub struct HolderError {
    text: String,
}

/// A lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Who holds it.
    pub holder: Holder,
    /// Since when; `None` if the file does not tell: it is a lease all the same.
    pub since: Option<Timestamp>,
}

/// What a lease's file holds.
#[derive(Serialize, Deserialize)]
struct Written {
    schema_version: u32,
    holder: String,
    since: Timestamp,
}

/// If there was something to give back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returned {
    /// The lease is gone now.
    Now,
    /// There was none.
    Before,
}

/// Why a lease or a claim is not to be had.
#[derive(Debug, Error)]
pub enum LeaseError {
    /// Somebody remakes the domain.
    #[error("the node's domain is being remade")]
    Claimed,
    /// Somebody uses the domain.
    #[error("the node's domain is in use by {}", names(.by))]
    Held {
        /// Who; at least one.
        by: Vec<Lease>,
    },
    /// Another process holds its turn at the folder.
    #[error("{} was in use for {} ms", path.display(), TURN.as_millis())]
    Busy {
        /// The lock.
        path: PathBuf,
    },
    /// The folder cannot be used.
    #[error("{} cannot be used", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Proof that nobody can take a lease until it is dropped.
#[derive(Debug)]
pub struct Claim {
    _lock: File,
}

impl Leases {
    /// The leases in `dir`, which is made when it is needed.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Leases { dir: dir.into() }
    }

    /// Takes a lease. To take one again is no error.
    ///
    /// # Errors
    ///
    /// [`LeaseError::Claimed`] while the domain is being remade, which passes within seconds.
    pub fn take(&self, holder: &Holder, since: Timestamp) -> Result<(), LeaseError> {
        let _turn = self.turn()?;
        let path = self.claim_file();
        match open(&path)?.try_lock_shared() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LeaseError::Claimed),
            Err(TryLockError::Error(source)) => return Err(LeaseError::Io { path, source }),
        }
        let path = self.file(holder);
        if path.exists() {
            return Ok(());
        }
        let lease = Written { schema_version: SCHEMA_VERSION, holder: holder.0.clone(), since };
        fs::write(&path, lease.text()).map_err(io_error(&path))
    }

    /// Gives a lease back.
    ///
    /// # Errors
    ///
    /// If the folder cannot be used.
    pub fn give_back(&self, holder: &Holder) -> Result<Returned, LeaseError> {
        let _turn = self.turn()?;
        let path = self.file(holder);
        match fs::remove_file(&path) {
            Ok(()) => Ok(Returned::Now),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Returned::Before),
            Err(source) => Err(LeaseError::Io { path, source }),
        }
    }

    /// The leases that are held, by holder.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read.
    pub fn held(&self) -> Result<Vec<Lease>, LeaseError> {
        let entries = match fs::read_dir(&self.dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(LeaseError::Io { path: self.dir.clone(), source }),
        };
        let mut leases = Vec::new();
        for entry in entries {
            let entry = entry.map_err(io_error(&self.dir))?;
            let name = entry.file_name();
            let holder = name.to_str().and_then(|name| name.strip_suffix(".lease"));
            let Some(holder) = holder.and_then(|holder| holder.parse().ok()) else { continue };
            // Gone or unreadable meanwhile: only the name counts.
            let text = fs::read(entry.path()).unwrap_or_default();
            let since = serde_json::from_slice::<Written>(&text).ok().map(|written| written.since);
            leases.push(Lease { holder, since });
        }
        leases.sort_by(|a, b| a.holder.cmp(&b.holder));
        Ok(leases)
    }

    /// Claims the node, so that its domain may be remade.
    ///
    /// # Errors
    ///
    /// [`LeaseError::Held`] while there is a lease, [`LeaseError::Claimed`] while another process has claimed it.
    pub fn claim(&self) -> Result<Claim, LeaseError> {
        let _turn = self.turn()?;
        let by = self.held()?;
        if !by.is_empty() {
            return Err(LeaseError::Held { by });
        }
        let path = self.claim_file();
        let lock = open(&path)?;
        match lock.try_lock() {
            Ok(()) => Ok(Claim { _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(LeaseError::Claimed),
            Err(TryLockError::Error(source)) => Err(LeaseError::Io { path, source }),
        }
    }

    /// A turn at the folder: what is looked at stays so until it ends.
    fn turn(&self) -> Result<File, LeaseError> {
        fs::create_dir_all(&self.dir).map_err(io_error(&self.dir))?;
        let path = self.dir.join(".turn");
        let lock = open(&path)?;
        let mut waited = Duration::ZERO;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(TryLockError::Error(source)) => return Err(LeaseError::Io { path, source }),
                Err(TryLockError::WouldBlock) if waited >= TURN => return Err(LeaseError::Busy { path }),
                Err(TryLockError::WouldBlock) => {}
            }
            thread::sleep(RETRY);
            waited += RETRY;
        }
    }

    fn file(&self, holder: &Holder) -> PathBuf {
        self.dir.join(format!("{}.lease", holder.0))
    }

    fn claim_file(&self) -> PathBuf {
        self.dir.join(".claim")
    }
}

impl Written {
    fn text(&self) -> String {
        serde_json::to_string(self).expect("it is strings and numbers") + "\n"
    }
}

impl FromStr for Holder {
    type Err = HolderError;

    fn from_str(text: &str) -> Result<Self, HolderError> {
        let usable = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
        let good = (1..=64).contains(&text.len()) && !text.starts_with('.') && text.chars().all(usable);
        if good { Ok(Holder(text.to_owned())) } else { Err(HolderError { text: text.to_owned() }) }
    }
}

impl Holder {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Only its owner may open it: whoever can open a file can lock it, even for reading, and so keep jobs away.
fn open(path: &Path) -> Result<File, LeaseError> {
    const PRIVATE: u32 = 0o600;
    let opened = File::options().read(true).write(true).create(true).truncate(false).mode(PRIVATE).open(path);
    let file = opened.map_err(io_error(path))?;
    // One that an earlier version made.
    file.set_permissions(Permissions::from_mode(PRIVATE)).map_err(io_error(path))?;
    Ok(file)
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> LeaseError {
    let path = path.to_owned();
    move |source| LeaseError::Io { path, source }
}

fn names(leases: &[Lease]) -> String {
    leases.iter().map(|lease| lease.holder.as_str()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_no_claim_while_there_is_a_lease_and_no_lease_while_there_is_a_claim() {
        let dir = tempfile::tempdir().unwrap();
        let leases = Leases::at(dir.path().join("leases"));
        assert_eq!(leases.held().unwrap(), []);
        let (one, two) = (holder("7.0"), holder("8.0"));
        for holder in [&two, &one, &one] {
            leases.take(holder, Timestamp::UNIX_EPOCH).unwrap();
        }
        let error = leases.claim().unwrap_err();
        assert_eq!(error.to_string(), "the node's domain is in use by 7.0, 8.0");
        assert_eq!(leases.give_back(&one).unwrap(), Returned::Now);
        assert_eq!(leases.give_back(&one).unwrap(), Returned::Before);
        leases.give_back(&two).unwrap();
        let claim = leases.claim().unwrap();
        assert!(matches!(leases.claim().unwrap_err(), LeaseError::Claimed));
        assert!(matches!(leases.take(&one, Timestamp::UNIX_EPOCH).unwrap_err(), LeaseError::Claimed));
        drop(claim);
        leases.take(&one, Timestamp::UNIX_EPOCH).unwrap();
    }

    #[test]
    fn nobody_else_can_lock_what_keeps_jobs_away() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(".turn"), "").unwrap();
        let leases = Leases::at(dir.path());
        drop(leases.claim().unwrap());
        for name in [".turn", ".claim"] {
            let mode = fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
    }

    #[test]
    fn a_lease_counts_whatever_its_file_holds() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("9.1.lease"), "").unwrap();
        fs::write(dir.path().join("notes.txt"), "").unwrap();
        let leases = Leases::at(dir.path());
        assert_eq!(leases.held().unwrap(), [Lease { holder: holder("9.1"), since: None }]);
    }

    #[test]
    fn a_holder_is_a_plain_name() {
        for wrong in ["", ".x", "a/b", "a b", &"x".repeat(65)] {
            assert!(wrong.parse::<Holder>().is_err(), "{wrong:?}");
        }
    }

    fn holder(name: &str) -> Holder {
        name.parse().unwrap()
    }
}
