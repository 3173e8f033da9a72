//! The command line of `imex channel`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use imex_config::operator::DEFAULT_OPERATOR;
use imex_host::channel::{ChannelSet, limit};
use imex_host::devices;

/// What to do with channels.
#[derive(Clone, Debug, Args)]
pub(crate) struct ChannelArgs {
    #[command(subcommand)]
    pub(crate) command: ChannelCommand,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ChannelCommand {
    /// Show the channels of this node, and what is wrong with them
    List(ListArgs),
    /// Make channels what they should be
    ///
    /// A channel that is right is left alone. A device that is wrong (another driver's, from a boot before, or with
    /// another mode or owner) is replaced in one step and told. What is no device is neither followed nor removed.
    Create(CreateArgs),
    /// Remove channels
    Remove(RemoveArgs),
    /// Tell if channels are what they should be, and if a user could open them
    ///
    /// As root the channel is opened as that user, else the mode bits are looked at. The device rules of a job's own
    /// control group are seen only from inside the job.
    Check(CheckArgs),
}

impl ChannelCommand {
    /// If JSON is wanted.
    pub(crate) fn json(&self) -> bool {
        match self {
            ChannelCommand::List(args) => args.place.json,
            ChannelCommand::Create(args) => args.place.json,
            ChannelCommand::Remove(args) => args.place.json,
            ChannelCommand::Check(args) => args.place.json,
        }
    }
}

/// Where channels are, and what they should be like.
#[derive(Clone, Debug, Args)]
pub(crate) struct PlaceArgs {
    /// What channels should be like: openimex.toml
    #[arg(short = 'c', long, value_name = "FILE", default_value = DEFAULT_OPERATOR)]
    pub(crate) config: PathBuf,
    /// The folder of channels; that of the configuration if not given
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Where the kernel lists its drivers
    #[arg(long, value_name = "FILE", default_value = devices::DEFAULT_PATH, hide_short_help = true)]
    pub(crate) devices: PathBuf,
    /// Where NVIDIA's driver lists its parameters
    #[arg(long, value_name = "FILE", default_value = limit::DEFAULT_PATH, hide_short_help = true)]
    pub(crate) params: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct CreateArgs {
    /// Which ones, for instance 0 or 0,4-7
    #[arg(value_name = "CHANNELS", required_unless_present = "boot", conflicts_with = "boot")]
    pub(crate) channels: Vec<ChannelSet>,
    /// Those that the configuration has for the boot; none if Slurm's switch/nvidia_imex makes them
    #[arg(long)]
    pub(crate) boot: bool,
    /// Give them to this user, by name or number; to root if not given
    #[arg(long, value_name = "USER")]
    pub(crate) owner: Option<String>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct RemoveArgs {
    /// Which ones, for instance 0 or 0,4-7
    #[arg(value_name = "CHANNELS", required_unless_present = "all", conflicts_with = "all")]
    pub(crate) channels: Vec<ChannelSet>,
    /// All that are there
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct CheckArgs {
    /// Which ones, for instance 0 or 0,4-7
    #[arg(value_name = "CHANNELS", default_value = "0")]
    pub(crate) channels: Vec<ChannelSet>,
    /// A user who should be able to open them, by name or number
    #[arg(long = "as", value_name = "USER")]
    pub(crate) user: Option<String>,
    /// Expect them to be this user's, by name or number; root's if not given
    #[arg(long, value_name = "USER")]
    pub(crate) owner: Option<String>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}
