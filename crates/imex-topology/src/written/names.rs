//! The names of topologies, and which of them is the default.

use std::collections::HashSet;

use crate::lint::{Finding, rules};
use crate::model::ClusterDefault;

use super::Written;

impl Written {
    /// Judges what topologies of one file say of one another.
    pub(crate) fn judge_names(&self, findings: &mut Vec<Finding>) {
        let mut names = HashSet::new();
        for topology in &self.topologies {
            match topology.name.as_ref().filter(|name| !name.text.is_empty()) {
                None if self.topologies.len() > 1 => {
                    findings.push(Finding::at(
                        &rules::NAMELESS_TOPOLOGY,
                        topology.line,
                        "a topology without a name",
                    ));
                }
                None => {}
                Some(name) => {
                    awkward(&name.text, name.line, findings);
                    if !names.insert(name.text.as_str()) {
                        let what = format!("`{}` is the name of an earlier topology", name.text);
                        findings.push(Finding::at(&rules::DUPLICATE_TOPOLOGY, name.line, what));
                    }
                }
            }
        }
        self.judge_default(findings);
    }

    fn judge_default(&self, findings: &mut Vec<Finding>) {
        let mut defaults = self.topologies.iter().filter(|topology| topology.default == ClusterDefault::Yes);
        match (defaults.next(), defaults.next()) {
            (None, _) if self.topologies.len() > 1 => {
                findings.push(Finding::at(&rules::NO_DEFAULT, None, "no topology says cluster_default"));
            }
            (Some(_), Some(second)) => {
                let what = "a second topology says cluster_default";
                findings.push(Finding::at(&rules::TWO_DEFAULTS, second.line, what));
            }
            (None | Some(_), _) => {}
        }
    }
}

/// Tells of a name that cannot be used where names are used.
pub(crate) fn awkward(name: &str, line: usize, findings: &mut Vec<Finding>) {
    let awkward = |letter: char| {
        letter.is_whitespace()
            || letter.is_control()
            || matches!(letter, ',' | ':' | '[' | ']' | '{' | '}' | '=' | '"')
    };
    if name.is_empty() || name.contains(awkward) {
        findings.push(Finding::at(
            &rules::AWKWARD_NAME,
            line,
            format!("the name is `{}`", super::short(name)),
        ));
    }
}
