//! Looking at the folder of channels, making nodes in it and removing them.
//!
//! The folder is opened once, as a folder and not through a symbolic link, and all that follows is relative to it. A
//! node that is wrong is replaced in one step: another is made beside it with no permissions, given its owner and mode,
//! and renamed over it, so that no program ever finds the name missing or open to the wrong users. Nothing is removed
//! that is not a device: a device node holds nothing, a file might.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, renameat};
use nix::sys::stat::{self, FchmodatFlags, FileStat, SFlag, fchmod, fchmodat, fstatat, makedev, mknodat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, fchownat, geteuid, unlinkat};
use serde::Serialize;
use thiserror::Error;

use super::node::{FOLDER_MODE, Facts, Fault, Kind, Mode, Owner, Spec, judge, judge_folder};
use super::{Channel, DEFAULT_DIR};

/// How often a node is made anew when another program changes the same one at the same time.
const ATTEMPTS: u32 = 4;

/// The folder of channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channels {
    dir: PathBuf,
}

/// What is in the folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The channels, whatever stands under their names, by number.
    pub channels: Vec<(Channel, Facts)>,
    /// Names that are no channel's, sorted; bytes that are no UTF-8 are replaced.
    pub others: Vec<String>,
}

/// What making a channel took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ensured {
    /// The folder.
    pub folder: FolderOutcome,
    /// The node.
    pub node: NodeOutcome,
}

/// What became of the folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum FolderOutcome {
    /// It was as it should be.
    Right,
    /// There was none.
    Created,
    /// It was given its mode and owner.
    Repaired {
        /// What was wrong; at least one.
        faults: Vec<Fault>,
    },
}

/// What became of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum NodeOutcome {
    /// It was as it should be.
    Right,
    /// There was none.
    Created,
    /// There was another device, or this one with another mode or owner.
    Replaced {
        /// What was wrong with it; at least one.
        faults: Vec<Fault>,
    },
}

/// If there was a node to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Removed {
    /// It is gone now.
    Now,
    /// There was none.
    Before,
}

/// Why a channel cannot be looked at, made or removed.
#[derive(Debug, Error)]
pub enum ChannelError {
    /// Where the folder should be is something else, or a symbolic link.
    #[error("{} is not a folder", path.display())]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// Under the channel's name is something that may be worth keeping.
    #[error("{} is a {}: it is neither followed nor removed", path.display(), kind.word())]
    NotADevice {
        /// The path.
        path: PathBuf,
        /// What it is.
        kind: Kind,
    },
    /// Another program changes the same node again and again.
    #[error("another program keeps changing {}", path.display())]
    Contended {
        /// The path.
        path: PathBuf,
    },
    /// The system refuses.
    #[error("{} cannot be {done}", path.display())]
    Io {
        /// What was tried, as a participle.
        done: &'static str,
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Default for Channels {
    /// The folder where NVIDIA's libraries look, [`DEFAULT_DIR`].
    fn default() -> Self {
        Channels::at(DEFAULT_DIR)
    }
}

impl Channels {
    /// The folder `dir`.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Channels { dir: dir.into() }
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where a channel's node is.
    pub fn path(&self, channel: Channel) -> PathBuf {
        self.dir.join(channel.file_name())
    }

    /// What is in the folder. A folder that is not there holds nothing.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn list(&self) -> Result<Listing, ChannelError> {
        let Some(folder) = self.open()? else { return Ok(Listing::default()) };
        let cannot = |errno| io_error("read", &self.dir)(errno);
        let mut listing = Listing::default();
        let read = folder.file.try_clone().map_err(|source| ChannelError::Io {
            done: "read",
            path: self.dir.clone(),
            source,
        })?;
        for entry in Dir::from_fd(read.into()).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            match name.to_str().and_then(Channel::from_file_name) {
                // Gone meanwhile: not in the list.
                Some(channel) => {
                    listing.channels.extend(folder.facts(channel)?.map(|facts| (channel, facts)))
                }
                None if name == "." || name == ".." => {}
                None => listing.others.push(name.to_string_lossy().into_owned()),
            }
        }
        listing.channels.sort_unstable_by_key(|(channel, _)| *channel);
        listing.others.sort_unstable();
        Ok(listing)
    }

