//! Where everything of a lab lies, and whose it is.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use imex_config::MAX_SOCKET_PATH_BYTES;
use thiserror::Error;

/// The directory of a lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    dir: PathBuf,
}

/// The files of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePaths {
    /// The directory that holds the others: `DIR/node-K`.
    pub dir: PathBuf,
    /// The daemon's configuration.
    pub config: PathBuf,
    /// The node map.
    pub nodes_config: PathBuf,
    /// The daemon's log.
    pub log: PathBuf,
    /// What the log's level held back, written on SIGHUP.
    pub verbose_log: PathBuf,
    /// The daemon's command socket.
    pub socket: PathBuf,
    /// The daemon's statistics.
    pub stats: PathBuf,
    /// What the daemon keeps over a restart.
    pub persist: PathBuf,
    /// What the daemon wrote to its standard error, mostly why it refused to start.
    pub stderr: PathBuf,
}

/// Why a directory cannot be used as, or is not, that of a lab.
#[derive(Debug, Error)]
pub enum LayoutError {
    /// Another process runs a lab in it.
    #[error("{} holds a lab that runs (process {owner})", dir.display())]
    Runs {
        /// The directory.
        dir: PathBuf,
        /// Who runs it: a process id, or `unknown`.
        owner: String,
    },
    /// It has other things in it.
    #[error("{} is not empty and is not the directory of a lab", dir.display())]
    NotEmpty {
        /// The directory.
        dir: PathBuf,
    },
    /// It is not the directory of a lab.
    #[error("{} is not the directory of a lab", dir.display())]
    NotALab {
        /// The directory.
        dir: PathBuf,
    },
    /// It is the directory of a lab that has ended.
    #[error("the lab in {} does not run", dir.display())]
    Ended {
        /// The directory.
        dir: PathBuf,
    },
    /// A Unix socket in it would have too long a path.
    #[error("{} has {} bytes, a socket path may have {MAX_SOCKET_PATH_BYTES}", path.display(), path.as_os_str().len())]
    SocketPathTooLong {
        /// The socket.
        path: PathBuf,
    },
    /// A file or directory could not be made, read or removed.
    #[error("{} could not be used", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl LayoutError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            LayoutError::Runs { .. } => "end it with `imex lab down --dir DIR`, or choose another directory",
            LayoutError::NotEmpty { .. } => "choose a new or an empty directory",
            LayoutError::NotALab { .. } => "start one there with `imex lab up --dir DIR`",
            LayoutError::Ended { .. } => "start it again with `imex lab up --dir DIR`",
            LayoutError::SocketPathTooLong { .. } => "choose a shorter directory with --dir",
            LayoutError::Io { .. } => "check that the directory exists, is writable and has room",
        }
    }
}

