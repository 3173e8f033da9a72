//! Mounting what a machine's file system is made of.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::stat::{Mode, SFlag, makedev, mknod, umask};
use nix::unistd::{chdir, pivot_root};

/// The devices that daemons expect: name, major, minor.
const DEVICES: [(&str, u64, u64); 6] =
    [("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("tty", 5, 0)];

/// What `/dev` links to elsewhere.
const LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("ptmx", "pts/ptmx"),
    ("stderr", "/proc/self/fd/2"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
];

const NONE: Option<&str> = None;

/// Lets no mount of this name space be seen outside.
pub(super) fn make_private() -> nix::Result<()> {
    mount(NONE, "/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)
}

/// An empty file system in memory.
pub(super) fn tmpfs(at: &Path, mode: &str) -> nix::Result<()> {
    let options = format!("mode={mode}");
    folder(at)?;
    mount(Some("tmpfs"), at, Some("tmpfs"), MsFlags::empty(), Some(options.as_str()))
}

/// A file system of the kernel's own: proc, sysfs, cgroup2.
pub(super) fn kernel(kind: &str, at: &Path, flags: MsFlags) -> nix::Result<()> {
    mount(Some(kind), at, Some(kind), flags, NONE)
}

/// A file or folder in a second place.
pub(super) fn bind(from: &Path, to: &Path) -> nix::Result<()> {
    mount(Some(from), to, NONE, MsFlags::MS_BIND, NONE)
}

/// Makes what is mounted at a place read-only there.
pub(super) fn read_only(at: &Path) -> nix::Result<()> {
    bind(at, at)?;
    mount(NONE, at, NONE, MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY, NONE)
}

/// Layers over one another, the highest first; what is written goes to `upper` below `scratch`.
pub(super) fn overlay(lower: &[&Path], scratch: &Path, at: &Path) -> nix::Result<()> {
    let (upper, work) = (scratch.join("upper"), scratch.join("work"));
    [&upper, &work].into_iter().try_for_each(|path| folder(path))?;
    let lower: Vec<String> = lower.iter().map(|path| path.display().to_string()).collect();
    let options =
        format!("lowerdir={},upperdir={},workdir={}", lower.join(":"), upper.display(), work.display());
    mount(Some("overlay"), at, Some("overlay"), MsFlags::empty(), Some(options.as_str()))
}

/// `/dev` with what daemons expect, below a root.
pub(super) fn devices(root: &Path) -> nix::Result<()> {
    let at = root.join("dev");
    tmpfs(&at, "755")?;
    DEVICES.iter().try_for_each(|&(name, major, minor)| device(&at.join(name), major, minor))?;
    for (name, target) in LINKS {
        symlink(target, at.join(name)).map_err(|error| errno(&error))?;
    }
    tmpfs(&at.join("shm"), "1777")?;
    let pts = at.join("pts");
    folder(&pts)?;
    let options = Some("newinstance,ptmxmode=0666,mode=620");
    mount(Some("devpts"), &pts, Some("devpts"), MsFlags::empty(), options)
}

/// A character device for everybody.
pub(super) fn device(path: &Path, major: u64, minor: u64) -> nix::Result<()> {
    let before = umask(Mode::empty());
    let made = mknod(path, SFlag::S_IFCHR, Mode::from_bits_truncate(0o666), makedev(major, minor));
    umask(before);
    made
}

/// A folder and those above it.
pub(super) fn folder(path: &Path) -> nix::Result<()> {
    fs::create_dir_all(path).map_err(|error| errno(&error))
}

/// Makes a mounted folder this process's `/` and forgets the one before.
pub(super) fn pivot(new: &Path) -> nix::Result<()> {
    let old = new.join("run/old-root");
    folder(&old)?;
    pivot_root(new, &old)?;
    chdir("/")?;
    umount2("/run/old-root", MntFlags::MNT_DETACH)?;
    fs::remove_dir("/run/old-root").map_err(|error| errno(&error))
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or_default())
}