    /// All that is wrong with a channel and with the folder; nothing if it can be used as it should be.
    ///
    /// # Errors
    ///
    /// If it cannot be looked at.
    pub fn check(&self, channel: Channel, spec: &Spec) -> Result<Vec<Fault>, ChannelError> {
        let Some(folder) = self.open()? else { return Ok(vec![Fault::FolderMissing]) };
        let mut faults = folder.faults()?;
        match folder.facts(channel)? {
            None => faults.push(Fault::Missing),
            Some(facts) => faults.extend(judge(&facts, channel, spec)),
        }
        Ok(faults)
    }

    /// Makes a channel's node what it should be; does nothing if it is. Takes the right to make devices.
    ///
    /// # Errors
    ///
    /// If something that is no device stands under its name, or the system refuses.
    pub fn ensure(&self, channel: Channel, spec: &Spec) -> Result<Ensured, ChannelError> {
        let (folder, outcome) = self.open_or_make()?;
        for _ in 0..ATTEMPTS {
            if let Some(node) = folder.ensure(channel, spec)? {
                return Ok(Ensured { folder: outcome, node });
            }
        }
        Err(ChannelError::Contended { path: self.path(channel) })
    }

    /// Removes a channel's node. The folder stays.
    ///
    /// # Errors
    ///
    /// If something that is no device stands under its name, or the system refuses.
    pub fn remove(&self, channel: Channel) -> Result<Removed, ChannelError> {
        let Some(folder) = self.open()? else { return Ok(Removed::Before) };
        let Some(facts) = folder.facts(channel)? else { return Ok(Removed::Before) };
        folder.spare(channel, &facts)?;
        match unlinkat(&folder.file, channel.file_name().as_str(), UnlinkatFlags::NoRemoveDir) {
            Ok(()) => Ok(Removed::Now),
            Err(Errno::ENOENT) => Ok(Removed::Before),
            Err(errno) => Err(io_error("removed", &self.path(channel))(errno)),
        }
    }

    fn open(&self) -> Result<Option<Folder>, ChannelError> {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        match nix::fcntl::open(&self.dir, flags, stat::Mode::empty()) {
            Ok(fd) => Ok(Some(Folder { file: fd.into(), path: self.dir.clone() })),
            Err(Errno::ENOENT) => Ok(None),
            Err(Errno::ENOTDIR | Errno::ELOOP) => Err(ChannelError::NotAFolder { path: self.dir.clone() }),
            Err(errno) => Err(io_error("opened", &self.dir)(errno)),
        }
    }

    fn open_or_make(&self) -> Result<(Folder, FolderOutcome), ChannelError> {
        let cannot = |source| ChannelError::Io { done: "made", path: self.dir.clone(), source };
        let made = match DirBuilder::new().mode(FOLDER_MODE.bits()).create(&self.dir) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(cannot(error)),
        };
        let folder = self.open()?.ok_or_else(|| cannot(io::ErrorKind::NotFound.into()))?;
        // A new folder lacks what the umask takes away.
        let faults = folder.faults()?;
        if !faults.is_empty() {
            folder.repair()?;
        }
        let outcome = match (made, faults.is_empty()) {
            (true, _) => FolderOutcome::Created,
            (false, true) => FolderOutcome::Right,
            (false, false) => FolderOutcome::Repaired { faults },
        };
        Ok((folder, outcome))
    }
}

/// The folder, open.
#[derive(Debug)]
struct Folder {
    file: File,
    path: PathBuf,
}

impl Folder {
    /// What is wrong with the folder itself: it must be ours, and closed to changes by others.
    fn faults(&self) -> Result<Vec<Fault>, ChannelError> {
        let cannot = |source| ChannelError::Io { done: "looked at", path: self.path.clone(), source };
        let found = self.file.metadata().map_err(cannot)?;
        let owner = Owner { uid: found.uid(), gid: found.gid() };
        Ok(judge_folder(Mode::of(found.mode()), owner, geteuid().as_raw()))
    }

    fn repair(&self) -> Result<(), ChannelError> {
        // Root's, or on a folder of one's own one's own.
        fchown(&self.file, Some(geteuid()), Some(Gid::from_raw(Owner::ROOT.gid)))
            .map_err(io_error("given its owner", &self.path))?;
        fchmod(&self.file, stat::Mode::from_bits_truncate(FOLDER_MODE.bits()))
            .map_err(io_error("given its mode", &self.path))
    }

