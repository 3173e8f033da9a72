//! The command line of `imex validate`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use imex_config::operator::DEFAULT_OPERATOR;

use crate::cli::timeout;
use crate::search::SearchPath;

/// How long all members may take, unless told.
const TIMEOUT: &str = "60s";

/// How long nvbandwidth may take, unless told.
const BANDWIDTH_TIMEOUT: &str = "3m";

/// The GPUs of a node of a GB200 or GB300 rack.
const GPUS: u16 = 4;

/// What to validate.
#[derive(Clone, Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ValidateArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ValidateCommand>,
    /// Print a batch script that validates with the other options given, for sbatch, and do nothing else
    #[arg(long)]
    pub(crate) script: bool,
    /// How many nodes the script asks for; it leaves that to sbatch if not given
    #[arg(short = 'N', long, value_name = "N", requires = "script", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) nodes: Option<u16>,
    /// Which partition the script asks for; it leaves that to sbatch if not given
    #[arg(short = 'p', long, value_name = "NAME", requires = "script", value_parser = plain)]
    pub(crate) partition: Option<String>,
    /// How domains are made: openimex.toml
    #[arg(short = 'c', long, value_name = "FILE", default_value = DEFAULT_OPERATOR)]
    pub(crate) config: PathBuf,
    /// Judge what members have told before, one JSON a line, instead of asking them; - for standard input
    ///
    /// Whose reports they should be is still the job's to say: SLURM_JOB_ID and SLURM_JOB_NODELIST, as inside of it.
    #[arg(long, value_name = "FILE", conflicts_with = "script")]
    pub(crate) reports: Option<PathBuf>,
    /// How long all members together may take, for instance 30s, 2m
    #[arg(long, value_name = "TIME", default_value = TIMEOUT, value_parser = timeout)]
    pub(crate) timeout: Duration,
    /// Also measure the bandwidth between all GPUs with nvbandwidth, if it is found
    #[arg(long)]
    pub(crate) bandwidth: bool,
    /// How long nvbandwidth may take
    #[arg(long, value_name = "TIME", default_value = BANDWIDTH_TIMEOUT, value_parser = timeout, requires = "bandwidth")]
    pub(crate) bandwidth_timeout: Duration,
    /// Fail if any pair of GPUs has less than this, in GB/s
    #[arg(long, value_name = "GBPS", requires = "bandwidth", value_parser = gigabytes)]
    pub(crate) min_bandwidth: Option<f64>,
    /// How many GPUs a node has: so many ranks of nvbandwidth are started on each
    #[arg(long, value_name = "N", default_value_t = GPUS, requires = "bandwidth", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) gpus_per_node: u16,
    #[command(flatten)]
    pub(crate) path: SearchPath,
    /// A running job of yours, looked at from outside of it; inside it is the job's own
    #[arg(long, value_name = "ID", env = "SLURM_JOB_ID", hide_env = true)]
    pub(crate) job: Option<String>,
    /// The job's nodes; Slurm is asked if they are not given
    #[arg(long, value_name = "NODES", hide = true)]
    pub(crate) nodelist: Option<String>,
    /// The job that this runs in, if it runs in one
    #[arg(long, value_name = "ID", env = "SLURM_JOB_ID", hide = true)]
    pub(crate) own_job: Option<String>,
    /// The nodes of that job
    #[arg(long, value_name = "NODES", env = "SLURM_JOB_NODELIST", hide = true)]
    pub(crate) own_nodes: Option<String>,
    /// The step that this runs in, if it is not the job's script
    #[arg(long = "step", value_name = "ID", env = "SLURM_STEP_ID", hide = true)]
    pub(crate) own_step: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum ValidateCommand {
    /// Tell what this member knows, as one line of JSON: what validate starts on every node
    #[command(hide = true)]
    Member(MemberArgs),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct MemberArgs {
    /// How domains are made: openimex.toml
    #[arg(short = 'c', long, value_name = "FILE", default_value = DEFAULT_OPERATOR)]
    pub(crate) config: PathBuf,
    /// This node's name in Slurm
    #[arg(long, value_name = "NAME", env = "SLURMD_NODENAME", hide_env = true)]
    pub(crate) node: Option<String>,
    /// The job that this runs in, as Slurm says it
    #[arg(long, value_name = "ID", env = "SLURM_JOB_ID", hide = true)]
    pub(crate) job: Option<String>,
    /// Tell it in short lines with checks, which srun does not mix with those of other nodes
    #[arg(long)]
    pub(crate) pieces: bool,
    /// How long one question may take
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = timeout)]
    pub(crate) ask: Duration,
    #[command(flatten)]
    pub(crate) path: SearchPath,
    /// Look at a machine whose files lie under this folder
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub(crate) root: PathBuf,
}

impl ValidateArgs {
    /// The job's nodes as the command line tells them, or the environment, which speaks of the job that this runs in: from
    /// inside of one job another one can be asked for.
    pub(super) fn told_nodes(&self) -> Option<&str> {
        let own = self.own_nodes.as_deref().filter(|_| self.job == self.own_job);
        self.nodelist.as_deref().or(own)
    }

    /// The options, as words, that a script must give again to mean the same: those that are not their defaults.
    pub(super) fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let mut add = |option: &str, value: OsString| words.extend([option.into(), value]);
        if self.config != Path::new(DEFAULT_OPERATOR) {
            add("-c", self.config.clone().into());
        }
        for (option, time, usual) in [
            ("--timeout", self.timeout, TIMEOUT),
            ("--bandwidth-timeout", self.bandwidth_timeout, BANDWIDTH_TIMEOUT),
        ] {
            if Ok(time) != timeout(usual) {
                add(option, format!("{}ms", time.as_millis()).into());
            }
        }
        if self.gpus_per_node != GPUS {
            add("--gpus-per-node", self.gpus_per_node.to_string().into());
        }
        if let Some(least) = self.min_bandwidth {
            add("--min-bandwidth", least.to_string().into());
        }
        if let Some(path) = self.path.given() {
            add("--path", path.to_owned());
        }
        let flags = [("--bandwidth", self.bandwidth), ("--json", self.json)];
        words.extend(flags.into_iter().filter(|(_, set)| *set).map(|(flag, _)| flag.into()));
        words
    }
}

/// A name that can stand in a script without being anything else.
fn plain(text: &str) -> Result<String, String> {
    let usable = |letter: char| letter.is_ascii_alphanumeric() || "_-.,".contains(letter);
    if !text.is_empty() && text.chars().all(usable) {
        Ok(text.to_owned())
    } else {
        Err("it must be of letters, digits, `_`, `-`, `.` and `,`".to_owned())
    }
}

fn gigabytes(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "it must be a number above 0".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: ValidateArgs,
    }

    #[test]
    fn what_a_job_knows_of_itself_is_not_held_against_another() {
        let told = |words: &str| {
            let line = format!("validate {words} --own-job 9 --own-nodes n[1-9]");
            Line::parse_from(line.split(' ')).args.told_nodes().map(str::to_owned)
        };
        assert_eq!(told("--job 9").as_deref(), Some("n[1-9]"));
        assert_eq!(told("--job 7"), None);
        assert_eq!(told("--job 7 --nodelist n7").as_deref(), Some("n7"));
    }
}
