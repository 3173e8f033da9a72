//! `imex slurm sweep`.

use std::io::Write;

use imex_config::{Operator, chain};
use imex_slurm::clock::Clock;
use imex_slurm::epilog::{Did, Hands};
use imex_slurm::outcome::Ending;
use imex_slurm::record::Kind;
use imex_slurm::sweep::{self, Finding, Sweep, What};
use serde::Serialize;

use super::account::{Account, Outcome, Subject};
use super::args::SweepArgs;
use super::machine::ThisMachine;
use super::watchdog::Watchdog;
use super::{configuration, exit, manager};
use crate::cli::format;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format};

/// What a sweep came to.
#[derive(Debug, Serialize)]
struct Done<'d> {
    exit_code: Exit,
    node: Option<&'d str>,
    findings: &'d [Finding],
    did: &'d [Did],
    problems: &'d [String],
}

/// Runs the command.
pub(super) fn run(args: &SweepArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let clock = Clock::start();
    let bare = Operator::default();
    let watchdog = Watchdog::start(Kind::Sweep, clock, bare.epilog_budget, bare.files);
    watchdog.doing(format!("reading {}", args.script.config.display()));
    let operator = configuration(&args.script.config)?;
    watchdog.know(operator.epilog_budget, &operator.files, &Subject::default());
    let account = Account { kind: Kind::Sweep, clock, files: &operator.files, subject: Subject::default() };
    // A machine's own name may be another than Slurm's for it.
    let node = args.node.as_deref();
    let machine = ThisMachine::new(&operator.tools);
    let after = |step: &str| watchdog.after(step);
    let manager = match manager(&operator) {
        Ok(manager) => manager,
        Err(failure) => {
            let (ending, message) = (Ending::Misconfigured, failure.message());
            account.keep(&account.record(), &Outcome { ending: ending.word(), exit: exit(ending), message });
            watchdog.ends();
            return Err(failure.into());
        }
    };
    let hands = Hands { operator: &operator, manager, after: &after };
    watchdog.doing(format!("looking for what was left in {}", operator.files.state.display()));
    let swept = watchdog.run(sweep::run(node, &machine, hands, clock));
    watchdog.doing(format!("writing its record in {}", operator.files.state.display()));
    let mut record = account.record();
    record.note("node", &node);
    let (swept, report) = match swept {
        Ok(swept) => swept,
        Err(cut) => {
            let (exit, message) = (exit(cut.ending()), chain(&cut));
            let outcome = Outcome { ending: cut.ending().word(), exit, message: &message };
            account.keep(&record, &outcome);
            watchdog.ends();
            return Err(Failure::because(exit, message).into());
        }
    };
    let problems: Vec<String> = report.problems.iter().map(|problem| chain(problem)).collect();
    let code = if problems.is_empty() { Exit::Done } else { Exit::NotTakenAway };
    let findings = &swept.findings;
    if !(report.did.is_empty() && problems.is_empty())
        || findings.iter().any(|found| found.what == What::Lost)
    {
        record.note("sweep", &swept);
        record.note("did", &report.did);
        record.note("problems", &problems);
        let ending = if problems.is_empty() { "swept" } else { "not_taken_away" };
        account.keep(&record, &Outcome { ending, exit: code, message: &problems.join("; ") });
    }
    watchdog.ends();
    match format(args.script.json) {
        Format::Json => {
            let done = Done { exit_code: code, node, findings, did: &report.did, problems: &problems };
            output::json(&done, out)?;
        }
        Format::Text => tell(&swept, &report.did, out)?,
    }
    match (format(args.script.json), problems.is_empty()) {
        (Format::Text, false) => {
            let failure = Failure::because(code, problems.join("; "));
            Err(match nix::unistd::geteuid().is_root() {
                true => failure,
                false => failure.hint("run it as root: the service, its files and the leases are root's"),
            }
            .into())
        }
        (Format::Text | Format::Json, _) => Ok(code),
    }
}

fn tell(swept: &Sweep, did: &[Did], out: &mut dyn Write) -> std::io::Result<()> {
    for Finding { job, what } in &swept.findings {
        match job {
            Some(job) => writeln!(out, "job {job} {}", what.sentence())?,
            None => writeln!(out, "whose domain it was {}", what.sentence())?,
        }
    }
    for did in did {
        writeln!(out, "{did}")?;
    }
    Ok(())
}
