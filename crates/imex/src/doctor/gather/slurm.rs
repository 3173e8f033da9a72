//! Slurm's settings, and the file of fabric reports.

use std::path::Path;

use imex_config::operator::Operator;
use imex_host::NodeReport;
use imex_slurm::check::rules::NO_BLOCKS;
use imex_slurm::check::scripts::Here;

use super::{text, within};
use crate::doctor::args::LookArgs;
use crate::doctor::facts::{Slurm, Told};
use crate::slurm::{Source, judged};

/// What is known of Slurm.
pub(super) fn slurm(look: &LookArgs, operator: &Operator, node: &str) -> Slurm {
    let (reports, node) = (operator.scope.reports.clone(), node.to_owned());
    let reported = within(look.ask, "the file of fabric reports", move || reported(&reports, &node));
    Slurm { findings: findings(look, operator), reported_fabric: reported.known().cloned().flatten() }
}

/// What `imex slurm check` finds, from the file where there is one, else from the controller.
fn findings(look: &LookArgs, operator: &Operator) -> Told<Option<Vec<(String, String, String)>>> {
    let file = look.slurm_conf.clone();
    let is_file = match within(look.ask, "the folder of slurm.conf", move || file.is_file()) {
        Told::Known(is_file) => is_file,
        Told::Unknown(why) => return Told::Unknown(why),
    };
    let source = if is_file {
        Source::File(look.slurm_conf.clone())
    } else if std::env::split_paths(&look.path.folders()).any(|folder| folder.join("scontrol").is_file()) {
        Source::Controller { path: look.path.folders(), ask: look.ask }
    } else {
        return Told::Known(None);
    };
    let operator = operator.clone();
    // Scripts may lie on a server that is dead. A controller is asked twice.
    let found = within(look.ask.saturating_mul(3), "Slurm", move || judged(&source, &Here, None, &operator));
    match found {
        Told::Unknown(why) => Told::Unknown(why),
        Told::Known(Err(failure)) => Told::Unknown(failure.message().to_owned()),
        Told::Known(Ok(checked)) => {
            // Slurm's topology lies beside the slurm.conf of the controller: that it is not here says nothing.
            let rows = checked.findings.into_iter().filter(|row| !(is_file && row.rule == NO_BLOCKS.id));
            Told::Known(Some(
                rows.map(|row| (row.rule.to_owned(), row.severity.word().to_owned(), row.what)).collect(),
            ))
        }
    }
}

/// The fabric of this node's line; the last one counts, as it does for `imex topology`.
fn reported(file: &Path, node: &str) -> Option<String> {
    let text = text(file).ok()?;
    let mut reports = text.lines().rev().filter_map(|line| NodeReport::parse(line).ok());
    let own = reports.find(|report| report.node == node)?;
    own.fabric.map(|fabric| fabric.to_string())
}
