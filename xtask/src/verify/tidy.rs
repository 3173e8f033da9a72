//! Tests leave the repository as they found it.

use std::collections::BTreeSet;

use crate::error::TaskError;
use crate::process::Program;
use crate::report::Report;
use crate::tree;

/// Runs a step and then compares what git says of the files with what it said before: a test that writes beside its
/// own data is found, whether or not the repository had local changes.
pub(super) fn unchanged_by(
    report: &mut Report,
    step: impl FnOnce() -> Result<(), TaskError>,
) -> Result<(), TaskError> {
    let before = status();
    step()?;
    match (before, status()) {
        (Ok(before), Ok(after)) => {
            let changed = after.difference(&before).map(|line| format!("changed by the tests: {line}"));
            let rejected = rejected_snapshots()?;
            TaskError::from_findings(changed.chain(rejected).collect())
        }
        (Err(error), _) | (_, Err(error)) => {
            report.warning(format_args!("whether tests leave files behind ({error})"));
            TaskError::from_findings(rejected_snapshots()?)
        }
    }
}

fn status() -> Result<BTreeSet<String>, TaskError> {
    let status = Program::new("git").words("status --porcelain").stdout()?;
    Ok(status.lines().map(str::to_owned).collect())
}

/// What a failed comparison leaves beside a golden file; git is told to ignore these.
fn rejected_snapshots() -> Result<Vec<String>, TaskError> {
    let files = tree::files(&tree::root().join("crates"))?;
    let rejected = files.iter().map(|path| tree::relative(path)).filter(|path| path.ends_with(".snap.new"));
    Ok(rejected.map(|path| format!("a golden file differs: {path}")).collect())
}
