//! The command line of `imex topology`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use imex_topology::plan::{Gres, gres_list};
use imex_topology::{BlockSizes, NodeSet, SlurmVersion};

use super::aws::AwsArgs;
use super::lifecycle_args::{ApplyArgs, VerifyArgs, WatchArgs};
use super::sources::SourceArg;
use crate::search::SearchPath;

/// What to do with topologies.
#[derive(Clone, Debug, Args)]
pub(crate) struct TopologyArgs {
    #[command(subcommand)]
    pub(crate) command: TopologyCommand,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum TopologyCommand {
    /// Write Slurm's topology for what the sources say
    ///
    /// Blocks keep the names and the order that they have in the previous file. Where sources disagree nothing is
    /// written: every node that they disagree about is named.
    Generate(GenerateArgs),
    /// Judge a topology file as slurmctld would, and beyond
    ///
    /// What slurmctld refuses is an error, what it loads although it is wrong a warning.
    Lint(LintArgs),
    /// Tell what changes between two topology files, by node and block
    Diff(DiffArgs),
    /// Print this node's fabric identity as one line of JSON
    ///
    /// The identity is the pair of cluster UUID and clique id that all GPUs agree about; without one the reason
    /// stands there, and the exit code tells its kind.
    Identify(IdentifyArgs),
    /// Gather identities of many nodes, one line each
    Collect(CollectArgs),
    /// Put a topology into use: write the file, have the controller load it, and see that it does
    ///
    /// What changes is shown first. If the controller refuses the topology, holds another one, or does not answer any
    /// more, the file before comes back. A run that was killed is finished or undone by the next.
    Apply(ApplyArgs),
    /// Compare what the controller holds with the file, and the file with the sources
    ///
    /// The exit code is for monitors.
    Verify(VerifyArgs),
    /// Keep the topology in use true to the sources
    ///
    /// Polls the sources, and applies a change that stays. The file stays as it is while a source fails, while sources
    /// disagree, and when many nodes are lost at once until a second poll confirms it. SIGHUP polls at once. Every
    /// decision is a line of JSON.
    Watch(WatchArgs),
    /// Print the node map of a node whose domain is not made for each job
    ///
    /// The text is the same on each member.
    NodeMap(NodeMapArgs),
    /// Tell where a job would land, or why it would not start
    ///
    /// The placement is that of Slurm's topology/block. Without --topology the controller is asked for its blocks and
    /// nodes; with it all nodes count as free unless --nodes-json, --live or --down says otherwise. The exit code tells
    /// if the job would start, wait or be refused.
    Plan(Box<PlanArgs>),
}

/// Where placements come from.
#[derive(Clone, Debug, Args)]
pub(crate) struct SourceArgs {
    /// Where nodes are, the most trusted source first; may be repeated
    ///
    /// KIND is inventory (a file of blocks), nvml (lines of identify, or a directory of such files), ec2 (saved
    /// output of aws ec2 describe-instance-topology, describe-instances, describe-capacity-blocks), slurm (a
    /// topology.yaml, a topology.conf or the output of scontrol show topology) or features (the output of scontrol
    /// show nodes --json). FILE may be - for standard input. Plain ec2 asks EC2 itself about the region, and
    /// pcs:CLUSTER asks about the instances of an AWS PCS cluster, by its name or id.
    #[arg(long = "source", value_name = "KIND:FILE", required = true)]
    pub(crate) sources: Vec<SourceArg>,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
}

/// How sources are asked and understood.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReadingArgs {
    /// By which of its names Slurm knows an EC2 instance: dns, id or tag:KEY
    #[arg(long, value_name = "NAME", default_value = "dns", value_parser = super::sources::name_by)]
    pub(crate) ec2_name: imex_topology::source::aws_json::NameBy,
    /// The feature or comment that names a node's block, with a star for the name
    #[arg(long, value_name = "PATTERN", default_value = "nvl-*")]
    pub(crate) feature: imex_topology::source::features::Pattern,
    #[command(flatten)]
    pub(crate) aws: AwsArgs,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct GenerateArgs {
    #[command(flatten)]
    pub(crate) sources: SourceArgs,
    /// The file that is in use: its names, order and other topologies stay
    #[arg(long, value_name = "FILE")]
    pub(crate) previous: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) shape: ShapeArgs,
    /// Print JSON: the file's text and what should be known of it
    #[arg(long)]
    pub(crate) json: bool,
}

