//! `imex-replay`: looks at a run again, step by step.

use std::fmt;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use imex_core::{Moment, NodeId};
use thiserror::Error;

use crate::invariants::Violation;
use crate::schedule::{Course, Schedule, ScheduleError};
use crate::{Address, Keep, World};

/// Runs a simulated cluster again and shows what happened.
///
/// A failing test prints the seed of its run. The run is the same each time, so it can be cut out and looked at: first
/// the end, then one host, then one second.
#[derive(Clone, Debug, Parser)]
#[command(name = "imex-replay", version)]
pub struct Args {
    /// Draw the schedule from this seed.
    #[arg(long, required_unless_present = "schedule", conflicts_with = "schedule")]
    pub seed: Option<u64>,
    /// Read the schedule from this file.
    #[arg(long, value_name = "FILE")]
    pub schedule: Option<PathBuf>,
    /// Show only what happens at this host; may be given more than once.
    #[arg(long = "node", value_name = "HOST")]
    pub nodes: Vec<u16>,
    /// Show nothing before this time, in simulated seconds.
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    pub since: Duration,
    /// Stop at this time, in simulated seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub until: Option<Duration>,
    /// Show so many of the last lines only.
    #[arg(long, value_name = "LINES")]
    pub last: Option<usize>,
    /// Wait for the return key after each line.
    #[arg(long)]
    pub step: bool,
    /// Show the table of all links at the end.
    #[arg(long)]
    pub table: bool,
    /// Print the schedule instead of running it: to edit it and run it with --schedule.
    #[arg(long)]
    pub print_schedule: bool,
}

/// Why a run could not be looked at.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// The schedule file cannot be read.
    #[error("read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The schedule file is no schedule.
    #[error("parse {}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: ScheduleError,
    },
    /// The output cannot be written.
    #[error("write the output")]
    Write(#[from] io::Error),
}

/// How the run went.
#[derive(Debug)]
pub enum Verdict {
    /// No invariant broke.
    Held(Course),
    /// One did.
    Broken(Box<Violation>),
    /// Nothing was run.
    Printed,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("{text:?} is no number of seconds"))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// Runs what the arguments ask for and writes it to `out`; `--step` reads lines from `keys`.
pub fn run(args: &Args, out: &mut impl Write, keys: &mut impl BufRead) -> Result<Verdict, ReplayError> {
    let schedule = load(args)?;
    if args.print_schedule {
        write!(out, "{schedule}")?;
        return Ok(Verdict::Printed);
    }
    let until = Moment::after(args.until.unwrap_or(Duration::MAX));
    let mut world = schedule.world(Keep::All);
    let course = schedule.run(&mut world, until);
    show_lines(args, &world, out, keys)?;
    if args.table {
        write!(out, "{}", Table(&world))?;
    }
    match course {
        Ok(course) => {
            match course {
                Course::Healed { took, bound } => {
                    writeln!(out, "UP again after {took:?}, the bound is {bound:?}")?
                }
                Course::Stopped => writeln!(out, "stopped at {:?}", world.now())?,
            }
            Ok(Verdict::Held(course))
        }
        Err(violation) => {
            writeln!(out, "{violation}")?;
            Ok(Verdict::Broken(violation))
        }
    }
}

fn load(args: &Args) -> Result<Schedule, ReplayError> {
    let Some(path) = &args.schedule else {
        return Ok(Schedule::random(args.seed.unwrap_or_default()));
    };
    let text =
        std::fs::read_to_string(path).map_err(|source| ReplayError::Read { path: path.clone(), source })?;
    text.parse().map_err(|source| ReplayError::Parse { path: path.clone(), source })
}

fn show_lines(args: &Args, world: &World, out: &mut impl Write, keys: &mut impl BufRead) -> io::Result<()> {
    let since = Moment::after(args.since);
    let wanted = |host: Option<Address>| {
        args.nodes.is_empty() || host.is_none_or(|host| args.nodes.contains(&host.number()))
    };
    let lines: Vec<_> = world.log().lines().filter(|line| line.at >= since && wanted(line.host)).collect();
    let skipped = args.last.map_or(0, |last| lines.len().saturating_sub(last));
    for line in &lines[skipped..] {
        writeln!(out, "{line}")?;
        if args.step {
            out.flush()?;
            if keys.read_line(&mut String::new())? == 0 {
                break;
            }
        }
    }
    Ok(())
}

/// All links as the hosts see them, and each host's view of the domain.
struct Table<'a>(&'a World);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host")?;
        self.0.addresses().try_for_each(|to| write!(f, " {to:>3}"))?;
        writeln!(f)?;
        for from in self.0.addresses() {
            write!(f, "{from:>4}")?;
            let Some(machine) = self.0.machine(from) else {
                writeln!(f, " no daemon")?;
                continue;
            };
            for to in (0..machine.map().len()).map(Address::at) {
                write!(f, " {:>3}", machine.link(NodeId::new(to.number())).letter())?;
            }
            let domain = machine.domain();
            let (ready, complete) = (domain.ready, domain.complete);
            writeln!(
                f,
                "  {}, domain {}, {ready} ready, {complete} complete",
                machine.state(),
                domain.state
            )?;
        }
        Ok(())
    }
}

/// The exit code of the program: 0 if nothing broke, 1 if an invariant did, 2 if there was nothing to look at. An error
/// is written to `err` with all its causes; a reader that closed the pipe is no error.
pub fn exit_code(result: Result<Verdict, ReplayError>, err: &mut impl Write) -> std::process::ExitCode {
    match result {
        Ok(Verdict::Held(_) | Verdict::Printed) => std::process::ExitCode::SUCCESS,
        Ok(Verdict::Broken(_)) => std::process::ExitCode::from(1),
        Err(ReplayError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            std::process::ExitCode::SUCCESS
        }
        Err(error) => {
            let chain: Vec<_> = causes(&error).map(ToString::to_string).collect();
            // Nobody is left to tell if standard error is closed too.
            let _ = writeln!(err, "imex-replay: failed to {}", chain.join(": "));
            std::process::ExitCode::from(2)
        }
    }
}

fn causes(error: &ReplayError) -> impl Iterator<Item = &dyn std::error::Error> {
    std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source())
}
