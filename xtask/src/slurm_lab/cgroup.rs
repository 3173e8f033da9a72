//! A control group of the unified hierarchy, for what runs in a cluster: systemd on each node wants one of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::clock::Stopwatch;
use crate::error::TaskError;

/// How long the kernel may take to notice that the last process of a group has gone.
const EMPTY_LIMIT: Duration = Duration::from_secs(5);

/// How often that is looked at.
const PAUSE: Duration = Duration::from_millis(20);

/// A control group.
#[derive(Clone, Debug)]
pub(super) struct Cgroup {
    folder: PathBuf,
}

impl Cgroup {
    /// Makes a group with this name below the one that this process is in.
    pub(super) fn make(name: &str) -> Result<Self, TaskError> {
        let mounts = fs::read_to_string("/proc/mounts").map_err(TaskError::file("read", "/proc/mounts"))?;
        let mount = unified_mount(&mounts).ok_or_else(|| {
            TaskError::NotHere(
                "no cgroup2 is mounted, and systemd on the nodes needs control groups of its own".to_owned(),
            )
        })?;
        let folder = PathBuf::from(mount).join(own_group()?.trim_start_matches('/')).join(name);
        fs::create_dir(&folder).map_err(|error| {
            TaskError::NotHere(format!("the control group {} cannot be made: {error}", folder.display()))
        })?;
        Ok(Cgroup { folder })
    }

    /// The group whose folder is this, made if it is not there.
    pub(super) fn at(folder: impl Into<PathBuf>) -> Result<Self, TaskError> {
        let folder = folder.into();
        fs::create_dir_all(&folder).map_err(TaskError::file("make", &folder))?;
        Ok(Cgroup { folder })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Does something in this group and comes back to `home`: what is started meanwhile stays in this one.
    pub(super) fn inside<T>(
        &self,
        home: &Path,
        work: impl FnOnce() -> Result<T, TaskError>,
    ) -> Result<T, TaskError> {
        enter(&self.folder)?;
        let done = work();
        enter(home)?;
        done
    }

    /// Where this process is now, as a folder.
    pub(super) fn home(&self) -> PathBuf {
        self.folder.parent().unwrap_or(&self.folder).to_owned()
    }

    /// Removes it and every group below, once all of their processes have gone.
    pub(super) fn remove(folder: &Path) -> Result<(), TaskError> {
        let running = Stopwatch::start();
        loop {
            match remove_below(folder) {
                Ok(()) => return Ok(()),
                Err(_) if running.elapsed() < EMPTY_LIMIT => thread::sleep(PAUSE),
                Err(error) => return Err(TaskError::file("remove", folder)(error)),
            }
        }
    }
}

fn enter(folder: &Path) -> Result<(), TaskError> {
    let path = folder.join("cgroup.procs");
    fs::write(&path, "0").map_err(TaskError::file("enter", path))
}

/// The path of this process's group in the unified hierarchy.
fn own_group() -> Result<String, TaskError> {
    let text =
        fs::read_to_string("/proc/self/cgroup").map_err(TaskError::file("read", "/proc/self/cgroup"))?;
    Ok(text.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/").to_owned())
}

/// Where the unified hierarchy is mounted, of the text of /proc/mounts.
fn unified_mount(mounts: &str) -> Option<&str> {
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    fields.filter(|fields| fields.get(2) == Some(&"cgroup2")).find_map(|fields| fields.get(1).copied())
}

/// The kernel's own files in a group go with it; only groups are removed, the lowest first.
fn remove_below(folder: &Path) -> std::io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_below(&entry.path())?;
        }
    }
    fs::remove_dir(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unified_hierarchy_is_found_beside_the_old_ones() {
        let mounts =
            "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(unified_mount(mounts), Some("/sys/fs/cgroup/unified"));
        assert_eq!(unified_mount("proc /proc proc rw 0 0\n"), None);
    }
}
