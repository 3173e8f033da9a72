//! `imex slurm sweep`.

use std::io::Write;
use std::path::Path;

use imex_config::chain;
use imex_slurm::clock::Clock;
use imex_slurm::epilog::{Did, Hands};
use imex_slurm::record::{Kind, Record, Result as Outcome};
use imex_slurm::sweep::{self, Finding, Sweep, What};
use serde::Serialize;

use super::args::SweepArgs;
use super::machine::ThisMachine;
use super::{configuration, manager};
use crate::cli::format;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format};
use crate::run::block_on;

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
    let operator = configuration(&args.script.config)?;
    // A machine's own name may be another than Slurm's for it.
    let node = args.node.as_deref();
    let machine = ThisMachine::new(&operator.tools);
    let hands = Hands { operator: &operator, manager: manager(&operator)?, after: &|_| {} };
    let (swept, report) = block_on(sweep::run(node, &machine, hands))?;
    let problems: Vec<String> = report.problems.iter().map(|problem| chain(problem)).collect();
    let code = if problems.is_empty() { Exit::Done } else { Exit::NotTakenAway };
    let findings = &swept.findings;
    if !(report.did.is_empty() && problems.is_empty())
        || findings.iter().any(|found| found.what == What::Lost)
    {
        let mut record = Record::begin(Kind::Sweep, clock.wall());
        record.note("node", &node);
        record.note("sweep", &swept);
        record.note("did", &report.did);
        record.note("problems", &problems);
        let ending = if problems.is_empty() { "swept" } else { "not_taken_away" };
        let message = problems.join("; ");
        let outcome = Outcome { ending, exit_code: code.code(), message: &message };
        let boot = imex_host::boot::id(Path::new(imex_host::boot::DEFAULT_ID_PATH)).ok();
        let text = record.text(&outcome, boot.as_ref(), clock.wall());
        record.write(&operator.files.state, "sweep", &text, operator.files.keep);
    }
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
