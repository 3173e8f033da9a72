//! Which boot of the machine this is, and since when it runs.
//!
//! What a program leaves in `/run` or in the kernel ends with the boot. Files that outlive it carry the boot's id, so
//! that whoever finds them later knows that what they speak of is gone.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Where the kernel shows the boot's id: random(4).
pub const DEFAULT_ID_PATH: &str = "/proc/sys/kernel/random/boot_id";

/// Where the kernel shows when it was booted: `btime` of proc_stat(5).
pub const DEFAULT_STAT_PATH: &str = "/proc/stat";

/// One boot of a machine: a UUID that the kernel draws when it starts, in lower case.
///
/// It says nothing of the time between suspend and resume, and containers share that of their machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct BootId(String);

/// Why the boot is not known.
#[derive(Debug, Error)]
pub enum BootError {
    /// A file cannot be read.
    #[error("{} cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file holds no id.
    #[error("{} holds no boot id", path.display())]
    Id {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: NotABootId,
    },
    /// The file does not tell the time of the boot.
    #[error("{} has no line `btime` with a time", path.display())]
    Time {
        /// The file.
        path: PathBuf,
    },
}

/// A text that is no boot id.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not a UUID (8-4-4-4-12 hexadecimal digits, not all zero)")]
pub struct NotABootId {
    text: String,
}

/// This boot's id, from `path`, as a rule [`DEFAULT_ID_PATH`].
///
/// # Errors
///
/// If the file cannot be read or holds something else.
pub fn id(path: &Path) -> Result<BootId, BootError> {
    let text = read(path)?;
    text.trim_end().parse().map_err(|source| BootError::Id { path: path.to_owned(), source })
}

/// When the machine was booted, to the second, from `path`, as a rule [`DEFAULT_STAT_PATH`]. It moves when the clock is
/// set: it is for people, and two boots are told apart by their ids.
///
/// # Errors
///
/// If the file cannot be read or does not tell it.
pub fn since(path: &Path) -> Result<Timestamp, BootError> {
    let text = read(path)?;
    boot_time(&text).ok_or_else(|| BootError::Time { path: path.to_owned() })
}

fn boot_time(stat: &str) -> Option<Timestamp> {
    let seconds = stat.lines().find_map(|line| line.strip_prefix("btime "))?;
    Timestamp::from_second(seconds.trim().parse().ok()?).ok()
}

fn read(path: &Path) -> Result<String, BootError> {
    fs::read_to_string(path).map_err(|source| BootError::Read { path: path.to_owned(), source })
}

impl BootId {
    /// The id as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for BootId {
    type Err = NotABootId;

    fn from_str(text: &str) -> Result<Self, NotABootId> {
        let groups = text.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
        let digits = text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
        let drawn = text.bytes().any(|byte| byte != b'-' && byte != b'0');
        if groups && digits && drawn {
            Ok(BootId(text.to_ascii_lowercase()))
        } else {
            Err(NotABootId { text: text.to_owned() })
        }
    }
}

impl fmt::Display for BootId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<BootId> for String {
    fn from(id: BootId) -> Self {
        id.0
    }
}

impl TryFrom<String> for BootId {
    type Error = NotABootId;

    fn try_from(text: String) -> Result<Self, NotABootId> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_boot_is_known_and_does_not_change() {
        let path = Path::new(DEFAULT_ID_PATH);
        assert_eq!(id(path).unwrap(), id(path).unwrap());
        assert!(since(Path::new(DEFAULT_STAT_PATH)).unwrap() > Timestamp::UNIX_EPOCH);
    }

    #[test]
    fn a_file_put_over_the_kernels_is_another_boot() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "0D2B9C1E-1111-2222-3333-444455556666\n").unwrap();
        assert_eq!(id(file.path()).unwrap().as_str(), "0d2b9c1e-1111-2222-3333-444455556666");
        fs::write(file.path(), "soon\n").unwrap();
        let error = id(file.path()).unwrap_err();
        assert_eq!(error.to_string(), format!("{} holds no boot id", file.path().display()));
    }

    #[test]
    fn an_id_is_a_uuid_that_somebody_drew() {
        for wrong in
            ["", "0d2b9c1e", "00000000-0000-0000-0000-000000000000", "0d2b9c1e-1111-2222-3333-44445555666g"]
        {
            assert!(wrong.parse::<BootId>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn the_time_of_the_boot_is_a_line_of_its_own() {
        assert_eq!(boot_time("cpu 1 2\nbtime 86400\n").unwrap().to_string(), "1970-01-02T00:00:00Z");
        for wrong in ["", "btime soon\n", "xbtime 1\n", "btime 99999999999999999\n"] {
            assert_eq!(boot_time(wrong), None, "{wrong:?}");
        }
    }
}
