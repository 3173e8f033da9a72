//! What a node knows of its job's domain: one small file that outlives the prolog, and a reboot.
//!
//! The prolog writes it before it changes anything, so that whatever a killed run leaves behind has an owner, and again with
//! the verdict. Tasks, `imex validate` and `imex doctor` read it; the epilog takes it away. It carries the boot's id: a job
//! may stay RUNNING over a quick power cycle, without another prolog, and its domain is gone all the same.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use imex_config::replace::ReplaceError;
use imex_host::boot::BootId;
use jiff::Timestamp;
use nix::fcntl::OFlag;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The version of the file. It rises when a field changes its meaning or goes, not when one comes.
pub const SCHEMA_VERSION: u32 = 1;

/// The longest file that is read, in bytes: a member takes about a hundred, and there are at most 65,534.
const MAX_BYTES: u64 = 16 << 20;

/// The file's name in the folder of states.
const NAME: &str = "domain.json";

/// The domain of this node's job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobDomain {
    /// The version of the file.
    pub schema_version: u32,
    /// Whose it is.
    pub job: u32,
    /// Which run of the job.
    pub run: String,
    /// Which boot of this machine.
    pub boot_id: BootId,
    /// When its prolog began.
    pub since: Timestamp,
    /// This node.
    pub node: String,
    /// The user whose job it is.
    pub uid: u32,
    /// The unit of the service.
    pub unit: String,
    /// How far it has come.
    pub stage: Stage,
    /// Why it is not UP, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What tells it from every other domain of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain_id: Option<String>,
    /// Its members, in the order of the node map; empty until they are known.
    #[serde(default)]
    pub members: Vec<MemberName>,
    /// The block that they share, if the job is divided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<String>,
    /// How many domains the job has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domains: Option<usize>,
    /// Its channel, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<JobChannel>,
    /// Keys of `config.cfg` that the prolog set, with what they were before; none if they were not there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub keys_before: BTreeMap<String, Option<String>>,
}

/// A member by name and address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberName {
    /// Its name in Slurm.
    pub node: String,
    /// Its entry of the node map.
    pub address: String,
}

/// A job's channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobChannel {
    /// Its number.
    pub number: u32,
    /// Its device.
    pub path: PathBuf,
    /// Whether it goes with the job.
    pub removed_after: bool,
}

/// How far a job's domain has come on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The prolog is at work, or was killed.
    Forming,
    /// Every ordered pair of its members was connected.
    Up,
    /// The job has a channel and needs no domain.
    ChannelOnly,
    /// By policy the job has neither here: it has one node in this NVLink partition, and `jobs.one_node` is `skip`.
    Skipped,
    /// It did not come UP.
    Failed,
}

/// Why the file cannot be used.
#[derive(Debug, Error)]
pub enum JobDomainError {
    /// It cannot be read or removed.
    #[error("{} cannot be used", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is something else.
    #[error("{} is no state of a job's domain", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// Something else than a file of this size lies there.
    #[error("{} is no plain file of at most {MAX_BYTES} bytes", path.display())]
    NotPlain {
        /// Where.
        path: PathBuf,
    },
    /// It cannot be written.
    #[error(transparent)]
    Write(#[from] ReplaceError),
}

/// The file.
#[derive(Clone, Debug)]
pub struct JobDomainFile {
    path: PathBuf,
}

impl JobDomainFile {
    /// That in the folder `state`.
    pub fn within(state: &Path) -> Self {
        JobDomainFile { path: state.join(NAME) }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it holds, if it is there.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is something else.
    pub fn read(&self) -> Result<Option<JobDomain>, JobDomainError> {
        let path = || self.path.clone();
        match bytes(&self.path) {
            Ok(None) => Err(JobDomainError::NotPlain { path: path() }),
            Ok(Some(bytes)) => {
                let read = serde_json::from_slice(&bytes);
                read.map(Some).map_err(|source| JobDomainError::Malformed { path: path(), source })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(JobDomainError::Io { path: path(), source }),
        }
    }

    /// Writes it anew, with its folder if need be.
    ///
    /// # Errors
    ///
    /// If it cannot be written; it is then as it was.
    pub fn write(&self, domain: &JobDomain) -> Result<(), JobDomainError> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)
                .map_err(|source| JobDomainError::Io { path: folder.to_owned(), source })?;
        }
        Ok(imex_config::replace(&self.path, domain.text().as_bytes())?)
    }

    /// Takes it away, if it is there.
    ///
    /// # Errors
    ///
    /// If it cannot be removed.
    pub fn remove(&self) -> Result<(), JobDomainError> {
        match fs::remove_file(&self.path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(JobDomainError::Io { path: self.path.clone(), source })
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// What a plain file holds; `None` of anything else, which must not keep whoever reads.
fn bytes(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = File::options().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    let known = file.metadata()?;
    if !known.is_file() || known.len() > MAX_BYTES {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

impl JobDomainError {
    /// Whether there is something that nobody can read: it says nothing of whose it is, and only whoever takes it away helps.
    pub fn is_unreadable(&self) -> bool {
        matches!(self, JobDomainError::Malformed { .. } | JobDomainError::NotPlain { .. })
    }
}

impl JobDomain {
    fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("it is texts, numbers and lists") + "\n"
    }

    /// This node's place among the members, from 0.
    pub fn index(&self) -> Option<usize> {
        self.members.iter().position(|member| member.node == self.node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_is_removed_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let file = JobDomainFile::within(&dir.path().join("state"));
        assert_eq!(file.read().unwrap(), None);
        file.write(&sample()).unwrap();
        assert_eq!(file.read().unwrap(), Some(sample()));
        assert_eq!(sample().index(), Some(1));
        file.remove().unwrap();
        file.remove().unwrap();
        assert_eq!(file.read().unwrap(), None);
    }

    #[test]
    fn a_file_that_is_something_else_is_told() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(NAME), "{}").unwrap();
        let read = || JobDomainFile::within(dir.path()).read().unwrap_err();
        assert!(matches!(read(), JobDomainError::Malformed { .. }) && read().is_unreadable());
        fs::remove_file(dir.path().join(NAME)).unwrap();
        nix::unistd::mkfifo(&dir.path().join(NAME), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(matches!(read(), JobDomainError::NotPlain { .. }) && read().is_unreadable());
        fs::remove_file(dir.path().join(NAME)).unwrap();
        File::create(dir.path().join(NAME)).unwrap().set_len(MAX_BYTES + 1).unwrap();
        assert!(matches!(read(), JobDomainError::NotPlain { .. }));
    }

    fn sample() -> JobDomain {
        let member = |node: &str| MemberName { node: node.to_owned(), address: format!("{node}.example") };
        JobDomain {
            schema_version: SCHEMA_VERSION,
            job: 7,
            run: "0".to_owned(),
            boot_id: "0d2b9c1e-1111-2222-3333-444455556666".parse().unwrap(),
            since: Timestamp::UNIX_EPOCH,
            node: "n2".to_owned(),
            uid: 1001,
            unit: "imexd.service".to_owned(),
            stage: Stage::Up,
            reason: None,
            domain_id: Some("lab/7/0".to_owned()),
            members: vec![member("n1"), member("n2")],
            block: None,
            domains: Some(1),
            channel: None,
            keys_before: Default::default(),
        }
    }
}
