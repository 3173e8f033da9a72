//! Topology files, good and bad, to hold [`lint`] against a real slurmctld.
//!
//! The files are made, the same for the same seed: one good file with one edit each, then random topologies, half of
//! them with their text damaged. They are meant for a cluster with `NodeName=node[1-36]` and nothing else. The verdicts
//! of slurmctld 26.05.5 are in `tests/data/verdicts.txt`; a test compares them with lint's.

mod edits;
mod random;

use crate::lint::{Context, Report, Verdict, lint};
use crate::model::NodeSet;
use crate::written::Form;

/// The nodes that the files are made for.
pub const NODES: &str = "node[1-36]";

/// The seed whose files have recorded verdicts.
pub const SEED: u64 = 26_05;

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its name, which can be the name of a file.
    pub name: String,
    /// Which file it would be.
    pub form: Form,
    /// Its text.
    pub text: String,
}

impl Case {
    /// What lint says that slurmctld would do.
    pub fn verdict(&self) -> Verdict {
        self.report().verdict()
    }

    /// What lint finds in it, on a cluster with [`NODES`].
    pub fn report(&self) -> Report {
        let nodes = NodeSet::parse(NODES).expect("the list is well formed");
        lint(&self.text, self.form, &Context { nodes: Some(nodes), ..Context::default() })
    }

    /// Its name with the ending of its form.
    pub fn file_name(&self) -> String {
        match self.form {
            Form::Yaml => format!("{}.yaml", self.name),
            Form::Conf => format!("{}.conf", self.name),
        }
    }
}

/// All files of a seed: the edits, and so many random ones of each form.
pub fn cases(seed: u64, random: usize) -> Vec<Case> {
    let mut cases = edits::cases();
    cases.extend(random::cases(seed, random));
    cases
}

#[cfg(test)]
mod tests;
