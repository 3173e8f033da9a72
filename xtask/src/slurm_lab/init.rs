//! The first process of a cluster: makes its file system and network, starts Slurm, then collects what ends.
//!
//! It runs in new mount, host name, IPC, network and process namespaces (`unshare` makes them), so that nothing of what
//! it does is seen outside, and the kernel ends everything in them when it ends.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::stat::{Mode, SFlag, makedev, mknod, umask};
use nix::sys::wait::wait;
use nix::unistd::{chdir, pivot_root, sethostname};

use super::conf::Setup;
use crate::error::TaskError;

/// Where the host's folder for logs and files is in the cluster.
const OUT: &str = "/out";

/// The devices that daemons expect: name, major, minor.
const DEVICES: [(&str, u64, u64); 6] =
    [("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("tty", 5, 0)];

/// Starts the cluster and stays.
pub(super) fn run(root: &Path, dir: &Path, nodes: u8) -> Result<(), TaskError> {
    file_system(root, dir).map_err(|error| failed("the file system", &error))?;
    files(nodes)?;
    network()?;
    daemons(nodes)?;
    write(Path::new(OUT).join("started"), "")?;
    loop {
        // ECHILD cannot be: the controller runs. If it ended, there is nothing left to do but to wait for the end.
        if wait().is_err() {
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
    }
}

/// Lays a writable layer over the root and makes it this process's `/`.
fn file_system(root: &Path, dir: &Path) -> nix::Result<()> {
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    let (work, new) = (dir.join("work"), dir.join("mnt"));
    let tmpfs =
        |at: &Path, options: &str| mount(Some("tmpfs"), at, Some("tmpfs"), MsFlags::empty(), Some(options));
    tmpfs(&work, "mode=755")?;
    for folder in ["upper", "work"] {
        nix::unistd::mkdir(&work.join(folder), Mode::from_bits_truncate(0o755))?;
    }
    let layers = format!(
        "lowerdir={},upperdir={},workdir={}",
        root.display(),
        work.join("upper").display(),
        work.join("work").display()
    );
    mount(Some("overlay"), &new, Some("overlay"), MsFlags::empty(), Some(layers.as_str()))?;
    mount(Some("proc"), &new.join("proc"), Some("proc"), MsFlags::empty(), none)?;
    tmpfs(&new.join("dev"), "mode=755")?;
    tmpfs(&new.join("run"), "mode=755")?;
    tmpfs(&new.join("tmp"), "mode=1777")?;
    devices(&new.join("dev"))?;
    let out = new.join("out");
    nix::unistd::mkdir(&out, Mode::from_bits_truncate(0o755))?;
    mount(Some(&dir.join("out")), &out, none, MsFlags::MS_BIND, none)?;
    let old = new.join("old");
    nix::unistd::mkdir(&old, Mode::from_bits_truncate(0o700))?;
    pivot_root(&new, &old)?;
    chdir("/")?;
    umount2("/old", MntFlags::MNT_DETACH)
}

fn devices(folder: &Path) -> nix::Result<()> {
    let before = umask(Mode::empty());
    for (name, major, minor) in DEVICES {
        mknod(&folder.join(name), SFlag::S_IFCHR, Mode::from_bits_truncate(0o666), makedev(major, minor))?;
    }
    umask(before);
    for (name, target) in
        [("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"), ("stdout", "/proc/self/fd/1")]
    {
        symlink(target, folder.join(name))
            .map_err(|error| nix::errno::Errno::from_raw(error.raw_os_error().unwrap_or_default()))?;
    }
    let shm = folder.join("shm");
    nix::unistd::mkdir(&shm, Mode::from_bits_truncate(0o755))?;
    mount(Some("tmpfs"), &shm, Some("tmpfs"), MsFlags::empty(), None::<&str>)
}

/// What must be there before the first daemon: all of them look up the host's name.
fn files(nodes: u8) -> Result<(), TaskError> {
    sethostname("ctl").map_err(|error| failed("the host name", &error))?;
    write("/etc/hosts", Setup::hosts(nodes))?;
    write("/etc/slurm/cgroup.conf", "CgroupPlugin=disabled\n")?;
    for file in ["slurm.conf", "topology.yaml"] {
        let given = Path::new(OUT).join(file);
        if given.is_file() {
            let to = Path::new("/etc/slurm").join(file);
            fs::copy(&given, &to).map_err(TaskError::file("write", to))?;
        }
    }
    for folder in ["/run/lab", "/run/munge", "/var/spool/slurmctld", "/var/spool/slurmd"] {
        fs::create_dir_all(folder).map_err(TaskError::file("create", folder))?;
    }
    Ok(())
}

/// Slurm asks for IPv4 addresses only if some interface besides loopback has one, so a bridge without ports has one.
fn network() -> Result<(), TaskError> {
    program("ip link set lo up")?;
    program("ip link add br0 address 02:77:00:00:00:fe type bridge")?;
    program("ip address add 10.77.0.254/24 dev br0")?;
    program("ip link set br0 up")
}

fn daemons(nodes: u8) -> Result<(), TaskError> {
    let mut key = [0_u8; 128];
    let random = fs::File::open("/dev/urandom")
        .and_then(|mut source| std::io::Read::read_exact(&mut source, &mut key));
    random.map_err(TaskError::file("read", "/dev/urandom"))?;
    write("/etc/munge/munge.key", key)?;
    program("chmod 400 /etc/munge/munge.key")?;
    program("chown -R munge:munge /etc/munge /var/lib/munge /var/log/munge /run/munge")?;
    program("setpriv --reuid=munge --regid=munge --clear-groups munged")?;
    program("slurmctld -i")?;
    (1..=nodes).try_for_each(|node| {
        let spool = format!("/var/spool/slurmd/node{node}");
        fs::create_dir_all(&spool).map_err(TaskError::file("create", spool))?;
        program(&format!("slurmd -N node{node}"))
    })
}

fn write(path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> Result<(), TaskError> {
    let path = path.as_ref();
    fs::write(path, text).map_err(TaskError::file("write", path))
}

/// Runs a program of the root, whose folder for the current directory of other tasks is not there any more.
fn program(line: &str) -> Result<(), TaskError> {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    let command = command.args(words).stdin(Stdio::null()).env_clear();
    let command = command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/root");
    let status = command.status().map_err(|source| TaskError::Start { line: line.to_owned(), source })?;
    if status.success() {
        return Ok(());
    }
    Err(TaskError::Program { line: line.to_owned(), status: status.to_string() })
}

fn failed(what: &str, error: &nix::Error) -> TaskError {
    TaskError::NotHere(format!("{what} of a cluster cannot be made: {error}"))
}