impl Layout {
    /// The directory `dir`, which need not exist. A relative path is made absolute, for daemons work elsewhere.
    pub fn new(dir: &Path) -> Result<Self, LayoutError> {
        let dir = std::path::absolute(dir).map_err(io_error(dir))?;
        Ok(Layout { dir })
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The files of a node.
    pub fn node(&self, node: usize) -> NodePaths {
        let dir = self.dir.join(format!("node-{node}"));
        NodePaths {
            config: dir.join("config.cfg"),
            nodes_config: dir.join("nodes_config.cfg"),
            log: dir.join("imexd.log"),
            verbose_log: dir.join("imexd-verbose.log"),
            socket: dir.join("imexd.sock"),
            stats: dir.join("stats"),
            persist: dir.join("persist"),
            stderr: dir.join("stderr"),
            dir,
        }
    }

    /// Where the lab's programs lie under their own names.
    pub fn program(&self, name: &str) -> PathBuf {
        self.dir.join("bin").join(name)
    }

    /// The socket on which the lab's owner is asked.
    pub fn control_socket(&self) -> PathBuf {
        self.dir.join("lab.sock")
    }

    /// What a detached owner says.
    pub fn log(&self) -> PathBuf {
        self.dir.join("lab.log")
    }

    fn lock_file(&self) -> PathBuf {
        self.dir.join("lab.lock")
    }

    /// Takes the directory for a lab of `nodes` nodes: makes it if it does not exist, clears what an ended lab left
    /// in it, and holds it until the value is dropped or this process ends.
    pub(crate) fn take(&self, nodes: usize) -> Result<Ownership, LayoutError> {
        self.check_socket_paths(nodes)?;
        fs::create_dir_all(&self.dir).map_err(io_error(&self.dir))?;
        let path = self.lock_file();
        let fresh = !path.exists();
        if fresh && fs::read_dir(&self.dir).map_err(io_error(&self.dir))?.next().is_some() {
            let dir = self.dir.clone();
            return Err(LayoutError::NotEmpty { dir });
        }
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(io_error(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(self.runs(&mut file)),
            Err(TryLockError::Error(source)) => return Err(LayoutError::Io { path, source }),
        }
        let pid = std::process::id();
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{pid}"))
            .map_err(io_error(&path))?;
        self.clear()?;
        Ok(Ownership { _lock: file })
    }

    /// Checks that a lab runs in the directory.
    pub fn check_runs(&self) -> Result<(), LayoutError> {
        let path = self.lock_file();
        let dir = self.dir.clone();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(LayoutError::NotALab { dir }),
            Err(source) => return Err(LayoutError::Io { path, source }),
        };
        match file.try_lock_shared() {
            Ok(()) => Err(LayoutError::Ended { dir }),
            Err(TryLockError::WouldBlock) => Ok(()),
            Err(TryLockError::Error(source)) => Err(LayoutError::Io { path, source }),
        }
    }

    /// Whether the directory, and in it the proof that it is held, still exists.
    pub(crate) fn is_held(&self) -> bool {
        self.lock_file().exists()
    }

    fn runs(&self, lock: &mut File) -> LayoutError {
        let mut owner = String::new();
        let read = lock.take(16).read_to_string(&mut owner);
        let owner = match (read, owner.trim()) {
            (Ok(_), pid) if !pid.is_empty() => pid.to_owned(),
            _ => "unknown".to_owned(),
        };
        let dir = self.dir.clone();
        LayoutError::Runs { dir, owner }
    }

    fn check_socket_paths(&self, nodes: usize) -> Result<(), LayoutError> {
        let longest = self.node(nodes.saturating_sub(1)).socket;
        if longest.as_os_str().len() > MAX_SOCKET_PATH_BYTES {
            return Err(LayoutError::SocketPathTooLong { path: longest });
        }
        Ok(())
    }

    /// Removes what an earlier lab left. Only names that a lab makes: a file that somebody put there stays.
    fn clear(&self) -> Result<(), LayoutError> {
        for entry in fs::read_dir(&self.dir).map_err(io_error(&self.dir))? {
            let entry = entry.map_err(io_error(&self.dir))?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let path = entry.path();
            if name == "bin" || name.starts_with("node-") {
                fs::remove_dir_all(&path).map_err(io_error(&path))?;
            } else if name == "lab.sock" {
                fs::remove_file(&path).map_err(io_error(&path))?;
            }
        }
        Ok(())
    }
}

/// Proof that a lab's directory is held by this process.
#[derive(Debug)]
pub(crate) struct Ownership {
    _lock: File,
}

/// Makes an [`io::Error`] name what it is about.
pub(crate) fn io_error(path: &Path) -> impl FnOnce(io::Error) -> LayoutError {
    let path = path.to_owned();
    move |source| LayoutError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_one_owner_at_a_time() {
        let temp = tempfile::tempdir().unwrap();
        let layout = Layout::new(&temp.path().join("lab")).unwrap();
        assert!(matches!(layout.check_runs(), Err(LayoutError::NotALab { .. })));
        let owned = layout.take(1).unwrap();
        layout.check_runs().unwrap();
        let again = layout.take(1).unwrap_err();
        let pid = std::process::id().to_string();
        assert!(matches!(again, LayoutError::Runs { owner, .. } if owner == pid));
        drop(owned);
        assert!(matches!(layout.check_runs(), Err(LayoutError::Ended { .. })));
    }

    #[test]
    fn what_an_ended_lab_left_is_cleared_and_other_files_stay() {
        let temp = tempfile::tempdir().unwrap();
        let layout = Layout::new(temp.path()).unwrap();
        drop(layout.take(1).unwrap());
        fs::create_dir(layout.node(7).dir).unwrap();
        fs::write(temp.path().join("notes"), "mine").unwrap();
        drop(layout.take(1).unwrap());
        assert!(!layout.node(7).dir.exists());
        assert!(temp.path().join("notes").exists());
    }

    #[test]
    fn a_directory_with_other_things_in_it_is_left_alone() {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("node-0")).unwrap();
        let error = Layout::new(temp.path()).unwrap().take(1).unwrap_err();
        assert!(matches!(error, LayoutError::NotEmpty { .. }));
        assert!(temp.path().join("node-0").exists());
    }

    #[test]
    fn the_longest_socket_path_is_judged_before_anything_is_made() {
        let temp = tempfile::tempdir().unwrap();
        let room =
            MAX_SOCKET_PATH_BYTES - temp.path().as_os_str().len() - "/".len() - "/node-9/imexd.sock".len();
        let fits = Layout::new(&temp.path().join("x".repeat(room))).unwrap();
        fits.take(10).unwrap();
        let error = fits.take(11).unwrap_err();
        assert!(
            matches!(error, LayoutError::SocketPathTooLong { path } if path.ends_with("node-10/imexd.sock"))
        );
    }
}
