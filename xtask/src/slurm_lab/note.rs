//! What a cluster's folder says of the cluster that runs in it: enough to end it, and all that it has.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::TaskError;

/// The note in a cluster's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Note {
    /// The cluster's first process, as this side sees it.
    pub(super) first: Identity,
    /// The process that cleans up after it.
    pub(super) keeper: Identity,
    /// The control group that its processes are in, if it has one.
    pub(super) cgroup: Option<PathBuf>,
}

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pid: i32,
    /// In clock ticks after this machine's boot.
    started: u64,
}

impl Note {
    pub(super) fn path(dir: &Path) -> PathBuf {
        dir.join("first")
    }

    /// Written under another name first: a reader never sees half of it.
    pub(super) fn write(&self, dir: &Path) -> Result<(), TaskError> {
        let cgroup = self.cgroup.as_deref().unwrap_or(Path::new("")).display();
        let text = format!("{}\n{}\n{cgroup}\n", self.first, self.keeper);
        let (part, path) = (dir.join("first.part"), Note::path(dir));
        let written = fs::write(&part, text).and_then(|()| fs::rename(&part, &path));
        written.map_err(TaskError::file("write", path))
    }

    /// The note in a folder, if there is a whole one.
    pub(super) fn read(dir: &Path) -> Option<Self> {
        Note::parse(&fs::read_to_string(Note::path(dir)).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let (first, keeper) = (Identity::parse(lines.next()?)?, Identity::parse(lines.next()?)?);
        let cgroup = lines.next().filter(|line| !line.is_empty()).map(PathBuf::from);
        Some(Note { first, keeper, cgroup })
    }
}

impl Identity {
    /// This process.
    pub(super) fn own() -> Result<Self, TaskError> {
        let own = i32::try_from(std::process::id()).ok().and_then(Identity::of);
        own.ok_or_else(|| TaskError::NotHere("/proc does not know this process".to_owned()))
    }

    /// A process that lives.
    pub(super) fn of(pid: i32) -> Option<Self> {
        // The command's name may hold anything, also blanks and parentheses: the fields count from the last one.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, fields) = stat.rsplit_once(") ")?;
        let mut fields = fields.split(' ');
        let dead = matches!(fields.next()?, "Z" | "X");
        let started = fields.nth(18)?.parse().ok()?;
        (!dead).then_some(Identity { pid, started })
    }

    /// The first child of a process with one thread.
    pub(super) fn of_child(parent: u32) -> Option<Self> {
        let children = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
        Identity::of(children.split_whitespace().next()?.parse().ok()?)
    }

    pub(super) fn pid(self) -> i32 {
        self.pid
    }

    pub(super) fn lives(self) -> bool {
        Identity::of(self.pid) == Some(self)
    }

    fn parse(line: &str) -> Option<Self> {
        let (pid, started) = line.split_once(' ')?;
        Some(Identity { pid: pid.parse().ok()?, started: started.parse().ok()? })
    }
}

/// As in the note.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.pid, self.started)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written() {
        let text = "12 3400\n11 3399\n/sys/fs/cgroup/x\n";
        let note = Note::parse(text).unwrap();
        assert_eq!((note.first.pid, note.keeper.pid), (12, 11));
        assert_eq!(note.cgroup.as_deref(), Some(Path::new("/sys/fs/cgroup/x")));
        assert_eq!(Note::parse("12 3400\n11 3399\n\n").unwrap().cgroup, None);
        assert_eq!(Note::parse("12 3400\n"), None);
    }

    #[test]
    fn a_process_is_told_from_a_later_one_with_its_number() {
        let own = Identity::own().unwrap();
        assert!(own.lives());
        assert!(!Identity { started: own.started + 1, ..own }.lives());
    }
}
