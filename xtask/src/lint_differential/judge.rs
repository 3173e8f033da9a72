//! One slurmctld for one file: what it does with it.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use imex_topology::Form;
use imex_topology::corpus::Case;
use imex_topology::lint::Verdict;

use crate::differential::NODES;
use crate::error::TaskError;
use crate::slurm_lab::{Cluster, Setup};

/// Starts the controller over a folder's files, waits for what it does, ends it, and prints what it wrote. Told is the
/// folder; the code is 10 if it loaded, 11 if it ended, 12 if it did neither in ten seconds, a hundred times what it
/// takes, and 13 if a signal ended it.
const SCRIPT: &str = r#"
cd "$0" && rm -rf state && mkdir state && : > log || exit 1
SLURM_CONF="$0/slurm.conf" slurmctld -D > log 2>&1 &
controller=$!
code=12
for _ in $(seq 500); do
    grep -q 'Running as primary controller' log && { code=10; break; }
    kill -0 "$controller" 2> /dev/null || { code=11; break; }
    sleep 0.02
done
kill -KILL "$controller" 2> /dev/null
wait "$controller"
[ $? -gt 128 ] && [ "$code" = 11 ] && code=13
cat log
exit "$code"
"#;

/// For the script as a whole, whose own limit is ten seconds.
const LIMIT: Duration = Duration::from_secs(20);

/// Keys that the controllers of this task have values of their own for.
const OWN: [&str; 4] = ["SlurmctldLogFile", "SlurmctldPidFile", "SlurmctldPort", "StateSaveLocation"];

/// What the controller did with a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It became the primary controller.
    Loads,
    /// It ended with a fatal error, which is this.
    Refuses(String),
    /// It was ended by a signal of its own making, such as a segmentation fault: what it wrote last.
    Crashes(String),
    /// It did none of these: what it wrote last.
    Other(String),
}

/// Folders with all that a controller needs, one for each form of a file.
pub(super) struct Judge<'a> {
    cluster: &'a Cluster,
}

impl<'a> Judge<'a> {
    pub(super) fn new(cluster: &'a Cluster) -> Result<Self, TaskError> {
        let judge = Judge { cluster };
        for form in [Form::Yaml, Form::Conf] {
            let folder = judge.folder(form);
            fs::create_dir(&folder).map_err(TaskError::file("create", &folder))?;
            let conf = folder.join("slurm.conf");
            fs::write(&conf, slurm_conf(form)).map_err(TaskError::file("write", conf))?;
        }
        Ok(judge)
    }

    /// Starts a controller with this file and says what it did.
    pub(super) fn see(&self, case: &Case) -> Result<Seen, TaskError> {
        let name = name(case.form);
        let path = self.folder(case.form).join(format!("topology.{name}"));
        fs::write(&path, &case.text).map_err(TaskError::file("write", path))?;
        let said = self.cluster.exec(&["sh", "-c", SCRIPT, &format!("/out/{name}")], LIMIT)?;
        let fatal = said.out.lines().find(|line| line.contains("fatal:"));
        let last = || said.out.lines().last().unwrap_or("nothing").to_owned();
        match (said.code, fatal) {
            (Some(10), _) => Ok(Seen::Loads),
            (Some(11), Some(line)) => Ok(Seen::Refuses(line.to_owned())),
            (Some(13), _) => Ok(Seen::Crashes(last())),
            (Some(11 | 12), _) => Ok(Seen::Other(last())),
            _ => said.judge().map(|()| Seen::Other(last())),
        }
    }

    fn folder(&self, form: Form) -> PathBuf {
        self.cluster.dir().join("out").join(name(form))
    }
}

impl Seen {
    /// A controller that crashes has not loaded the file, and the person who wrote it is to be told so beforehand.
    pub(super) fn agrees_with(&self, verdict: Verdict) -> bool {
        match self {
            Seen::Loads => verdict == Verdict::Loads,
            Seen::Refuses(_) | Seen::Crashes(_) => verdict == Verdict::Refuses,
            Seen::Other(_) => false,
        }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Seen::Loads => f.write_str("loads it"),
            Seen::Refuses(line) => write!(f, "refuses it ({line})"),
            Seen::Crashes(line) => write!(f, "crashes of it (last: {line})"),
            Seen::Other(line) => write!(f, "neither loads nor refuses it (last: {line})"),
        }
    }
}

/// The ending of a file of this form, and its folder's name.
fn name(form: Form) -> &'static str {
    match form {
        Form::Yaml => "yaml",
        Form::Conf => "conf",
    }
}

/// That of a cluster with the nodes that the files are made for. Without a log file a controller writes to standard
/// error; the port is not that of the cluster's own one. `topology.yaml` takes precedence over the plugin.
fn slurm_conf(form: Form) -> String {
    let setup = Setup::daemons(NODES);
    let is_shared = |line: &&str| !OWN.iter().any(|key| line.split('=').next() == Some(key));
    let mut text = format!(
        "SlurmctldPidFile=/run/slurmctld-lint.pid\nSlurmctldPort=6827\nStateSaveLocation=/out/{}/state\n",
        name(form)
    );
    if form == Form::Conf {
        text.push_str("TopologyPlugin=topology/block\n");
    }
    for line in setup.slurm_conf().lines().filter(is_shared) {
        text.push_str(line);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_of_this_task_meets_the_clusters_own_nowhere() {
        let text = slurm_conf(Form::Conf);
        for key in OWN {
            let values: Vec<&str> = text.lines().filter(|line| line.starts_with(key)).collect();
            assert_eq!(values.len(), usize::from(key != "SlurmctldLogFile"), "{key}: {values:?}");
        }
    }

    #[test]
    fn an_end_with_a_reason_and_a_crash_agree_with_a_refusal_and_nothing_else_does() {
        let refuses = Seen::Refuses("fatal: no blocks".to_owned());
        let crashes = Seen::Crashes("plugin loaded".to_owned());
        let other = Seen::Other("still starting".to_owned());
        let agrees =
            |seen: &Seen| [Verdict::Loads, Verdict::Refuses].map(|verdict| seen.agrees_with(verdict));
        assert_eq!(agrees(&Seen::Loads), [true, false]);
        assert_eq!(agrees(&refuses), [false, true]);
        assert_eq!(agrees(&crashes), [false, true]);
        assert_eq!(agrees(&other), [false, false]);
    }
}
