//! The command line: what can be asked of `imex`. Help, man pages and completions come from here.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use imex_lab::NodeSignal;
use jiff::SignedDuration;

use crate::channel::ChannelArgs;
use crate::doctor::DoctorArgs;
use crate::follow::args::FollowArgs;
use crate::output::Format;
use crate::pki::PkiArgs;
use crate::slurm::SlurmArgs;
use crate::topology::TopologyArgs;
use crate::validate::ValidateArgs;

/// The longest `--timeout`. A prolog that waits for longer has been forgotten, and clocks do not overflow.
const MAX_TIMEOUT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Forms, verifies and rehearses IMEX domains.
#[derive(Clone, Debug, Parser)]
#[command(name = "imex", version, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Command {
    /// Wait until the domain is UP, and tell who is missing if it does not come
    ///
    /// What counts is what the local daemon sees; it need not run yet. When the time is over, every node that keeps
    /// the domain from being UP is named with the reason that the others give, and the exit code tells the gravest
    /// kind of reason.
    Wait(WaitArgs),
    /// Run a rack of real daemons on this machine, without a GPU
    ///
    /// Every node has a loopback address and files of its own. Without a subcommand the lab runs in the foreground:
    /// it shows the table that `imexctl -N` prints, then waits; Ctrl-C ends it.
    Lab(LabArgs),
    /// Keep this node's map in line with the topology, where domains are not made for each job
    ///
    /// On a change of the map it waits until no job holds the node's lease and all members of the new map are as far,
    /// then writes the map, restarts the service and sees the new domain come UP. A change that leaves the map the same
    /// does nothing. SIGHUP looks at once. Every change is a line of JSON.
    Follow(FollowArgs),
    /// Make, remove and check the channel devices, without which no program can share GPU memory between machines
    Channel(ChannelArgs),
    /// Find which nodes share an NVLink fabric, and keep Slurm's topology true to it
    Topology(TopologyArgs),
    /// Make an authority and certificates for the nodes, where security is to be switched on
    Pki(PkiArgs),
    /// Make domains for Slurm's jobs, and see that Slurm is set up for it
    Slurm(SlurmArgs),
    /// Examine this node by numbered checks: what is wrong, by what evidence, and what to do
    ///
    /// Ends with 0 if all is well, 100 if a check fails, 101 if one warns, 102 if something could not be told. Most checks
    /// need no root; docs/doctor.md of the project lists them.
    Doctor(DoctorArgs),
    /// Verify the domain of the job that this runs in, by what every member says of itself
    ///
    /// It asks each node of the job with srun: its own row, its node map, its version, and if the job's user can open the
    /// channel. A job over several NVLink partitions must have a domain in each. Prints the tables and one verdict.
    Validate(ValidateArgs),
}

/// Whose domain to wait for, and for how long.
#[derive(Clone, Debug, Args)]
pub(crate) struct WaitArgs {
    /// Configuration file of the local daemon
    #[arg(short = 'c', long, value_name = "FILE", default_value = imex_config::DEFAULT_CONFIG)]
    pub(crate) config: PathBuf,
    /// How long to wait, for instance 500ms, 60s, 2m; without a unit it is seconds
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = timeout)]
    pub(crate) timeout: Duration,
    /// Demand that the domain has this many nodes, 1 to 65535
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) members: Option<u16>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A lab in the foreground, or what is to be done to one in the background.
#[derive(Clone, Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub(crate) command: Option<LabCommand>,
    /// Directory for the nodes' files; temporary if not given
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Keep the temporary directory when the lab ends
    #[arg(long)]
    pub(crate) keep: bool,
    /// End after the table; succeed only if the domain is UP
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) rack: RackArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Start a lab in the background and wait until its domain is UP
    Up(UpArgs),
    /// Own a lab: what `up` starts in the background
    #[command(hide = true)]
    Own(OwnArgs),
    /// Tell how the nodes and the domain fare
    Status(OfLab),
    /// Send a signal to a node
    Kill(KillArgs),
    /// Start a node that has ended
    Start(StartArgs),
    /// End all nodes and the lab; its files stay
    Down(OfLab),
}

