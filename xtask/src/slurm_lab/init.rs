//! The first process of a cluster: makes its file system and network, starts Slurm, then collects what ends.
//!
//! It runs in new mount, host name, IPC, network, process and control group name spaces, so that nothing of what it does
//! is seen outside, and the kernel ends everything in them when it ends.

use std::fs;
use std::path::Path;

use clap::ValueEnum;
use nix::mount::MsFlags;
use nix::sys::signal::SigSet;
use nix::sys::wait::wait;
use nix::unistd::sethostname;

use super::commands::{program, write};
use super::conf::{CONTROLLER, Network};
use super::{InitOptions, NodesAre, filesystem, machine};
use crate::error::TaskError;

/// Where the folder for logs and files, which the outside reads, is in the cluster.
pub(super) const OUT: &str = "/out";

/// Where what machines are made of is in the cluster: the root with its packages, the layer over it, the disks.
pub(super) const STORE: &str = "/store";

/// Where the cluster's network is noted for nodes that are powered on later.
const NETWORK: &str = "/run/lab/network";

/// Starts the cluster and stays.
pub(super) fn run(options: &InitOptions) -> Result<(), TaskError> {
    // The keeper waits for signals and so has blocked them; a controller that inherits this never reloads.
    SigSet::all().thread_unblock().map_err(|error| failed("the signals", &error))?;
    file_system(options).map_err(|error| failed("the file system", &error))?;
    sethostname("ctl").map_err(|error| failed("the host name", &error))?;
    for folder in ["/run/lab", "/run/munge", "/var/spool/slurmctld", "/var/spool/slurmd"] {
        fs::create_dir_all(folder).map_err(TaskError::file("create", folder))?;
    }
    write(NETWORK, options.network.word())?;
    network(options)?;
    program("chown munge:munge /var/lib/munge /var/log/munge /run/munge")?;
    program("setpriv --reuid=munge --regid=munge --clear-groups munged")?;
    program("slurmctld -i")?;
    for node in 1..=options.nodes {
        match options.nodes_are {
            NodesAre::Daemons => daemon(node)?,
            NodesAre::Machines => machine::power_on(node, options.network)?,
        }
    }
    write(Path::new(OUT).join("started"), "")?;
    loop {
        // ECHILD cannot be: the controller runs. If it ended, there is nothing left to do but to wait for the end.
        if wait().is_err() {
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
    }
}

/// What the network speaks, of the cluster that this process is in.
pub(super) fn network_of_cluster() -> Result<Network, TaskError> {
    let word = fs::read_to_string(NETWORK).map_err(TaskError::file("read", NETWORK))?;
    Network::from_str(&word, false).map_err(|why| TaskError::Output { line: NETWORK.to_owned(), why })
}

/// Lays a writable layer over the root and makes it this process's `/`.
fn file_system(options: &InitOptions) -> nix::Result<()> {
    filesystem::make_private()?;
    let (dir, new) = (&options.dir, options.dir.join("mnt"));
    let (work, layer) = (dir.join("work"), dir.join("layer"));
    filesystem::tmpfs(&work, "755")?;
    filesystem::overlay(&[&layer, &options.root], &work.join("ctl"), &new)?;
    filesystem::kernel("proc", &new.join("proc"), MsFlags::empty())?;
    filesystem::devices(&new)?;
    filesystem::tmpfs(&new.join("run"), "755")?;
    filesystem::tmpfs(&new.join("tmp"), "1777")?;
    let out = new.join(&OUT[1..]);
    filesystem::folder(&out)?;
    filesystem::bind(&dir.join("out"), &out)?;
    if options.nodes_are == NodesAre::Machines {
        filesystem::kernel("sysfs", &new.join("sys"), MsFlags::MS_RDONLY)?;
        filesystem::kernel("cgroup2", &new.join("sys/fs/cgroup"), MsFlags::empty())?;
        for (name, from) in [("root", &options.root), ("layer", &layer), ("disks", &work)] {
            let to = new.join(&STORE[1..]).join(name);
            filesystem::folder(&to)?;
            filesystem::bind(from, &to)?;
        }
    }
    filesystem::pivot(&new)
}

/// Slurm asks for IPv4 addresses only if some interface besides loopback has one, so even a bridge without ports has one.
///
/// The bridge's own address is fixed: otherwise it changes as ports are added, and nodes send to the old one for seconds.
fn network(options: &InitOptions) -> Result<(), TaskError> {
    program("ip link set lo up")?;
    program("ip link add br0 address 02:77:00:00:00:fe type bridge")?;
    for address in options.network.addresses(CONTROLLER) {
        add_address(&address, "br0")?;
    }
    program("ip link set br0 up")
}

/// Gives an interface an address at once: without `nodad` one of IPv6 could not be used for a second.
pub(super) fn add_address(address: &str, interface: &str) -> Result<(), TaskError> {
    let (length, more) = if address.contains(':') { (64, "nodad") } else { (24, "") };
    program(&format!("ip address add {address}/{length} dev {interface} {more}"))
}

/// A node that is a daemon beside the controller.
fn daemon(node: u8) -> Result<(), TaskError> {
    let spool = format!("/var/spool/slurmd/node{node}");
    fs::create_dir_all(&spool).map_err(TaskError::file("create", spool))?;
    program(&format!("slurmd -N node{node}"))
}

pub(super) fn failed(what: &str, error: &nix::Error) -> TaskError {
    TaskError::NotHere(format!("{what} of a cluster cannot be made: {error}"))
}
