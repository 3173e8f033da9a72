//! The command line of `imex pki`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Where the authority is kept unless told otherwise.
const DIR: &str = "/etc/openimex/pki";

/// Where the nodes find their credentials unless told otherwise.
const INSTALLED: &str = "/etc/nvidia-imex/tls";

/// The longest validity in days: a hundred years.
const MAX_DAYS: i64 = 36_500;

#[derive(Clone, Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct PkiArgs {
    #[command(subcommand)]
    pub(crate) command: PkiCommand,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum PkiCommand {
    /// Make an authority: a key and a certificate that the nodes trust
    ///
    /// Whoever has its key can be any node. Keep the directory on one machine, for root alone.
    Init(InitArgs),
    /// Issue certificates for the nodes of a map, or for one node
    ///
    /// Each node gets a directory with its server and its client key, their certificates, and the authority's. The lines
    /// for config.cfg are printed. A daemon that runs takes new files into use when it gets SIGUSR1, and tells the others.
    Issue(IssueArgs),
    /// Tell what is in certificates, and whether they count
    Show(ShowArgs),
}

impl PkiCommand {
    /// Whether JSON is wanted.
    pub(crate) fn json(&self) -> bool {
        match self {
            PkiCommand::Init(args) => args.common.json,
            PkiCommand::Issue(args) => args.common.json,
            PkiCommand::Show(args) => args.json,
        }
    }
}

/// What both that write have in common.
#[derive(Clone, Debug, Args)]
pub(crate) struct CommonArgs {
    /// Directory of the authority
    #[arg(long, value_name = "DIR", default_value = DIR)]
    pub(crate) dir: PathBuf,
    /// Replace files that are there
    #[arg(long)]
    pub(crate) force: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct InitArgs {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    /// What the authority is called in its certificate
    #[arg(long, value_name = "NAME", default_value = "IMEX authority")]
    pub(crate) name: String,
    /// For how many days it counts, at most 36500
    #[arg(long, value_name = "N", default_value_t = 3650, value_parser = clap::value_parser!(i64).range(1..=MAX_DAYS))]
    pub(crate) days: i64,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct IssueArgs {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    #[command(flatten)]
    pub(crate) whom: WhomArgs,
    /// Further addresses that the node's certificates are good for
    #[arg(long = "address", value_name = "IP", requires = "node")]
    pub(crate) addresses: Vec<IpAddr>,
    /// For how many days they count, at most 36500
    #[arg(long, value_name = "N", default_value_t = 365, value_parser = clap::value_parser!(i64).range(1..=MAX_DAYS))]
    pub(crate) days: i64,
    /// Directory for the nodes' directories; the authority's, in `nodes`, if not given
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Where each node will have its own files, for the lines of config.cfg
    #[arg(long, value_name = "DIR", default_value = INSTALLED)]
    pub(crate) installed: PathBuf,
}

#[derive(Clone, Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct WhomArgs {
    /// Every node of this node list
    #[arg(long, value_name = "FILE")]
    pub(crate) nodes: Option<PathBuf>,
    /// This node: its entry of the node list, an address or a host name
    #[arg(long, value_name = "ENTRY")]
    pub(crate) node: Option<String>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ShowArgs {
    /// PEM files with certificates
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
