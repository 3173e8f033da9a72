//! Whether a job has its nodes for itself, by the words of the Slurm version that says it.
//!
//! `SLURM_JOB_OVERSUBSCRIBE=NO` meant "exclusive" up to Slurm 25.11. From 26.05 every ordinary job says NO, and
//! `SLURM_JOB_EXCLUSIVE` tells exclusivity; its presence tells the version.

use serde::Serialize;

/// What the environment says about sharing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Told<'e> {
    /// `SLURM_JOB_EXCLUSIVE`: NO, NODE, USER, MCS or TOPO.
    pub exclusive: Option<&'e str>,
    /// `SLURM_JOB_OVERSUBSCRIBE`: NO, OK, YES, USER, MCS or TOPO.
    pub oversubscribe: Option<&'e str>,
    /// `SLURM_JOB_CPUS_PER_NODE`: `8(x2),4`, in the order of the node list.
    pub cpus_per_node: Option<&'e str>,
    /// This node's place in the node list as Slurm wrote it, from 0.
    pub place: Option<usize>,
}

/// Whether a job has its nodes for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "nodes", content = "because", rename_all = "snake_case")]
pub enum Exclusivity {
    /// It has them whole.
    Whole(Because),
    /// Others may be there, or may come.
    Shared(Because),
}

/// By which words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// `SLURM_JOB_EXCLUSIVE=NODE`.
    Node,
    /// TOPO, and it has all CPUs of this node.
    TopoWithAllCpus,
    /// TOPO, and it does not have all CPUs of this node, or that is not told.
    TopoWithSomeCpus,
    /// `SLURM_JOB_EXCLUSIVE` is NO, USER, MCS or unknown.
    NotNode,
    /// `SLURM_JOB_OVERSUBSCRIBE=NO`, before 26.05.
    OversubscribeNo,
    /// `SLURM_JOB_OVERSUBSCRIBE` is another word, before 26.05.
    Oversubscribe,
    /// Neither variable is there.
    Untold,
}

impl Exclusivity {
    /// Judges. `cpus` is how many cores this machine has, at least 1.
    pub fn of(told: &Told<'_>, cpus: usize) -> Self {
        match (told.exclusive, told.oversubscribe) {
            (Some("NODE"), _) => Exclusivity::Whole(Because::Node),
            (Some("TOPO"), _) | (None, Some("TOPO")) => match told.cpus() {
                Some(has) if has >= cpus => Exclusivity::Whole(Because::TopoWithAllCpus),
                Some(_) | None => Exclusivity::Shared(Because::TopoWithSomeCpus),
            },
            (Some(_), _) => Exclusivity::Shared(Because::NotNode),
            (None, Some("NO")) => Exclusivity::Whole(Because::OversubscribeNo),
            (None, Some(_)) => Exclusivity::Shared(Because::Oversubscribe),
            (None, None) => Exclusivity::Shared(Because::Untold),
        }
    }

    /// In words, for the log.
    pub fn describe(self) -> &'static str {
        let (Exclusivity::Whole(because) | Exclusivity::Shared(because)) = self;
        match because {
            Because::Node => "SLURM_JOB_EXCLUSIVE is NODE",
            Because::TopoWithAllCpus => "exclusive to the topology, with all CPUs of this node",
            Because::TopoWithSomeCpus => "exclusive to the topology, but without all CPUs of this node",
            Because::NotNode => "SLURM_JOB_EXCLUSIVE is not NODE",
            Because::OversubscribeNo => "SLURM_JOB_OVERSUBSCRIBE is NO, as Slurm before 26.05 says it",
            Because::Oversubscribe => "SLURM_JOB_OVERSUBSCRIBE is not NO",
            Because::Untold => "neither SLURM_JOB_EXCLUSIVE nor SLURM_JOB_OVERSUBSCRIBE is set",
        }
    }
}

impl Told<'_> {
    /// How many CPUs the job has on this node.
    fn cpus(&self) -> Option<usize> {
        let mut place = self.place?;
        for group in self.cpus_per_node?.split(',') {
            let (cpus, times) = match group.split_once("(x") {
                Some((cpus, times)) => (cpus, times.strip_suffix(')')?.parse().ok()?),
                None => (group, 1_usize),
            };
            if place < times {
                return cpus.parse().ok();
            }
            place -= times;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_versions_words_mean_what_that_version_means() {
        use Because::*;
        use Exclusivity::{Shared, Whole};
        let table = [
            // From 26.05: only the first variable counts.
            (Some("NODE"), Some("NO"), Whole(Node)),
            (Some("NODE"), Some("YES"), Whole(Node)),
            (Some("NO"), Some("NO"), Shared(NotNode)),
            (Some("NO"), Some("OK"), Shared(NotNode)),
            (Some("USER"), Some("NO"), Shared(NotNode)),
            (Some("MCS"), Some("NO"), Shared(NotNode)),
            (Some("TOPO"), Some("NO"), Whole(TopoWithAllCpus)),
            // Before.
            (None, Some("NO"), Whole(OversubscribeNo)),
            (None, Some("TOPO"), Whole(TopoWithAllCpus)),
            (None, Some("OK"), Shared(Oversubscribe)),
            (None, Some("YES"), Shared(Oversubscribe)),
            (None, Some("USER"), Shared(Oversubscribe)),
            (None, None, Shared(Untold)),
        ];
        for (exclusive, oversubscribe, expected) in table {
            let told = Told { exclusive, oversubscribe, cpus_per_node: Some("8(x2)"), place: Some(1) };
            assert_eq!(Exclusivity::of(&told, 8), expected, "{told:?}");
        }
    }

    #[test]
    fn topo_is_whole_only_with_all_cpus_of_this_node() {
        let whole = |cpus_per_node, place| {
            let told = Told { exclusive: Some("TOPO"), oversubscribe: None, cpus_per_node, place };
            Exclusivity::of(&told, 8) == Exclusivity::Whole(Because::TopoWithAllCpus)
        };
        assert!(whole(Some("4,8(x2)"), Some(2)));
        assert!(!whole(Some("4,8(x2)"), Some(0)));
        assert!(!whole(Some("8(x2)"), Some(2)));
        assert!(!whole(Some("8(x"), Some(0)));
        assert!(!whole(Some("8"), None));
        assert!(!whole(None, Some(0)));
    }
}
