//! Checks that need no further compilation: they read the repository.

mod arrows;
mod exit_codes;
mod lints;
mod paths;
mod style;

use crate::error::{TaskError, plural};
use crate::report::Report;

type Check = fn() -> Result<Vec<String>, TaskError>;

/// Each check with what it looks at. A check returns its findings, sorted.
const CHECKS: [(&str, Check); 5] = [
    ("crate arrows", arrows::findings),
    ("paths named in documents", paths::findings),
    ("exit codes", exit_codes::findings),
    ("lint tables", lints::findings),
    ("style", style::findings),
];

/// Runs all checks and reports the findings of all of them.
pub(crate) fn run(report: &mut Report) -> Result<(), TaskError> {
    let mut all = Vec::new();
    for (name, check) in CHECKS {
        let findings = check()?;
        report.line(format_args!("{name}: {}", plural(findings.len(), "problem")));
        all.extend(findings);
    }
    TaskError::from_findings(all)
}
