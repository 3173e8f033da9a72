//! The command line of `imex doctor`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use imex_config::operator::DEFAULT_OPERATOR;

use super::checks::{self, Check};
use crate::cli::timeout;
use crate::search::SearchPath;

/// What to look at.
#[derive(Clone, Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DoctorArgs {
    #[command(subcommand)]
    pub(crate) command: Option<DoctorCommand>,
    #[command(flatten)]
    pub(crate) look: LookArgs,
    /// Judge by these checks only, for instance D04,D21
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = checks::known)]
    pub(crate) only: Vec<&'static Check>,
    /// Judge without these checks, for instance D40,D41, which are the same on every node
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = checks::known)]
    pub(crate) skip: Vec<&'static Check>,
    /// Also write facts, findings, files and the ends of logs, without secrets, into this tar.gz
    #[arg(long, value_name = "FILE")]
    pub(crate) bundle: Option<PathBuf>,
    /// Show only what is not ok
    #[arg(short = 'q', long)]
    pub(crate) quiet: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where to look, and for how long.
#[derive(Clone, Debug, Args)]
pub(crate) struct LookArgs {
    /// How domains are made: openimex.toml
    #[arg(short = 'c', long, value_name = "FILE", default_value = DEFAULT_OPERATOR)]
    pub(crate) config: PathBuf,
    /// The user whose access to the channel counts; who runs this if not given
    #[arg(long = "as", value_name = "USER")]
    pub(crate) user: Option<String>,
    /// How long each question to another program, bus or machine may take, for instance 500ms, 2s
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = timeout)]
    pub(crate) ask: Duration,
    /// Look at a machine whose files lie under this folder
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub(crate) root: PathBuf,
    #[command(flatten)]
    pub(crate) path: SearchPath,
    /// Where slurm.conf is; the controller is asked where there is none
    #[arg(long, value_name = "FILE", env = "SLURM_CONF", hide_env = true, default_value = crate::slurm::args::SLURM_CONF)]
    pub(crate) slurm_conf: PathBuf,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum DoctorCommand {
    /// Tell what a code of CUDA means here: 101, 400, 401, 719, 800, 801, 802
    ///
    /// It separates what is not supported on this machine from a channel that is missing, and says what to check next.
    /// Without a code it lists all.
    Explain(ExplainArgs),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ExplainArgs {
    /// A number, or a name such as CUDA_ERROR_NOT_PERMITTED
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl DoctorArgs {
    /// The checks that are to judge, by id.
    pub(crate) fn checks(&self) -> Vec<&'static Check> {
        let among = |list: &[&Check], check: &Check| list.iter().any(|one| one.id == check.id);
        let wanted =
            |check: &&Check| (self.only.is_empty() || among(&self.only, check)) && !among(&self.skip, check);
        checks::ALL.iter().filter(wanted).collect()
    }

    /// If the answer is to be JSON.
    pub(crate) fn json(&self) -> bool {
        match &self.command {
            None => self.json,
            Some(DoctorCommand::Explain(args)) => args.json,
        }
    }
}
