//! Asking the real controller: drain nodes, submit a job, see where it lands.

use std::fmt;
use std::thread;
use std::time::Duration;

use imex_topology::NodeSet;
use imex_topology::plan::{Availability, NodeStates};
use serde_json::Value;

use super::cases::Trial;
use crate::clock::Stopwatch;
use crate::error::TaskError;
use crate::slurm_lab::Cluster;

/// How long the controller may take to decide about a job, and nodes to come to rest. Both take a fraction of a second.
const LIMIT: Duration = Duration::from_secs(30);

/// How often it is asked.
const PAUSE: Duration = Duration::from_millis(30);

/// What the controller did with a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It runs on these nodes.
    Runs(NodeSet),
    /// It waits, for this reason.
    Pends(String),
    /// It was refused with this message.
    Refused(String),
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Seen::Runs(nodes) => f.write_str(&nodes.to_list()),
            Seen::Pends(reason) => write!(f, "pends ({reason})"),
            Seen::Refused(message) => write!(f, "refused ({message})"),
        }
    }
}

/// The controller of a cluster.
pub(super) struct Controller<'a> {
    cluster: &'a Cluster,
}

impl<'a> Controller<'a> {
    pub(super) fn new(cluster: &'a Cluster) -> Self {
        Controller { cluster }
    }

    /// What the nodes can do, as an operator's planner is told.
    pub(super) fn states(&self) -> Result<NodeStates, TaskError> {
        let line = "scontrol show nodes --json";
        let text = self.cluster.stdout(&["scontrol", "show", "nodes", "--json"])?;
        NodeStates::parse(&text).map_err(|error| unexpected(line, error))
    }

    /// Ends all jobs, and drains these nodes only.
    pub(super) fn reset(&self, drained: &NodeSet) -> Result<(), TaskError> {
        self.cluster.stdout(&["scancel", "--user=root"])?;
        self.settle()?;
        let down: NodeSet = self
            .states()?
            .iter()
            .filter(|node| node.availability == Availability::Down)
            .map(|node| node.name.as_str())
            .collect();
        self.update(&down, &["state=undrain"])?;
        self.update(drained, &["state=drain", "reason=test"])?;
        self.settle()
    }

    fn update(&self, nodes: &NodeSet, what: &[&str]) -> Result<(), TaskError> {
        if nodes.is_empty() {
            return Ok(());
        }
        let name = format!("nodename={}", nodes.to_list());
        let mut words = vec!["scontrol", "update", &name];
        words.extend(what);
        self.cluster.stdout(&words).map(drop)
    }

    /// Waits until no node is being cleaned up after a job, and each has answered since it was last changed: until then
    /// the controller gives it to no job.
    fn settle(&self) -> Result<(), TaskError> {
        let line = "sinfo --noheader --Node --partition=main --format=%T";
        let words: Vec<&str> = line.split(' ').collect();
        self.until(line, || {
            let states = self.cluster.stdout(&words)?;
            let restless = states.lines().any(|state| state.contains('*') || state.contains("comp"));
            Ok((!restless).then_some(()))
        })
    }

    /// Submits a job and waits for the decision. The number is there if the controller has the job.
    pub(super) fn submit(&self, trial: &Trial<'_>) -> Result<(Option<u64>, Seen), TaskError> {
        let arguments = trial.arguments();
        let mut words = vec!["sbatch", "--parsable", "--output=/dev/null", "--error=/dev/null"];
        words.extend(arguments.iter().map(String::as_str));
        words.extend(["--wrap", "sleep 1000"]);
        let said = self.cluster.exec(&words, LIMIT)?;
        if said.code != Some(0) {
            return Ok((None, Seen::Refused(said.err.trim().to_owned())));
        }
        let number = said.out.trim();
        let job: u64 = number.parse().map_err(|error| unexpected("sbatch --parsable", error))?;
        let line = "scontrol show job --json";
        let seen = self.until(line, || {
            let text = self.cluster.stdout(&["scontrol", "show", "job", number, "--json"])?;
            let shown: Value = serde_json::from_str(&text).map_err(|error| unexpected(line, error))?;
            decision(&shown["jobs"][0]).map_err(|why| unexpected(line, why))
        })?;
        Ok((Some(job), seen))
    }

    /// Ends a job and waits until its nodes are free.
    pub(super) fn cancel(&self, job: u64) -> Result<(), TaskError> {
        self.cluster.stdout(&["scancel", &job.to_string()])?;
        self.settle()
    }

    fn until<T>(
        &self,
        line: &str,
        mut ask: impl FnMut() -> Result<Option<T>, TaskError>,
    ) -> Result<T, TaskError> {
        let running = Stopwatch::start();
        loop {
            if let Some(answer) = ask()? {
                return Ok(answer);
            }
            if running.elapsed() > LIMIT {
                return Err(TaskError::Overdue { line: line.to_owned(), limit: LIMIT });
            }
            thread::sleep(PAUSE);
        }
    }
}

/// What was decided about a job, once it was.
fn decision(job: &Value) -> Result<Option<Seen>, String> {
    let state = job["job_state"][0].as_str().ok_or("no state")?;
    let text = |key: &str| job[key].as_str().unwrap_or_default().to_owned();
    match state {
        "RUNNING" => {
            let nodes = NodeSet::parse(&text("nodes")).map_err(|error| error.to_string())?;
            Ok(Some(Seen::Runs(nodes)))
        }
        // Without a reason, and while it only waits for its turn, it was not tried yet.
        "PENDING" => Ok(match text("state_reason") {
            reason if matches!(reason.as_str(), "" | "None" | "Priority") => None,
            reason => Some(Seen::Pends(reason)),
        }),
        "CONFIGURING" => Ok(None),
        other => Err(format!("a job that was just submitted is {other}")),
    }
}

fn unexpected(line: &str, why: impl fmt::Display) -> TaskError {
    TaskError::Output { line: line.to_owned(), why: why.to_string() }
}