/// How the topology of an inventory is made.
#[derive(Clone, Debug, Args)]
pub(crate) struct ShapeArgs {
    /// Name of the topology
    #[arg(long, value_name = "NAME", default_value = "nvlink")]
    pub(crate) name: String,
    /// How new blocks of an NVLink fabric are named
    #[arg(long, value_enum, default_value = "key")]
    pub(crate) names: NamesArg,
    /// Block sizes, the base first, for instance 18,36; inferred if not given
    #[arg(long, value_name = "SIZES", value_parser = sizes)]
    pub(crate) sizes: Option<BlockSizes>,
    /// Add a flat topology of this name for partitions with nodes outside of blocks
    #[arg(long, value_name = "NAME")]
    pub(crate) flat: Option<String>,
    /// The Slurm that reads the file; before 25.05 it is a topology.conf
    #[arg(long, value_name = "VERSION", default_value_t = SlurmVersion::NEWEST)]
    pub(crate) slurm_version: SlurmVersion,
}

/// [`Names`](imex_topology::naming::Names) by its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NamesArg {
    /// UUID and clique id
    Key,
    /// The first digits of the UUID and the clique id
    Short,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct LintArgs {
    /// topology.yaml, topology.conf, or - for standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// What the file is, if its name does not tell
    #[arg(long, value_enum)]
    pub(crate) form: Option<FormArg>,
    /// Judge nodes and partitions with this slurm.conf
    #[arg(long, value_name = "FILE")]
    pub(crate) slurm_conf: Option<PathBuf>,
    /// Judge the queues of this AWS PCS cluster as well, by its name or id
    #[arg(long, value_name = "CLUSTER")]
    pub(crate) pcs_cluster: Option<String>,
    #[command(flatten)]
    pub(crate) aws: AwsArgs,
    /// Judge for this version of Slurm
    #[arg(long, value_name = "VERSION")]
    pub(crate) slurm_version: Option<SlurmVersion>,
    /// Take warnings for errors
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// [`Form`](imex_topology::Form) by its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormArg {
    /// topology.yaml
    Yaml,
    /// topology.conf
    Conf,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct DiffArgs {
    /// The file before: topology.yaml, topology.conf or the output of scontrol show topology
    #[arg(value_name = "OLD")]
    pub(crate) old: PathBuf,
    /// The file after
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct IdentifyArgs {
    /// Whom to ask: NVIDIA's library NVML, nvidia-smi, or (auto) nvidia-smi only where there is no library
    #[arg(long, value_enum, value_name = "WHOM", default_value = "auto")]
    pub(crate) by: ByArg,
    /// The library
    #[arg(long, value_name = "FILE", default_value = imex_nvml::DEFAULT_LIBRARY)]
    pub(crate) library: PathBuf,
    /// Read the text of nvidia-smi -q, or CSV with fabric columns, instead of asking; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["by", "library"])]
    pub(crate) nvidia_smi: Option<PathBuf>,
    /// Print it in short lines with checks, which srun does not mix with those of other nodes
    #[arg(long, hide = true)]
    pub(crate) pieces: bool,
    /// The name that Slurm knows the node by; its host name up to the first dot if not given
    #[arg(long, value_name = "NAME", env = "SLURMD_NODENAME")]
    pub(crate) node: Option<String>,
    /// How long an answer may take, for instance 500ms, 60s, 2m
    ///
    /// Without the persistence daemon every GPU is woken for it, which takes seconds.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = crate::cli::timeout)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) path: SearchPath,
}

/// Whom to ask for a fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ByArg {
    /// The library, or nvidia-smi where it is missing.
    Auto,
    /// The library.
    Nvml,
    /// The tool.
    NvidiaSmi,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct CollectArgs {
    /// Files with lines of identify, or directories of them; - for standard input
    #[arg(value_name = "FILE", required_unless_present = "srun", conflicts_with = "srun")]
    pub(crate) files: Vec<PathBuf>,
    /// Run identify on these nodes with srun
    #[arg(long, value_name = "NODES")]
    pub(crate) srun: Option<String>,
    /// How long srun may take, for instance 500ms, 60s, 2m
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = crate::cli::timeout)]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) path: SearchPath,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct NodeMapArgs {
    #[command(flatten)]
    pub(crate) sources: SourceArgs,
    /// The node
    #[arg(long, value_name = "NAME")]
    pub(crate) node: String,
    /// Whose domain it is
    #[arg(long, value_enum)]
    pub(crate) scope: ScopeArg,
    /// Write the addresses that scontrol show nodes --json tells instead of names
    #[arg(long, value_name = "FILE")]
    pub(crate) addresses: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// [`Scope`](imex_topology::node_map::Scope) by its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeArg {
    /// All nodes of the NVLink domain
    Domain,
    /// The nodes of the NVLink partition
    Partition,
}

