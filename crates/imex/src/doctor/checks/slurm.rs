//! Checks of Slurm's settings, and of what topology is made from.

use imex_host::identify;
use imex_slurm::check::rules;

use super::Finding;
use crate::doctor::facts::{Facts, Told};

pub(super) fn settings(facts: &Facts) -> Finding {
    let findings = match findings(facts) {
        Ok(findings) => findings,
        Err(finding) => return finding,
    };
    let told = |severity: &str| -> Vec<String> {
        let these = findings.iter().filter(|(_, of, _)| of == severity);
        these.map(|(rule, _, what)| format!("{rule}: {what}")).collect()
    };
    let (errors, warnings) = (told("error"), told("warning"));
    match (errors.is_empty(), warnings.is_empty()) {
        (true, true) => Finding::ok("`imex slurm check` finds nothing worse than a note"),
        (true, false) => {
            Finding::warn(warnings.join("\n"), "`imex slurm check` says what each means and what to do")
        }
        (false, _) => Finding::fail(
            errors.into_iter().chain(warnings).collect::<Vec<_>>().join("\n"),
            "`imex slurm check` says what each means and what to do",
        ),
    }
}

pub(super) fn second_owner(facts: &Facts) -> Finding {
    let findings = match findings(facts) {
        Ok(findings) => findings,
        Err(finding) => return finding,
    };
    let foreign = findings.iter().filter(|(rule, _, _)| rule == rules::FOREIGN.id);
    let foreign: Vec<&str> = foreign.map(|(_, _, what)| what.as_str()).collect();
    if foreign.is_empty() {
        Finding::ok("no script of Slurm's handles the service by itself")
    } else {
        Finding::fail(
            foreign.join("\n"),
            "remove the old script: it takes the domain away from the job that has just got it",
        )
    }
}

pub(super) fn reported_fabric(facts: &Facts) -> Finding {
    let Some(reported) = &facts.slurm.reported_fabric else {
        return Finding::not_applicable("there is no file of fabric reports with this node (scope.reports)");
    };
    let Told::Known(Some(gpus)) = &facts.driver.gpus else {
        return Finding::unknown("the GPUs cannot be asked (D06)");
    };
    let fabrics: Vec<_> = gpus.iter().map(|gpu| gpu.fabric.clone()).collect();
    match identify(&fabrics) {
        Ok(id) if id.to_string() == *reported => Finding::ok(format!("both say {reported}")),
        Ok(id) => Finding::fail(
            format!("the GPUs are in {id}, the reports say {reported}"),
            "collect the reports anew, generate and apply the topology: `imex topology collect`, `generate`, `apply`",
        ),
        Err(none) => Finding::warn(
            format!("the reports say {reported}, and now {none}"),
            "see D06; take the node out of its block while it lasts",
        ),
    }
}

/// What `imex slurm check` finds: rule, severity, what.
fn findings(facts: &Facts) -> Result<&[(String, String, String)], Finding> {
    match &facts.slurm.findings {
        Told::Known(Some(findings)) => Ok(findings),
        Told::Known(None) => Err(Finding::not_applicable("no Slurm is here")),
        Told::Unknown(why) => Err(Finding::unknown(why)),
    }
}