    fn facts(&self, channel: Channel) -> Result<Option<Facts>, ChannelError> {
        let name = channel.file_name();
        match fstatat(&self.file, name.as_str(), AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(facts(&found))),
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(io_error("looked at", &self.path.join(name))(errno)),
        }
    }

    /// Refuses what must not be removed.
    fn spare(&self, channel: Channel, facts: &Facts) -> Result<(), ChannelError> {
        if facts.kind.is_device() {
            return Ok(());
        }
        Err(ChannelError::NotADevice { path: self.path.join(channel.file_name()), kind: facts.kind })
    }

    /// Looks, and makes the node if it has to be made. `None` if another program came between.
    fn ensure(&self, channel: Channel, spec: &Spec) -> Result<Option<NodeOutcome>, ChannelError> {
        let outcome = match self.facts(channel)? {
            None => NodeOutcome::Created,
            Some(facts) => {
                let faults = judge(&facts, channel, spec);
                if faults.is_empty() {
                    return Ok(Some(NodeOutcome::Right));
                }
                self.spare(channel, &facts)?;
                NodeOutcome::Replaced { faults }
            }
        };
        match self.make(channel, spec) {
            Ok(()) => Ok(Some(outcome)),
            // The name beside is taken, or was taken away: another program is at the same work.
            Err((_, Errno::ENOENT | Errno::EEXIST)) => Ok(None),
            Err((done, errno)) => Err(io_error(done, &self.path.join(channel.file_name()))(errno)),
        }
    }

    /// Makes the node beside its place and renames it there. It has its owner and mode before it has its name.
    fn make(&self, channel: Channel, spec: &Spec) -> Result<(), (&'static str, Errno)> {
        let name = channel.file_name();
        let beside = format!(".{name}.new");
        self.clear(&beside).map_err(|errno| ("made", errno))?;
        let device = makedev(spec.major.number().into(), channel.number().into());
        mknodat(&self.file, beside.as_str(), SFlag::S_IFCHR, stat::Mode::empty(), device)
            .map_err(|errno| ("made", errno))?;
        let (uid, gid) = (Uid::from_raw(spec.owner.uid), Gid::from_raw(spec.owner.gid));
        let owned = fchownat(&self.file, beside.as_str(), Some(uid), Some(gid), AtFlags::AT_SYMLINK_NOFOLLOW)
            .map_err(|errno| ("given its owner", errno));
        // chmod follows links, but the name was made here, in a folder that only its owner can change.
        let mode = stat::Mode::from_bits_truncate(spec.mode.bits());
        let done = owned
            .and_then(|()| {
                fchmodat(&self.file, beside.as_str(), mode, FchmodatFlags::FollowSymlink)
                    .map_err(|errno| ("given its mode", errno))
            })
            .and_then(|()| {
                renameat(&self.file, beside.as_str(), &self.file, name.as_str())
                    .map_err(|errno| ("put in its place", errno))
            });
        if done.is_err() {
            // What failed is told; the rest is best left as it was.
            let _ = self.clear(&beside);
        }
        done
    }

    /// Removes what an interrupted run left beside the nodes, if it is a device.
    fn clear(&self, beside: &str) -> Result<(), Errno> {
        match fstatat(&self.file, beside, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Ok(found) if facts(&found).kind.is_device() => {
                unlinkat(&self.file, beside, UnlinkatFlags::NoRemoveDir)
            }
            Ok(_) => Err(Errno::EEXIST),
            Err(Errno::ENOENT) => Ok(()),
            Err(errno) => Err(errno),
        }
    }
}

fn facts(found: &FileStat) -> Facts {
    Facts {
        kind: kind(found),
        mode: Mode::of(found.st_mode),
        owner: Owner { uid: found.st_uid, gid: found.st_gid },
    }
}

fn kind(found: &FileStat) -> Kind {
    let number = |part: u64| u32::try_from(part).unwrap_or(u32::MAX);
    match SFlag::from_bits_truncate(found.st_mode & SFlag::S_IFMT.bits()) {
        SFlag::S_IFCHR => Kind::CharDevice {
            major: number(stat::major(found.st_rdev)),
            minor: number(stat::minor(found.st_rdev)),
        },
        SFlag::S_IFBLK => Kind::BlockDevice,
        SFlag::S_IFDIR => Kind::Directory,
        SFlag::S_IFLNK => Kind::Symlink,
        SFlag::S_IFIFO => Kind::Fifo,
        SFlag::S_IFSOCK => Kind::Socket,
        _ => Kind::File,
    }
}

fn io_error(done: &'static str, path: &Path) -> impl FnOnce(Errno) -> ChannelError {
    let path = path.to_owned();
    move |errno| ChannelError::Io { done, path, source: errno.into() }
}

#[cfg(test)]
mod tests;
