//! The first steps of a machine: what firmware, kernel and initial ramdisk would have done before systemd.
//!
//! It runs as process 1 in all of the node's name spaces and becomes systemd.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;

use clap::Args;
use nix::mount::MsFlags;
use nix::unistd::sethostname;

use super::super::commands::{command, program, write};
use super::super::conf::Network;
use super::super::init::{OUT, add_address, failed};
use super::super::{fakes, filesystem};
use super::disk_of;
use crate::error::TaskError;

#[derive(Args)]
pub(in super::super) struct Options {
    #[arg(long)]
    node: u8,
    #[arg(long)]
    network: Network,
}

/// Becomes the node's systemd; comes back only if that cannot be.
pub(in super::super) fn run(options: &Options) -> Result<(), TaskError> {
    let name = format!("node{}", options.node);
    let disk = disk_of(options.node);
    file_system(&disk).map_err(|error| failed("a node's file system", &error))?;
    filesystem::pivot(&disk).map_err(|error| failed("a node's file system", &error))?;
    sethostname(&name).map_err(|error| failed("a node's name", &error))?;
    write("/etc/hostname", format!("{name}\n"))?;
    own_name(&name)?;
    let machine_id = fs::read_to_string("/etc/machine-id").unwrap_or_default();
    if machine_id.trim().len() != MACHINE_ID_DIGITS {
        write("/etc/machine-id", format!("{}\n", random_uuid()?.replace('-', "")))?;
    }
    network(options)?;
    let mut systemd = command("/usr/lib/systemd/systemd");
    // With `container` it leaves alone what is the host's: no sysctl, no kernel log, no clock.
    let error = systemd.arg("--unit=multi-user.target").env("container", "openimex-lab").exec();
    Err(TaskError::Start { line: "systemd".to_owned(), source: error })
}

/// As on Debian, a machine knows its own name though no other does.
fn own_name(name: &str) -> Result<(), TaskError> {
    let path = "/etc/hosts";
    let hosts = fs::read_to_string(path).map_err(TaskError::file("read", path))?;
    if hosts.lines().any(|line| line.split_whitespace().skip(1).any(|known| known == name)) {
        return Ok(());
    }
    write(path, format!("127.0.1.1 {name}\n{hosts}"))
}

/// As machine-id(5) says.
const MACHINE_ID_DIGITS: usize = 32;

fn file_system(disk: &Path) -> nix::Result<()> {
    filesystem::make_private()?;
    let at = |path: &str| disk.join(path);
    filesystem::kernel("proc", &at("proc"), MsFlags::empty())?;
    filesystem::kernel("sysfs", &at("sys"), MsFlags::MS_RDONLY)?;
    filesystem::kernel("cgroup2", &at("sys/fs/cgroup"), MsFlags::empty())?;
    filesystem::devices(disk)?;
    filesystem::tmpfs(&at("run"), "755")?;
    filesystem::tmpfs(&at("tmp"), "1777")?;
    // The kernel's parameters are those of the whole machine.
    filesystem::read_only(&at("proc/sys"))?;
    fakes::install(disk)?;
    for shared in [&OUT[1..], "home"] {
        let to = at(shared);
        filesystem::folder(&to)?;
        filesystem::bind(&Path::new("/").join(shared), &to)?;
    }
    Ok(())
}

fn network(options: &Options) -> Result<(), TaskError> {
    program("ip link set lo up")?;
    for address in options.network.addresses(options.node) {
        add_address(&address, "eth0")?;
    }
    program("ip link set eth0 up")?;
    program(&format!("ip address add {}/32 dev lo", fakes::METADATA_ADDRESS))
}

/// From the kernel, a new one at each reading.
fn random_uuid() -> Result<String, TaskError> {
    let path = "/proc/sys/kernel/random/uuid";
    let uuid = fs::read_to_string(path).map_err(TaskError::file("read", path))?;
    Ok(uuid.trim().to_owned())
}
