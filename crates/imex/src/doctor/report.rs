//! What the checks found, as text and JSON.

use std::io::{self, Write};

use serde::Serialize;

use super::checks::{Check, Finding, Verdict};
use super::facts::Facts;
use crate::exit::Exit;

/// What was found.
#[derive(Debug, Serialize)]
pub(super) struct Examined {
    /// The exit code.
    pub(super) exit_code: Exit,
    node: String,
    failed: usize,
    warned: usize,
    untold: usize,
    checks: Vec<Row>,
}

/// One check with its finding.
#[derive(Debug, Serialize)]
struct Row {
    id: &'static str,
    name: &'static str,
    #[serde(flatten)]
    finding: Finding,
}

/// Which findings are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// All.
    All,
    /// Those that fail, warn or could not tell.
    NotOk,
}

impl Examined {
    /// Runs these checks.
    pub(super) fn of(facts: &Facts, checks: &[&'static Check]) -> Self {
        let checks: Vec<Row> = (checks.iter())
            .map(|check| Row { id: check.id, name: check.name, finding: check.finding(facts) })
            .collect();
        let of = |verdict| checks.iter().filter(|row| row.finding.verdict == verdict).count();
        let (failed, warned, untold) = (of(Verdict::Fail), of(Verdict::Warn), of(Verdict::Unknown));
        let exit_code = match (failed, warned, untold) {
            (0, 0, 0) => Exit::Done,
            (0, 0, _) => Exit::DoctorUnknown,
            (0, _, _) => Exit::DoctorWarns,
            (_, _, _) => Exit::DoctorFails,
        };
        Examined { exit_code, node: facts.node.clone(), failed, warned, untold, checks }
    }

    pub(super) fn write(&self, shown: Shown, out: &mut dyn Write) -> io::Result<()> {
        for Row { id, name, finding: Finding { verdict, evidence, fix } } in &self.checks {
            let quiet = matches!(verdict, Verdict::Ok | Verdict::NotApplicable);
            if quiet && shown == Shown::NotOk {
                continue;
            }
            let mut lines = evidence.lines();
            writeln!(out, "{id} {:<7} {name}: {}", verdict.word(), lines.next().unwrap_or_default())?;
            lines.try_for_each(|line| writeln!(out, "            {line}"))?;
            if let Some(fix) = fix {
                writeln!(out, "            fix: {fix}")?;
            }
        }
        let Examined { failed, warned, untold, node, .. } = self;
        writeln!(
            out,
            "{node}: {failed} failed, {warned} warned, {untold} could not be told, of {} checks",
            self.checks.len()
        )
    }
}