/// What a lab is made of.
#[derive(Clone, Debug, Args)]
pub(crate) struct RackArgs {
    /// How many nodes, up to 1000
    #[arg(long, value_name = "N", default_value = "18", value_parser = whole)]
    pub(crate) nodes: usize,
    /// TCP port of every node
    #[arg(long, value_name = "PORT", default_value_t = 50_000, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: u16,
    /// Another daemon to run instead of the one in this program
    #[arg(long, value_name = "FILE")]
    pub(crate) imexd: Option<PathBuf>,
    /// How long the domain may take to be UP, for instance 500ms, 60s, 2m
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = timeout)]
    pub(crate) timeout: Duration,
    /// Set a key of every node's config.cfg; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) settings: Vec<(String, String)>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct UpArgs {
    #[command(flatten)]
    pub(crate) lab: OfLab,
    #[command(flatten)]
    pub(crate) rack: RackArgs,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct OwnArgs {
    #[command(flatten)]
    pub(crate) lab: OfLab,
    #[command(flatten)]
    pub(crate) rack: RackArgs,
}

/// Which lab.
#[derive(Clone, Debug, Args)]
pub(crate) struct OfLab {
    /// The lab's directory
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct KillArgs {
    /// Number of the node, from 0
    #[arg(value_name = "K", value_parser = node_number)]
    pub(crate) node: usize,
    /// TERM: leave gracefully; KILL: end at once; STOP: fall silent; CONT: go on after STOP
    #[arg(long, value_enum, ignore_case = true, default_value = "KILL")]
    pub(crate) signal: SignalArg,
    #[command(flatten)]
    pub(crate) lab: OfLab,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct StartArgs {
    /// Number of the node, from 0
    #[arg(value_name = "K", value_parser = node_number)]
    pub(crate) node: usize,
    #[command(flatten)]
    pub(crate) lab: OfLab,
}

/// A [`NodeSignal`] by its name without `SIG`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SignalArg(pub(crate) NodeSignal);

impl ValueEnum for SignalArg {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [SignalArg; 4] = [
            SignalArg(NodeSignal::Term),
            SignalArg(NodeSignal::Kill),
            SignalArg(NodeSignal::Stop),
            SignalArg(NodeSignal::Cont),
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.word()))
    }
}

/// The command line's definition, for man pages and completions.
pub fn command() -> clap::Command {
    crate::exit::documented(Cli::command())
}

impl Cli {
    /// Reads a command line.
    ///
    /// # Errors
    ///
    /// What to print instead: help, the version, or what is wrong.
    pub(crate) fn read(line: Vec<OsString>) -> Result<Self, clap::Error> {
        let mut command = command();
        let matches = command.try_get_matches_from_mut(line)?;
        Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }

    /// How the answer is to be shown.
    pub(crate) fn format(&self) -> Format {
        let json = match &self.command {
            Command::Wait(args) => args.json,
            // Its lines are JSON; a failure is for people.
            Command::Follow(_) => false,
            Command::Channel(args) => args.command.json(),
            Command::Topology(args) => args.command.json(),
            Command::Pki(args) => args.command.json(),
            Command::Slurm(args) => args.command.json(),
            Command::Doctor(args) => args.json(),
            Command::Validate(args) => args.json,
            Command::Lab(args) => match &args.command {
                None => args.json,
                Some(LabCommand::Up(up)) => up.lab.json,
                Some(LabCommand::Own(own)) => own.lab.json,
                Some(LabCommand::Status(lab) | LabCommand::Down(lab)) => lab.json,
                Some(LabCommand::Kill(kill)) => kill.lab.json,
                Some(LabCommand::Start(start)) => start.lab.json,
            },
        };
        format(json)
    }
}

/// What `--json` means.
pub(crate) fn format(json: bool) -> Format {
    if json { Format::Json } else { Format::Text }
}

/// A time with a unit, or a plain number of seconds.
pub(crate) fn timeout(text: &str) -> Result<Duration, String> {
    let wrong = || "not a time: write it as 500ms, 60s or 2m".to_owned();
    let time = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let time: SignedDuration = text.parse().map_err(|_| wrong())?;
            Duration::try_from(time).map_err(|_| wrong())?
        }
    };
    if time.is_zero() || time > MAX_TIMEOUT {
        return Err("must be more than zero and at most 30 days".to_owned());
    }
    Ok(time)
}

/// A number of nodes; which are too many the lab says.
fn whole(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "it must be a whole number, 1 or more".to_owned())
}

/// The number of a node of a lab; which there are the lab says.
fn node_number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "it must be the number of a node: 0, 1, 2, …".to_owned())
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("not of the form KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn a_timeout_has_a_unit_or_is_in_seconds() {
        assert_eq!(timeout("90"), Ok(Duration::from_secs(90)));
        assert_eq!(timeout("1m 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(timeout("500ms"), Ok(Duration::from_millis(500)));
        for wrong in ["", "0", "-1s", "x", "31d", "400000h", "18446744073709551615"] {
            assert!(timeout(wrong).is_err(), "{wrong:?}");
        }
    }
}
