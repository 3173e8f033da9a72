//! The command line of the commands that change what is in use.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::args::{ReadingArgs, ShapeArgs, SourceArgs};
use super::sources::SourceArg;
use crate::cli::timeout;
use crate::search::SearchPath;

/// Where Slurm's packages have the file.
const TOPOLOGY: &str = "/etc/slurm/topology.yaml";

/// How Slurm is asked.
#[derive(Clone, Debug, Args)]
pub(crate) struct SlurmArgs {
    #[command(flatten)]
    pub(crate) path: SearchPath,
    /// How long one question to the controller may take, for instance 500ms, 10s
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = timeout)]
    pub(crate) ask: Duration,
    /// How long the controller may take to hold a topology that it was told to load
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = timeout)]
    pub(crate) load: Duration,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ApplyArgs {
    /// The topology: what generate has written; - for standard input
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,
    /// The file that the controller reads
    #[arg(long, value_name = "FILE", default_value = TOPOLOGY)]
    pub(crate) to: PathBuf,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) slurm: SlurmArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The file that the controller reads
    #[arg(value_name = "FILE", default_value = TOPOLOGY)]
    pub(crate) file: PathBuf,
    /// Compare the file with this source, too, as for generate; may be repeated
    #[arg(long = "source", value_name = "KIND:FILE")]
    pub(crate) sources: Vec<SourceArg>,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    #[command(flatten)]
    pub(crate) shape: ShapeArgs,
    #[command(flatten)]
    pub(crate) slurm: SlurmArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub(crate) sources: SourceArgs,
    #[command(flatten)]
    pub(crate) shape: ShapeArgs,
    /// The file that the controller reads
    #[arg(long, value_name = "FILE", default_value = TOPOLOGY)]
    pub(crate) to: PathBuf,
    /// The time between polls, for instance 30s, 1m
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = timeout)]
    pub(crate) interval: Duration,
    /// How long a change must stay the same before it is applied
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = timeout)]
    pub(crate) debounce: Duration,
    /// The share of nodes in percent that may be lost at once without a second poll
    #[arg(long, value_name = "PERCENT", default_value_t = 25, value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(crate) max_loss: u8,
    /// Apply losses of any size like other changes
    #[arg(long)]
    pub(crate) allow_shrink: bool,
    /// How often the controller is asked if it still holds the file
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = timeout)]
    pub(crate) verify: Duration,
    /// Write metrics for Prometheus' node_exporter to this file, whose name ends in .prom
    #[arg(long, value_name = "FILE")]
    pub(crate) metrics: Option<PathBuf>,
    /// Poll until nothing is left to wait for, then end; the exit code tells if the last poll was good
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) slurm: SlurmArgs,
}

impl VerifyArgs {
    /// The sources, if there are any.
    pub(crate) fn sources(&self) -> Option<SourceArgs> {
        let VerifyArgs { sources, reading, .. } = self.clone();
        (!sources.is_empty()).then_some(SourceArgs { sources, reading })
    }
}
