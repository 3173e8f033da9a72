//! What Slurm tells a script about its job: the environment, read once, checked once.
//!
//! There is no `PATH` and no `HOME` in it. Which variables there are differs by version (docs/prolog.md has the table);
//! everything that is wrong is told in one go.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use imex_host::HostList;
use imex_host::lease::Holder;
use imex_host::natural;
use jiff::Timestamp;
use serde::Serialize;
use thiserror::Error;

use crate::exclusivity::{Exclusivity, Told};

/// The environment of a script, by name.
pub type Environment = BTreeMap<String, String>;

/// Which of Slurm's scripts this is, by `SLURM_SCRIPT_CONTEXT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Script {
    /// Before the job, on every node, as root.
    Prolog,
    /// After the job, on every node, as root.
    Epilog,
    /// Before each task, as the user.
    TaskProlog,
}

/// Which run of a job this is: a requeued job keeps its number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Run {
    /// `SLURM_JOB_SLUID`, from Slurm 26.05: another one for each run, the same in all scripts of the run.
    Sluid(String),
    /// `SLURM_JOB_RESTART_COUNT` before that. The epilog of a run may already have that of the next one.
    Restart(u32),
}

/// A component of a heterogeneous job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HetComponent {
    /// The number of the heterogeneous job: that of its first component.
    pub job: u32,
    /// Which component, from 0, if Slurm tells.
    pub offset: Option<u32>,
}

/// Whose job it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobUser {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// User name, if Slurm tells.
    pub name: Option<String>,
}

/// A job as a node's script sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobContext {
    /// Its number, at least 1.
    pub job: u32,
    /// Which run of it.
    pub run: Run,
    /// The cluster, if Slurm tells.
    pub cluster: Option<String>,
    /// Its nodes, each once, in natural order: the same on every node.
    pub nodes: Vec<String>,
    /// This node, which is one of them.
    pub node: String,
    /// Whose it is.
    pub user: JobUser,
    /// Which component of a heterogeneous job it is.
    pub het: Option<HetComponent>,
    /// Whether it has its nodes for itself.
    pub exclusivity: Exclusivity,
    /// Where `slurm.conf` is, if Slurm tells.
    pub slurm_conf: Option<PathBuf>,
    /// When it got its nodes, in whole seconds of the controller's clock, if Slurm tells.
    pub started: Option<Timestamp>,
}

/// What is known of the job when there is no whole context: enough for an epilog to clean up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobName {
    /// Its number.
    pub job: u32,
    /// Which run of it, if that is told.
    pub run: Option<Run>,
}

/// Everything that is wrong with an environment.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the environment is not that of a job's prolog or epilog: {}", shown(.problems))]
pub struct ContextError {
    /// One or more, in the order in which they were looked for.
    pub problems: Vec<ContextProblem>,
}

/// One thing that is wrong with an environment.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ContextProblem {
    /// A variable is missing or empty.
    #[error("{name} is not set")]
    Missing {
        /// The variable.
        name: &'static str,
    },
    /// A variable is not what it should be.
    #[error("{name}={value:?} is not {expected}")]
    Wrong {
        /// The variable.
        name: &'static str,
        /// What it holds.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
    /// This node is not one of the job's.
    #[error("SLURMD_NODENAME={node:?} is none of the job's nodes {nodes}")]
    Stranger {
        /// This node.
        node: String,
        /// The job's nodes, as Slurm wrote them.
        nodes: String,
    },
}

