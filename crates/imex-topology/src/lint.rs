//! Judges a topology file: what slurmctld refuses is an error, what it loads although it is wrong a warning.
//!
//! [`lint`] never stops at the first finding if it can read on. Its verdict [`Report::verdict`] is meant to be that of
//! slurmctld 26.05, and is held against it over hundreds of generated files ([`corpus`](crate::corpus)).

mod blocks;
mod context;
pub mod rules;
mod trees;

use serde::Serialize;

pub use context::{Context, Group, Queue};
pub use imex_config::{Rule, Severity};

use crate::written::{self, Form, Written};

/// One breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The line, from 1; `None` if it is about the whole file or about what is not there.
    pub line: Option<usize>,
    /// What is wrong, with its values: a lower-case fragment.
    pub what: String,
}

/// If slurmctld loads a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It loads the file, perhaps with warnings.
    Loads,
    /// It refuses the file.
    Refuses,
}

/// All findings, by line.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Report {
    /// The findings.
    pub findings: Vec<Finding>,
}

/// Judges the text of a file of this form.
pub fn lint(text: &str, form: Form, context: &Context) -> Report {
    let mut report = Report::default();
    let written = written::read(text, form, &mut report.findings);
    context.judge_version(form, &mut report.findings);
    judge(&written, context, &mut report.findings);
    report.findings.sort_by(|a, b| (a.line, a.rule.id, &a.what).cmp(&(b.line, b.rule.id, &b.what)));
    report.findings.dedup();
    report
}

/// Judges what is written, whatever its form.
pub(crate) fn judge(written: &Written, context: &Context, findings: &mut Vec<Finding>) {
    written.judge_names(findings);
    for topology in &written.topologies {
        match &topology.kind {
            written::Kind::Block(block) => blocks::judge(topology, block, findings),
            written::Kind::Tree(tree) => trees::judge(tree, findings),
            written::Kind::Flat | written::Kind::Other { .. } | written::Kind::Missing => {}
        }
    }
    context.judge(written, findings);
}

impl Report {
    /// If slurmctld loads the file, as far as the file itself decides.
    pub fn verdict(&self) -> Verdict {
        let refused = self.findings.iter().any(Finding::refuses);
        if refused { Verdict::Refuses } else { Verdict::Loads }
    }

    /// The worst finding.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.rule.severity).max()
    }
}

impl Finding {
    /// If slurmctld refuses a file for it.
    pub fn refuses(&self) -> bool {
        self.rule.id < "T100"
    }

    /// A breach of `rule` at a line.
    pub(crate) fn at(rule: &'static Rule, line: impl Into<Option<usize>>, what: impl Into<String>) -> Self {
        Finding { rule, line: line.into(), what: what.into() }
    }
}

#[cfg(test)]
mod tests;
