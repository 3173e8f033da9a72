//! A real Slurm on this machine: controller and nodes in namespaces of their own, from Debian's packages.
//!
//! `build` makes a root with Slurm in it, once; `up` starts a cluster over it, `exec` runs a command in it, `down` ends
//! it. The root is never written to, nothing listens outside of the cluster's own network, and everything ends with
//! one process. Needs root, namespaces and overlayfs; a machine without them is told so.

mod cluster;
mod conf;
mod init;
mod root;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::error::TaskError;
use crate::report::Report;
use crate::tree;

pub(crate) use cluster::Cluster;
pub(crate) use conf::Setup;
pub(crate) use root::Root;

/// How long a command in the cluster may take: a client that has lost its controller would wait for ever.
const EXEC_LIMIT: Duration = Duration::from_secs(60);

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
    /// End the cluster
    Down(Of),
    /// Be the first process of a cluster: what `up` starts
    #[command(hide = true)]
    Init(Init),
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
}

#[derive(Args)]
struct Exec {
    #[command(flatten)]
    of: Of,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

#[derive(Args)]
struct Init {
    #[arg(long)]
    root: PathBuf,
    #[arg(long)]
    dir: PathBuf,
    #[arg(long)]
    nodes: u8,
}

impl Of {
    fn dir(&self) -> PathBuf {
        self.dir.clone().unwrap_or_else(|| tree::target().join("slurm-lab/cluster"))
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
            let topology = up.topology.as_deref().map(tree::read).transpose()?;
            let setup = Setup { nodes: up.nodes, topology, partitions: Vec::new() };
            let cluster = Cluster::up(&Root::build(report)?, &up.of.dir(), &setup)?;
            report.line(format_args!(
                "{} nodes are idle; their files are in {}",
                up.nodes,
                cluster.dir().display()
            ));
            cluster.leave_running();
            Ok(())
        }
        Command::Exec(exec) => {
            let words: Vec<&str> = exec.command.iter().map(String::as_str).collect();
            let said = Cluster::find(&exec.of.dir())?.exec(&words, EXEC_LIMIT)?;
            report.line(said.out.trim_end());
            said.judge()
        }
        Command::Down(of) => Cluster::find(&of.dir())?.down(),
        Command::Init(init) => init::run(&init.root, &init.dir, init.nodes),
    }
}
