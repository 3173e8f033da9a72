//! Jobs as a user submits them, and what Slurm says of them.

use std::fmt;

use serde_json::Value;

use crate::error::TaskError;

/// A batch job.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    options: Vec<String>,
    script: String,
}

/// A job that Slurm has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct JobId(pub(crate) u64);

/// What Slurm says of a job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct View {
    /// `RUNNING`, `PENDING`, `COMPLETED`, …
    pub(crate) state: String,
    /// Its epilogs still run: it is listed on the nodes of these only.
    completing: bool,
    /// Why it waits, or how it ended.
    pub(crate) reason: String,
    /// As Slurm brackets them; empty while it waits.
    pub(crate) nodes: String,
    pub(crate) restarts: u64,
    /// When it got its nodes, in seconds since 1970; Slurm knows whole ones.
    pub(crate) started: f64,
}

impl Job {
    /// A job that has so many nodes for itself and runs this script with `sh`.
    pub(crate) fn exclusive(nodes: u8, script: impl Into<String>) -> Self {
        Job::shared(nodes, script).option("--exclusive")
    }

    /// The same, with what others may have as well.
    pub(crate) fn shared(nodes: u8, script: impl Into<String>) -> Self {
        Job { options: vec![format!("--nodes={nodes}")], script: script.into() }
    }

    /// With one more option of sbatch.
    pub(crate) fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// sbatch and its arguments.
    pub(crate) fn line(&self) -> Vec<&str> {
        let mut line = vec!["sbatch", "--parsable", "--output=job-%j.out", "--open-mode=append"];
        line.extend(["--wrap", &self.script]);
        line.extend(self.options.iter().map(String::as_str));
        line
    }
}

impl View {
    /// What `scontrol show job --json` prints.
    pub(crate) fn parse(text: &str) -> Result<Self, TaskError> {
        let broken = |why: String| TaskError::Output { line: "scontrol show job --json".to_owned(), why };
        let shown: Value = serde_json::from_str(text).map_err(|error| broken(error.to_string()))?;
        let job = &shown["jobs"][0];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let state = text(&job["job_state"][0]);
        let completing =
            job["job_state"].as_array().is_some_and(|flags| flags.contains(&"COMPLETING".into()));
        if state.is_empty() {
            return Err(broken("no state".to_owned()));
        }
        let restarts = job["restart_cnt"].as_u64().unwrap_or_default();
        let started = job["start_time"]["number"].as_f64().unwrap_or_default();
        let (reason, nodes) = (text(&job["state_reason"]), text(&job["nodes"]));
        Ok(View { state, completing, reason, nodes, restarts, started })
    }

    /// Whether nothing more will happen to it, on any of its nodes.
    pub(crate) fn is_over(&self) -> bool {
        !self.completing && !["PENDING", "RUNNING"].contains(&self.state.as_str())
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let View { state, reason, nodes, restarts, .. } = self;
        write!(f, "{state} ({reason}) on [{nodes}], restarted {restarts} times")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_read_from_what_slurm_prints() {
        let text = r#"{"jobs":[{"job_state":["RUNNING"],"state_reason":"None","nodes":"node[1-4]","restart_cnt":1}]}"#;
        let view = View::parse(text).unwrap();
        assert_eq!((view.nodes.as_str(), view.restarts, view.is_over()), ("node[1-4]", 1, false));
        let epilog = View::parse(&text.replace(r#""RUNNING""#, r#""COMPLETED","COMPLETING""#)).unwrap();
        assert!(!epilog.is_over());
        assert!(View::parse(r#"{"jobs":[]}"#).is_err());
    }
}