fn shown(problems: &[ContextProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl JobContext {
    /// Reads an environment. `cpus` is how many cores this machine has, at least: a job that was given as many on this
    /// node has all of it.
    ///
    /// # Errors
    ///
    /// All that is wrong.
    pub fn read(environment: &Environment, cpus: usize) -> Result<Self, ContextError> {
        let mut reader = Reader { environment, problems: Vec::new() };
        let job = reader.job();
        let run = reader.run();
        let nodes = reader.nodes();
        let node = reader.needed("SLURMD_NODENAME").unwrap_or_default().to_owned();
        reader.member(&node, nodes.as_deref());
        let uid = reader.number("SLURM_JOB_UID");
        let gid = reader.optional("SLURM_JOB_GID").and_then(|gid| gid.parse().ok());
        let het = reader.het();
        let told = Told {
            exclusive: reader.optional("SLURM_JOB_EXCLUSIVE"),
            oversubscribe: reader.optional("SLURM_JOB_OVERSUBSCRIBE"),
            cpus_per_node: reader.optional("SLURM_JOB_CPUS_PER_NODE"),
            place: nodes.as_deref().and_then(|nodes| nodes.iter().position(|other| *other == node)),
        };
        let exclusivity = Exclusivity::of(&told, cpus);
        let (Some(job), Some(mut nodes), Some(uid), true) = (job, nodes, uid, reader.problems.is_empty())
        else {
            return Err(ContextError { problems: reader.problems });
        };
        nodes.sort_by(|a, b| natural::cmp(a, b));
        nodes.dedup();
        Ok(JobContext {
            job,
            run,
            cluster: reader.optional("SLURM_CLUSTER_NAME").map(str::to_owned),
            nodes,
            node,
            // Group 0 would be root's; a job without a group has none that matters.
            user: JobUser {
                uid,
                gid: gid.unwrap_or(uid),
                name: reader.optional("SLURM_JOB_USER").map(str::to_owned),
            },
            het,
            exclusivity,
            slurm_conf: reader.optional("SLURM_CONF").map(PathBuf::from),
            started: reader
                .optional("SLURM_JOB_START_TIME")
                .and_then(|second| Timestamp::from_second(second.parse().ok()?).ok()),
        })
    }

    /// Its name alone.
    pub fn name(&self) -> JobName {
        JobName { job: self.job, run: Some(self.run.clone()) }
    }

    /// What tells this run's domain from every other of the cluster: the same text on each node of the job. It fits
    /// imexd's key `OPENIMEX_DOMAIN_TOKEN`.
    pub fn token(&self) -> String {
        let usable = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
        let cluster: String =
            self.cluster.iter().flat_map(|name| name.chars()).filter(usable).take(64).collect();
        let cluster = if cluster.is_empty() { "slurm" } else { &cluster };
        format!("{cluster}/{}/{}", self.job, self.run)
    }
}

impl JobName {
    /// Reads as much as an epilog needs.
    ///
    /// # Errors
    ///
    /// If there is no job number.
    pub fn read(environment: &Environment) -> Result<Self, ContextError> {
        let mut reader = Reader { environment, problems: Vec::new() };
        match reader.job() {
            Some(job) => Ok(JobName { job, run: Some(reader.run()) }),
            None => Err(ContextError { problems: reader.problems }),
        }
    }
}

impl Run {
    /// The holder of the node's lease for this run of a job.
    pub fn holder(&self, job: u32) -> Holder {
        format!("{job}.{self}").parse().expect("a number, a dot and at most 40 letters and digits")
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Run::Sluid(sluid) => f.write_str(sluid),
            Run::Restart(count) => write!(f, "{count}"),
        }
    }
}

impl Serialize for Run {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

struct Reader<'e> {
    environment: &'e Environment,
    problems: Vec<ContextProblem>,
}

impl<'e> Reader<'e> {
    fn optional(&self, name: &str) -> Option<&'e str> {
        self.environment.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    fn needed(&mut self, name: &'static str) -> Option<&'e str> {
        let value = self.optional(name);
        if value.is_none() {
            self.problems.push(ContextProblem::Missing { name });
        }
        value
    }

    fn wrong(&mut self, name: &'static str, value: &str, expected: &'static str) {
        self.problems.push(ContextProblem::Wrong { name, value: value.to_owned(), expected });
    }

    fn number(&mut self, name: &'static str) -> Option<u32> {
        let value = self.needed(name)?;
        let number = value.parse().ok();
        if number.is_none() {
            self.wrong(name, value, "a number");
        }
        number
    }

    fn job(&mut self) -> Option<u32> {
        let job = self.number("SLURM_JOB_ID")?;
        if job == 0 {
            self.wrong("SLURM_JOB_ID", "0", "a job's number");
        }
        Some(job)
    }

    fn run(&mut self) -> Run {
        /// The ids of Slurm 26.05 have 14 letters; more than twice that leaves room.
        const LONGEST: usize = 40;
        let sluid = self.optional("SLURM_JOB_SLUID");
        let usable = |id: &&str| id.len() <= LONGEST && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if let Some(sluid) = sluid.filter(usable) {
            return Run::Sluid(sluid.to_owned());
        }
        let count = self.optional("SLURM_JOB_RESTART_COUNT").and_then(|count| count.parse().ok());
        Run::Restart(count.unwrap_or(0))
    }

    fn nodes(&mut self) -> Option<Vec<String>> {
        let name = "SLURM_JOB_NODELIST";
        let value = self.needed(name)?;
        match HostList::parse(value) {
            Ok(list) if !list.is_empty() => Some(list.iter().collect()),
            Ok(_) | Err(_) => {
                self.wrong(name, value, "a list of nodes");
                None
            }
        }
    }

    fn member(&mut self, node: &str, nodes: Option<&[String]>) {
        if let Some(nodes) = nodes
            && !node.is_empty()
            && !nodes.iter().any(|other| other == node)
        {
            let nodes = self.optional("SLURM_JOB_NODELIST").unwrap_or_default().to_owned();
            self.problems.push(ContextProblem::Stranger { node: node.to_owned(), nodes });
        }
    }

    /// Named `SLURM_HET_JOB_…` or `SLURM_JOB_HET_…`, by version.
    fn het(&self) -> Option<HetComponent> {
        let either = |one: &str, other: &str| self.optional(one).or_else(|| self.optional(other));
        let job = either("SLURM_HET_JOB_ID", "SLURM_JOB_HET_JOB_ID")?.parse().ok()?;
        let offset = either("SLURM_HET_JOB_OFFSET", "SLURM_JOB_HET_JOB_OFFSET");
        Some(HetComponent { job, offset: offset.and_then(|offset| offset.parse().ok()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_of_a_prolog_is_a_job() {
        let job = JobContext::read(&environment(&[]), 8).unwrap();
        assert_eq!((job.job, job.run.to_string().as_str()), (7, "s7NCPZ0W1TAZ00"));
        assert_eq!(job.nodes, ["n2", "n3", "n10"]);
        assert_eq!((job.node.as_str(), job.user.uid, job.user.gid), ("n3", 1001, 1002));
        assert_eq!(job.token(), "lab/7/s7NCPZ0W1TAZ00");
        assert_eq!(job.run.holder(job.job).as_str(), "7.s7NCPZ0W1TAZ00");
        assert!(matches!(job.exclusivity, Exclusivity::Whole(_)));
    }

    #[test]
    fn a_run_has_its_restart_count_where_slurm_gives_it_no_name() {
        let before = environment(&[("SLURM_JOB_SLUID", ""), ("SLURM_JOB_RESTART_COUNT", "2")]);
        assert_eq!(JobContext::read(&before, 8).unwrap().run, Run::Restart(2));
        let odd = environment(&[("SLURM_JOB_SLUID", "../../etc")]);
        assert_eq!(JobContext::read(&odd, 8).unwrap().run, Run::Restart(0));
    }

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        let wrong = environment(&[
            ("SLURM_JOB_ID", "x"),
            ("SLURM_JOB_NODELIST", "n[1-"),
            ("SLURMD_NODENAME", ""),
            ("SLURM_JOB_UID", "root"),
        ]);
        let told = "the environment is not that of a job's prolog or epilog: SLURM_JOB_ID=\"x\" is not a number; \
                    SLURM_JOB_NODELIST=\"n[1-\" is not a list of nodes; SLURMD_NODENAME is not set; \
                    SLURM_JOB_UID=\"root\" is not a number";
        assert_eq!(JobContext::read(&wrong, 8).unwrap_err().to_string(), told);
    }

    #[test]
    fn a_node_that_is_none_of_the_jobs_is_told() {
        let error = JobContext::read(&environment(&[("SLURMD_NODENAME", "n4")]), 8).unwrap_err();
        let nodes = "n[2-3,10]".to_owned();
        assert_eq!(error.problems, [ContextProblem::Stranger { node: "n4".to_owned(), nodes }]);
    }

    #[test]
    fn an_epilog_needs_the_number_alone() {
        let bare = Environment::from([("SLURM_JOB_ID".to_owned(), "9".to_owned())]);
        assert_eq!(JobName::read(&bare).unwrap(), JobName { job: 9, run: Some(Run::Restart(0)) });
        assert!(JobName::read(&Environment::new()).is_err());
    }

    #[test]
    fn a_component_of_a_heterogeneous_job_is_known() {
        let het = environment(&[("SLURM_HET_JOB_ID", "6"), ("SLURM_HET_JOB_OFFSET", "1")]);
        let expected = HetComponent { job: 6, offset: Some(1) };
        assert_eq!(JobContext::read(&het, 8).unwrap().het, Some(expected));
    }

    fn environment(changes: &[(&str, &str)]) -> Environment {
        let usual = [
            ("SLURM_JOB_ID", "7"),
            ("SLURM_JOB_SLUID", "s7NCPZ0W1TAZ00"),
            ("SLURM_CLUSTER_NAME", "lab"),
            ("SLURM_JOB_NODELIST", "n[2-3,10]"),
            ("SLURMD_NODENAME", "n3"),
            ("SLURM_JOB_UID", "1001"),
            ("SLURM_JOB_GID", "1002"),
            ("SLURM_JOB_EXCLUSIVE", "NODE"),
        ];
        let pairs = usual.iter().chain(changes);
        pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }
}
