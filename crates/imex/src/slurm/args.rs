//! The command line of `imex slurm`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use imex_config::operator::DEFAULT_OPERATOR;

use crate::cli::timeout;
use crate::search::SearchPath;

/// Where Slurm's packages have its configuration.
pub(crate) const SLURM_CONF: &str = "/etc/slurm/slurm.conf";

/// Where the scripts for Slurm are installed.
pub(crate) const SCRIPTS: &str = "/usr/libexec/openimex/slurm";

#[derive(Clone, Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct SlurmArgs {
    #[command(subcommand)]
    pub(crate) command: SlurmCommand,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum SlurmCommand {
    /// Form this node's domain for the job that is about to start: Slurm's Prolog
    ///
    /// It ends well only when every ordered pair of the domain's members is connected, or when there is nothing to form,
    /// or when another node is at fault. What it did is in the job's log and in a record.
    Prolog(ScriptArgs),
    /// Take away what the prolog made for a job: Slurm's Epilog
    ///
    /// It may run any number of times, for a job that never had a prolog, and after a reboot.
    Epilog(ScriptArgs),
    /// Take away what lost epilogs left behind: at boot, and as Slurm's HealthCheckProgram
    ///
    /// A domain is taken away if the machine was booted since its prolog, or if Slurm says that its job has ended.
    Sweep(SweepArgs),
    /// Let a task start only if its job's domain is UP, and tell it of the domain: Slurm's TaskProlog
    ///
    /// It prints `export NAME=value` lines, as Slurm wants them.
    TaskProlog(ScriptArgs),
    /// Print the lines that slurm.conf needs, and what each really means
    ///
    /// The time-outs follow from the budgets in openimex.toml. The scripts that the lines name are those of dist/slurm.
    Settings(SettingsArgs),
    /// Judge a slurm.conf, or a running controller, for jobs that need a verified domain
    ///
    /// Ends with 0 if there are notes at most, 91 if there are warnings, 90 if there are errors. docs/slurm.md has the
    /// rules.
    Check(CheckArgs),
    /// Tell Prometheus what the records of prologs, epilogs and sweeps come to
    ///
    /// Every figure is a gauge over the records that are kept. dist/systemd/imex-metrics.timer runs it for the node exporter.
    Metrics(MetricsArgs),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ScriptArgs {
    /// How domains are made on this node
    #[arg(short = 'c', long, value_name = "FILE", default_value = DEFAULT_OPERATOR)]
    pub(crate) config: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) script: ScriptArgs,
    /// The name by which Slurm knows this node
    #[arg(long, value_name = "NAME", env = "SLURMD_NODENAME", hide_env = true)]
    pub(crate) node: Option<String>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct SettingsArgs {
    /// The folder of the scripts on every node
    #[arg(long, value_name = "DIR", default_value = SCRIPTS)]
    pub(crate) scripts: PathBuf,
    /// How domains are made: openimex.toml
    #[arg(short = 'c', long, value_name = "FILE", default_value = DEFAULT_OPERATOR)]
    pub(crate) config: PathBuf,
    /// Write them for this release of Slurm; without it, for all
    #[arg(long, value_name = "VERSION")]
    pub(crate) slurm_version: Option<imex_slurm::release::Release>,
    /// Print the JSON for aws pcs update-cluster --slurm-configuration
    #[arg(long, conflicts_with = "json")]
    pub(crate) pcs: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct MetricsArgs {
    /// Write them to this file, as a whole, for a collector of text files
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(crate) to: Option<PathBuf>,
    /// How domains are made: openimex.toml
    #[arg(short = 'c', long, value_name = "FILE", default_value = DEFAULT_OPERATOR)]
    pub(crate) config: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct CheckArgs {
    /// The file; - for standard input
    #[arg(value_name = "FILE", default_value = SLURM_CONF, conflicts_with = "live", env = "SLURM_CONF", hide_env = true)]
    pub(crate) file: PathBuf,
    /// Ask the controller what it holds
    #[arg(long)]
    pub(crate) live: bool,
    /// Do not look at the scripts: they are on other machines
    #[arg(long)]
    pub(crate) no_scripts: bool,
    /// Judge for this release of Slurm; a controller tells its own
    #[arg(long, value_name = "VERSION")]
    pub(crate) slurm_version: Option<imex_slurm::release::Release>,
    /// How domains are made: openimex.toml
    #[arg(short = 'c', long, value_name = "FILE", default_value = DEFAULT_OPERATOR)]
    pub(crate) config: PathBuf,
    #[command(flatten)]
    pub(crate) path: SearchPath,
    /// How long one question to the controller may take, for instance 500ms, 10s
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = timeout)]
    pub(crate) ask: Duration,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl SlurmCommand {
    /// If the answer is to be JSON.
    pub(crate) fn json(&self) -> bool {
        match self {
            SlurmCommand::Prolog(args) | SlurmCommand::Epilog(args) | SlurmCommand::TaskProlog(args) => {
                args.json
            }
            SlurmCommand::Sweep(args) => args.script.json,
            SlurmCommand::Settings(args) => args.json,
            SlurmCommand::Check(args) => args.json,
            SlurmCommand::Metrics(args) => args.json,
        }
    }
}
