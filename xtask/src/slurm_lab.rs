//! A real Slurm on this machine: controller and nodes in name spaces of their own, from Debian's packages.
//!
//! `build` makes a root with Slurm in it, once; `up` starts a cluster over it, `exec` runs a command in it, `down` ends
//! it. The root is never written to, nothing listens outside of the cluster's own network, and everything ends with
//! one process. Needs root, name spaces and overlayfs; a machine without them is told so.
//!
//! With `--systemd` each node is a machine: process, mount, host name, IPC, network, control group and time name spaces of
//! its own, a cable to a bridge, a disk, a boot id, and Debian's systemd as its first process.

mod cgroup;
mod cluster;
mod commands;
mod conf;
mod fakes;
mod filesystem;
mod init;
mod keeper;
mod layer;
mod machine;
mod measure;
mod note;
mod possible;
mod root;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use crate::e2e::{Channels, Site};
use crate::error::TaskError;
use crate::report::{self, Report};
use crate::tree;

pub(crate) use cluster::{Cluster, Said, Seat};
pub(crate) use conf::{DEVICES, Kind, Machines, Network, Setup};
pub(crate) use fakes::{CHANNELS_FILE, DRIVER, channels_open};
pub(crate) use keeper::Keep;
pub(crate) use layer::File;
pub(crate) use measure::Usage;
pub(crate) use root::Root;

/// How long a command in the cluster may take: a client that has lost its controller would wait for ever.
const EXEC_LIMIT: Duration = Duration::from_secs(60);

/// Where this program is on each machine of a cluster.
pub(crate) const LAB: &str = "/usr/lib/openimex-lab/xtask";

#[derive(Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make the root with Slurm in it, if it is not there yet
    Build,
    /// Start a cluster; it runs until `down`
    Up(Up),
    /// Run a command in the cluster
    Exec(Exec),
    /// Take the power from a node, without any notice
    PowerOff(Power),
    /// Give a node its power again: it boots with the disk it had
    PowerOn(Power),
    /// End the cluster
    Down(Of),
    /// Start a cluster's first process and clean up after it: what `up` starts
    #[command(hide = true)]
    Keep {
        #[arg(long)]
        keep: Keep,
        #[command(flatten)]
        options: InitOptions,
    },
    /// Be the first process of a cluster
    #[command(hide = true)]
    Init(InitOptions),
    /// Be the first process of a machine
    #[command(hide = true)]
    Boot(machine::BootOptions),
    /// Serve instance metadata on a machine
    #[command(hide = true)]
    Metadata,
    /// Run a hook of Slurm's and note what it costs
    #[command(hide = true)]
    Measure(measure::Options),
    /// Do something that needs the cluster's name spaces
    #[command(hide = true, subcommand)]
    Inside(Inside),
}

#[derive(Subcommand)]
enum Inside {
    PowerOff { node: u8 },
    PowerOn { node: u8 },
}