/// Which job, on which blocks and nodes.
#[derive(Clone, Debug, Args)]
pub(crate) struct PlanArgs {
    /// How many nodes the job asks for
    #[arg(short = 'N', long, value_name = "N", required_unless_present = "job", conflicts_with = "job",
        value_parser = positive)]
    pub(crate) nodes: Option<usize>,
    /// How many nodes must be in one block, as sbatch --segment
    #[arg(long, value_name = "M", value_parser = positive, conflicts_with = "job")]
    pub(crate) segment: Option<usize>,
    /// Each segment in blocks of its own, as sbatch --spread-segments
    #[arg(long)]
    pub(crate) spread_segments: bool,
    /// All segments in one block, or in one group of blocks, that could hold the job, as sbatch --consolidate-segments
    #[arg(long, conflicts_with = "spread_segments")]
    pub(crate) consolidate_segments: bool,
    /// What each node must have, for instance gpu:4, as sbatch --gres
    #[arg(long, value_name = "LIST", value_parser = gres, conflicts_with = "job")]
    pub(crate) gres: Option<GresList>,
    /// Only nodes without any job; this is the default
    #[arg(long, conflicts_with = "shared")]
    pub(crate) exclusive: bool,
    /// Also nodes that other jobs have a part of
    #[arg(long)]
    pub(crate) shared: bool,
    /// Nodes that must be among them, as sbatch --nodelist
    #[arg(short = 'w', long, value_name = "NODES", value_parser = nodes, conflicts_with = "job")]
    pub(crate) nodelist: Option<NodeSet>,
    /// Nodes that must not, as sbatch --exclude
    #[arg(short = 'x', long, value_name = "NODES", value_parser = nodes, conflicts_with = "job")]
    pub(crate) exclude: Option<NodeSet>,
    /// Plan this job of the controller, and explain why it is pending
    #[arg(long, value_name = "ID")]
    pub(crate) job: Option<u64>,
    /// Read the job from saved output of scontrol show job --json; - for standard input
    #[arg(long, value_name = "FILE", requires = "job")]
    pub(crate) job_json: Option<PathBuf>,
    /// topology.yaml, topology.conf or saved output of scontrol show topology; - for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) topology: Option<PathBuf>,
    /// Which topology of the file; the default one if not given
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Read the nodes' states from saved output of scontrol show nodes --json; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "live")]
    pub(crate) nodes_json: Option<PathBuf>,
    /// Ask the controller for the nodes' states, although the topology is a file
    #[arg(long)]
    pub(crate) live: bool,
    /// Nodes that count as down, whatever else is known of them
    #[arg(long, value_name = "NODES", value_parser = nodes)]
    pub(crate) down: Option<NodeSet>,
    /// Find the segment that keeps groups of this many GPUs in one block
    #[arg(long, value_name = "N", value_parser = positive, conflicts_with_all = ["segment", "job"])]
    pub(crate) gpus_per_group: Option<usize>,
    /// How many GPUs a node has
    #[arg(long, value_name = "N", value_parser = positive, default_value = "4")]
    pub(crate) gpus_per_node: usize,
    /// Also draw racks and segments into this file
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// How long the controller may take to answer, for instance 500ms, 60s, 2m
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = crate::cli::timeout)]
    pub(crate) timeout: Duration,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl TopologyCommand {
    /// If the answer is to be JSON.
    pub(crate) fn json(&self) -> bool {
        match self {
            TopologyCommand::Generate(args) => args.json,
            TopologyCommand::Lint(args) => args.json,
            TopologyCommand::Diff(args) => args.json,
            TopologyCommand::NodeMap(args) => args.json,
            TopologyCommand::Plan(args) => args.json,
            TopologyCommand::Apply(args) => args.json,
            TopologyCommand::Verify(args) => args.json,
            // Their lines are JSON; a failure is for people.
            TopologyCommand::Identify(_) | TopologyCommand::Collect(_) | TopologyCommand::Watch(_) => false,
        }
    }
}

fn sizes(text: &str) -> Result<BlockSizes, String> {
    let sizes =
        text.split(',').map(|size| size.trim().parse().map_err(|_| format!("`{size}` is not a size")));
    let sizes: Vec<usize> = sizes.collect::<Result<_, _>>()?;
    BlockSizes::new(sizes).map_err(|error| error.to_string())
}

fn nodes(text: &str) -> Result<NodeSet, String> {
    NodeSet::parse(text).map_err(|error| error.to_string())
}

/// A list of resources: clap would take a plain vector for an option that may be repeated.
#[derive(Clone, Debug, Default)]
pub(crate) struct GresList(pub(crate) Vec<Gres>);

fn gres(text: &str) -> Result<GresList, String> {
    gres_list(text).map(GresList).map_err(|error| error.to_string())
}

/// A number from 1 to the most nodes that a list may have.
fn positive(text: &str) -> Result<usize, String> {
    let most = imex_host::hostlist::MAX_HOSTS;
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("it must be a number from 1 to {most}"))
}
