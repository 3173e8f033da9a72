//! Whether a certain user could open a channel for reading and writing, which is all that it takes to use one.
//!
//! Where this program may, it tries: on a thread of its own, which takes the user's groups and the user's identity for
//! files (setfsuid(2) and the kernel's own setgroups are of one thread; the rest of the program keeps its rights).
//! Otherwise the mode bits of the path are looked at. Trying sees more: access lists, mounts without devices, and the
//! device rules of *this* program's control group. Those of a job's group are seen only from inside the job.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::{Gid, Uid, geteuid, setfsgid, setfsuid};
use serde::Serialize;

use super::node::{Mode, Owner};
use crate::person::Person;

/// What an attempt to open comes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "access", rename_all = "snake_case")]
pub enum Access {
    /// It can be opened.
    Granted,
    /// The user is allowed to, but there is no driver behind the node's number: the node is stale or the driver is not
    /// loaded.
    NoDriver,
    /// The permissions do not allow it (EACCES): mode bits, an access list, or a mount without devices.
    Denied,
    /// The device rules of the control group do not allow it (EPERM).
    Forbidden,
    /// There is no node, or no folder.
    Missing,
    /// The system says something else.
    Failed {
        /// What it says.
        reason: String,
    },
}

/// How it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// It was opened as that user.
    Tried,
    /// The mode bits say so.
    ModeBits,
}

/// The first step of the path that the mode bits do not allow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Obstacle {
    /// The folder that must not be passed, or the node.
    pub path: PathBuf,
    /// Its mode.
    pub mode: Mode,
    /// Its owner.
    pub owner: Owner,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AccessReport {
    /// What an attempt comes to.
    #[serde(flatten)]
    pub access: Access,
    /// How that is known.
    pub evidence: Evidence,
    /// What the mode bits object to, if they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<Obstacle>,
}

/// What a process is to the permissions of files.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Credentials<'a> {
    uid: u32,
    gids: &'a [u32],
}

/// What is wanted of a file, as permission bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Want {
    /// To pass through a folder.
    Pass = 0o1,
    /// To read and write.
    ReadWrite = 0o6,
}

/// Whether `person` could open the node at `path` for reading and writing.
pub fn access(path: &Path, person: &Person) -> AccessReport {
    let credentials = Credentials { uid: person.uid(), gids: person.gids() };
    let seen = look(path, &credentials);
    let tried = if geteuid().as_raw() == person.uid() {
        Some(open(path))
    } else if geteuid().is_root() {
        open_as(path, person)
    } else {
        None
    };
    let (computed, obstacle) = match seen {
        Ok(None) => (Access::Granted, None),
        Ok(Some(obstacle)) => (Access::Denied, Some(obstacle)),
        Err(error) => (judge(&error), None),
    };
    match tried {
        Some(access) => AccessReport { access, evidence: Evidence::Tried, obstacle },
        None => AccessReport { access: computed, evidence: Evidence::ModeBits, obstacle },
    }
}

/// Opens on a thread that is that user to the file system; `None` if the system does not let us be.
fn open_as(path: &Path, person: &Person) -> Option<Access> {
    let attempt = || {
        let groups: Vec<_> = person.gids().iter().map(|gid| rustix::thread::Gid::from_raw(*gid)).collect();
        rustix::thread::set_thread_groups(&groups).ok()?;
        // Both answer with the value before, whether they worked or not: asked again, they tell what holds.
        let (uid, gid) = (Uid::from_raw(person.uid()), Gid::from_raw(person.gid()));
        setfsgid(gid);
        setfsuid(uid);
        (setfsgid(gid) == gid && setfsuid(uid) == uid).then(|| open(path))
    };
    thread::scope(|scope| scope.spawn(attempt).join().ok().flatten())
}

fn open(path: &Path) -> Access {
    // Without O_NONBLOCK a pipe in its place would be waited for, without O_NOFOLLOW a link would be followed.
    let flags = (OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW | OFlag::O_NOCTTY).bits();
    match OpenOptions::new().read(true).write(true).custom_flags(flags).open(path) {
        Ok(_) => Access::Granted,
        Err(error) => judge(&error),
    }
}

fn judge(error: &io::Error) -> Access {
    match error.raw_os_error().map(Errno::from_raw) {
        // The kernel asks for permission first and for the driver then.
        Some(Errno::ENXIO | Errno::ENODEV) => Access::NoDriver,
        Some(Errno::EACCES) => Access::Denied,
        Some(Errno::EPERM) => Access::Forbidden,
        Some(Errno::ENOENT | Errno::ENOTDIR) => Access::Missing,
        Some(_) | None => Access::Failed { reason: error.to_string() },
    }
}

/// The first step of the way that the mode bits refuse.
fn look(path: &Path, credentials: &Credentials<'_>) -> io::Result<Option<Obstacle>> {
    let mut steps: Vec<&Path> = path.ancestors().filter(|step| !step.as_os_str().is_empty()).collect();
    steps.reverse();
    for step in steps {
        let last = step == path;
        let found = if last { step.symlink_metadata()? } else { step.metadata()? };
        let (mode, owner) = (Mode::of(found.mode()), Owner { uid: found.uid(), gid: found.gid() });
        let want = if last { Want::ReadWrite } else { Want::Pass };
        if !permits(mode, owner, credentials, want) {
            return Ok(Some(Obstacle { path: step.to_owned(), mode, owner }));
        }
    }
    Ok(None)
}

/// The rule of path_resolution(7): the first of owner, group and others that one is decides alone.
fn permits(mode: Mode, owner: Owner, credentials: &Credentials<'_>, want: Want) -> bool {
    let want = want as u32;
    if credentials.uid == 0 {
        // The superuser passes, but for execution of what nobody may execute; folders are not executed.
        return true;
    }
    let shift = if credentials.uid == owner.uid {
        6
    } else if credentials.gids.contains(&owner.gid) {
        3
    } else {
        0
    };
    (mode.bits() >> shift) & want == want
}

#[cfg(test)]
mod tests;