#[derive(Args)]
struct Of {
    /// The cluster's folder
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

#[derive(Args)]
struct Up {
    #[command(flatten)]
    of: Of,
    /// How many nodes
    #[arg(long, value_name = "N", default_value_t = 36, value_parser = clap::value_parser!(u8).range(1..=250))]
    nodes: u8,
    /// A topology.yaml for the controller
    #[arg(long, value_name = "FILE")]
    topology: Option<PathBuf>,
    /// Make each node a machine of its own, with systemd
    #[arg(long)]
    systemd: bool,
    /// Install this project on it: programs, unit, settings, and Slurm's hooks
    #[arg(long, requires = "systemd")]
    install: bool,
    /// More lines for slurm.conf
    #[arg(long, value_name = "FILE", requires = "systemd")]
    conf: Option<PathBuf>,
    /// What the nodes' network speaks
    #[arg(long, value_name = "NETWORK", requires = "systemd", default_value = "both")]
    network: Network,
}

#[derive(Args)]
struct Exec {
    #[command(flatten)]
    of: Of,
    /// On this node, in its own name spaces, instead of beside the controller
    #[arg(long, value_name = "NODE", value_parser = node_number)]
    node: Option<u8>,
    /// As this user: alice, bob
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

#[derive(Args)]
struct Power {
    #[command(flatten)]
    of: Of,
    /// The node
    #[arg(value_name = "NODE", value_parser = node_number)]
    node: u8,
}

/// What the first process of a cluster is told.
#[derive(Args)]
struct InitOptions {
    #[arg(long)]
    root: PathBuf,
    #[arg(long)]
    dir: PathBuf,
    #[arg(long)]
    nodes: u8,
    #[arg(long)]
    nodes_are: NodesAre,
    #[arg(long)]
    network: Network,
}

/// What a node is, in a word.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum NodesAre {
    Daemons,
    Machines,
}

impl InitOptions {
    /// The same as a command line.
    fn words(&self) -> [OsString; 10] {
        let nodes_are = match self.nodes_are {
            NodesAre::Daemons => "daemons",
            NodesAre::Machines => "machines",
        };
        let word = OsString::from;
        [
            word("--root"),
            self.root.clone().into(),
            word("--dir"),
            self.dir.clone().into(),
            word("--nodes"),
            word(&self.nodes.to_string()),
            word("--nodes-are"),
            word(nodes_are),
            word("--network"),
            word(self.network.word()),
        ]
    }
}

impl Of {
    fn dir(&self) -> PathBuf {
        self.dir.clone().unwrap_or_else(|| tree::target().join("slurm-lab/cluster"))
    }
}

impl Up {
    fn setup(&self, report: &mut Report) -> Result<Setup, TaskError> {
        let read = |path: &Option<PathBuf>| path.as_deref().map(tree::read).transpose();
        let mut setup = Setup::daemons(self.nodes);
        let slurm_conf = read(&self.conf)?.unwrap_or_default();
        if self.install {
            let site = Site {
                network: self.network,
                channels: Channels::Openable,
                slurm_conf,
                ..Site::new(self.nodes)
            };
            report.line("building what is installed; the first time takes some minutes");
            site.build()?;
            setup = site.setup()?;
        } else if self.systemd {
            setup = Setup::machines(
                self.nodes,
                Machines { network: self.network, slurm_conf, ..Machines::default() },
            );
        }
        Ok(Setup { topology: read(&self.topology)?, ..setup })
    }
}

impl Up {
    fn say_how_to_go_on(&self, report: &mut Report) {
        let dir = self.of.dir.as_ref().map(|dir| format!(" --dir {}", dir.display())).unwrap_or_default();
        let go_on = |what: &str, words: &str| format!("  {what:<28} cargo xtask slurm-lab {words}");
        report.line(go_on("beside the controller, as root", &format!("exec{dir} -- sinfo")));
        report.line(go_on("as a user", &format!("exec{dir} --user alice -- sbatch …")));
        if self.systemd {
            report.line(go_on("on a node", &format!("exec{dir} --node node1 -- systemctl status slurmd")));
        }
        report.line(go_on("end it", &format!("down{dir}")));
    }
}

/// Does what the command line says.
pub(crate) fn run(options: Options, report: &mut Report) -> Result<(), TaskError> {
    match options.command {
        Command::Build => {
            let root = Root::build(report)?;
            report.line(format_args!("{} in {}", root.version()?, root.path().display()));
            Ok(())
        }
        Command::Up(up) => {
            let root = Root::build(report)?;
            let setup = up.setup(report)?;
            let running = crate::clock::Stopwatch::start();
            let cluster = Cluster::up(&root, &up.of.dir(), &setup, Keep::UntilDown)?;
            let (took, dir) = (report::seconds(running.elapsed()), cluster.dir().display());
            report.line(format_args!("{} nodes are idle after {took}; their files are in {dir}", up.nodes));
            up.say_how_to_go_on(report);
            Ok(())
        }
        Command::Exec(exec) => {
            let words: Vec<&str> = exec.command.iter().map(String::as_str).collect();
            let seat = Seat { node: exec.node, user: exec.user.as_deref() };
            let said = Cluster::find(&exec.of.dir())?.exec_at(seat, &words, EXEC_LIMIT)?;
            report.pass_on(&said.out, &said.err);
            said.passed_on().judge()
        }
        Command::PowerOff(power) => Cluster::find(&power.of.dir())?.power_off(power.node),
        Command::PowerOn(power) => Cluster::find(&power.of.dir())?.power_on(power.node),
        Command::Down(of) => Cluster::find(&of.dir())?.down(),
        Command::Keep { keep, options } => keeper::run(&options, keep),
        Command::Init(options) => init::run(&options),
        Command::Boot(options) => machine::boot(&options),
        Command::Metadata => fakes::metadata::serve(),
        Command::Measure(options) => measure::run(&options),
        Command::Inside(Inside::PowerOff { node }) => machine::power_off(node),
        Command::Inside(Inside::PowerOn { node }) => machine::power_on(node, init::network_of_cluster()?),
    }
}

/// `node3` or `3`.
fn node_number(text: &str) -> Result<u8, String> {
    let number = text.strip_prefix("node").unwrap_or(text);
    number.parse().map_err(|_| format!("{text:?} is no node: they are called node1, node2, …"))
}
