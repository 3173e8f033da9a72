//! What `slurm.conf` has to hold for jobs to have a verified domain, and what each line really means.
//!
//! The times follow from the budget of `openimex.toml`: Slurm ends a script that is overdue with SIGTERM and, 10 ms later,
//! SIGKILL, so our own deadline must come first. Meanings were tried on Slurm 26.05.5 unless a line says otherwise.

use std::path::PathBuf;
use std::time::Duration;

use imex_config::operator::{Channels, Operator};
use serde::Serialize;

use crate::release::Release;

/// From this release on prolog and epilog have a time-out each: 26.05.5 has the keys, 24.11.5 does not, and one that does
/// not know a key of its `slurm.conf` does not start.
const OWN_TIMEOUTS: Release = Release::new(26, 5, 0);

/// How much later than our own deadline Slurm's time-out comes: time to write the record and to let other scripts of the
/// same event run.
const MARGIN: Duration = Duration::from_secs(15);

/// How much longer than the prolog a batch job's start may take.
const START: Duration = Duration::from_secs(10);

/// How often the sweep runs, in seconds: a node that waits for its next job is clean within five minutes.
const SWEEP_SECONDS: u64 = 300;

/// How long our scripts may take in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The prolog.
    pub prolog: Duration,
    /// The epilog.
    pub epilog: Duration,
}

/// Who makes the channel devices of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelMaker {
    /// `imex slurm`.
    Imex,
    /// Slurm's switch/nvidia_imex.
    Slurm,
    /// Neither of the two.
    Others,
}

impl From<&Operator> for Budget {
    fn from(operator: &Operator) -> Self {
        Budget { prolog: operator.prolog.budget, epilog: operator.epilog_budget }
    }
}

impl From<&Operator> for ChannelMaker {
    fn from(operator: &Operator) -> Self {
        match operator.channels.channels {
            Channels::Channel0 | Channels::PerJob => ChannelMaker::Imex,
            Channels::Switch => ChannelMaker::Slurm,
            Channels::Off => ChannelMaker::Others,
        }
    }
}

/// What the lines are made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The folder with the scripts `prolog`, `epilog`, `task-prolog` and `sweep`, on each node.
    pub scripts: PathBuf,
    /// How long the scripts may take.
    pub budget: Budget,
    /// Who makes the channels.
    pub channels: ChannelMaker,
    /// Which Slurm reads them; without it only what every release understands is used.
    pub release: Option<Release>,
}

/// One line of `slurm.conf`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The key.
    pub key: &'static str,
    /// The value.
    pub value: String,
    /// What it means, in lines.
    pub why: &'static [&'static str],
    /// If AWS PCS lets one set it.
    pub pcs: Pcs,
}

/// If AWS PCS lets one set a parameter of a cluster: "Custom Slurm settings for AWS PCS clusters" of its user guide lists
/// those.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pcs {
    /// It does.
    Custom,
    /// It does not.
    NotListed {
        /// What that costs: a sentence.
        cost: &'static str,
    },
}

/// The lines, in the order in which they are best read.
pub fn lines(wanted: &Wanted) -> Vec<Line> {
    let script = |name: &str| wanted.scripts.join(name).display().to_string();
    let prolog = seconds(wanted.budget.prolog + MARGIN);
    let mut lines = vec![
        line("Prolog", script("prolog"), PROLOG, Pcs::Custom),
        line("Epilog", script("epilog"), EPILOG, Pcs::Custom),
        line("TaskProlog", script("task-prolog"), TASK_PROLOG, Pcs::Custom),
        line("PrologFlags", "Alloc,DeferBatch", FLAGS, Pcs::Custom),
    ];
    lines.extend(timeouts(wanted, prolog));
    lines.extend([
        line("BatchStartTimeout", (prolog + START.as_secs()).to_string(), BATCH_START, NO_BATCH_START),
        line("SchedulerParameters", "nohold_on_prolog_fail", SCHEDULER, Pcs::Custom),
        line("HealthCheckProgram", script("sweep"), SWEEP, Pcs::Custom),
        line("HealthCheckInterval", SWEEP_SECONDS.to_string(), SWEEP_INTERVAL, Pcs::Custom),
        line("ReturnToService", "1", RETURN, NO_RETURN),
    ]);
    if wanted.channels == ChannelMaker::Slurm {
        lines.push(line("SwitchType", "switch/nvidia_imex", SWITCH, NO_SWITCH));
    }
    lines
}

/// One time-out each where Slurm knows them, else one for both.
fn timeouts(wanted: &Wanted, prolog: u64) -> Vec<Line> {
    let epilog = seconds(wanted.budget.epilog + MARGIN);
    if wanted.release.is_some_and(|release| release >= OWN_TIMEOUTS) {
        vec![
            line("PrologTimeout", prolog.to_string(), PROLOG_TIMEOUT, NO_TIMEOUT),
            line("EpilogTimeout", epilog.to_string(), EPILOG_TIMEOUT, NO_TIMEOUT),
        ]
    } else {
        vec![line("PrologEpilogTimeout", prolog.max(epilog).to_string(), BOTH_TIMEOUTS, NO_TIMEOUT)]
    }
}

fn line(key: &'static str, value: impl Into<String>, why: &'static [&'static str], pcs: Pcs) -> Line {
    Line { key, value: value.into(), why, pcs }
}

/// Whole seconds, rounded up: Slurm knows no others.
fn seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

const PROLOG: &[&str] = &[
    "Run by slurmd as root on each node of a job. It returns when every ordered pair of the job's domain is connected, or",
    "says which node is at fault: that node is drained, and the job requeued.",
    "Several lines are run in their order, the files of a pattern in reverse alphabetical order; the first failure ends the",
    "row. A file of a pattern that is not executable, or a pattern without a file, fails the prolog and drains the node.",
];
const EPILOG: &[&str] = &[
    "Stops the service, empties the node map, gives channel and lease back. It runs also on a node whose prolog failed,",
    "and once more after a power-cycle; it may run any number of times.",
];
const TASK_PROLOG: &[&str] = &[
    "Run as the job's user before each task. It refuses to start tasks of a job whose domain is not UP, as after a",
    "power-cycle that Slurm did not notice, and tells tasks their domain, members, index and channel.",
];
const FLAGS: &[&str] = &[
    "Alloc: the prolog runs on all nodes when the job gets them. Without it, it runs at the first step on a node, and for an",
    "salloc without steps never, although the epilog does.",
    "DeferBatch: the batch script waits for the prologs of all nodes. With Alloc alone it waits for that of its own node.",
    "Write both: before 26.05 DeferBatch without Alloc has no effect.",
    "Not NoHold: it does not keep jobs from being held. It lets salloc start its shell before the prologs are done.",
    "Not RunInJob: after a failed prolog of srun or salloc slurmd 26.05 reports it again and again and never recovers.",
];
const PROLOG_TIMEOUT: &[&str] = &[
    "prolog.budget of openimex.toml and 15 s. When it is over slurmd sends SIGTERM and 10 ms later SIGKILL; not set, it",
    "waits for ever.",
];
const BOTH_TIMEOUTS: &[&str] = &[
    "The longer of prolog.budget and epilog.budget of openimex.toml, and 15 s. When it is over slurmd sends SIGTERM and 10 ms",
    "later SIGKILL; not set, it waits for ever. From 26.05 there is a key for each: --slurm-version 26.05 uses them.",
];
const EPILOG_TIMEOUT: &[&str] =
    &["epilog.budget of openimex.toml and 15 s. A node whose epilog is overdue is drained."];
const BATCH_START: &[&str] = &[
    "Slurm's manual asks that it be longer than the prolog may take. Without Alloc, srun says \"Prolog hung\" when it is over.",
];
const SCHEDULER: &[&str] = &[
    "Add it to the words that you have: a second line replaces the first. Without it a batch job whose prolog failed is",
    "requeued and then held until somebody releases it; with it, it starts again elsewhere after requeue_delay.",
];
const SWEEP: &[&str] =
    &["Clears up after an epilog that was lost, and leaves a running job alone. slurmd kills it after 60 s."];
const SWEEP_INTERVAL: &[&str] = &["In seconds. 0, which is Slurm's own value, means never."];
const RETURN: &[&str] = &[
    "With 2 a node that is off and on again within SlurmdTimeout keeps its job RUNNING without a new prolog. With 1 Slurm",
    "notices, and requeues the job.",
];
const SWITCH: &[&str] = &[
    "Makes one channel for each job in a folder that only the job sees, and empties the folder of all channels at each start",
    "of slurmd. It forms no domain: the prolog still does.",
];

const NO_TIMEOUT: Pcs = Pcs::NotListed {
    cost: "A prolog or epilog that cannot even end by its own budget, as on a dead file system, holds its node for as long as \
           Slurm waits.",
};
const NO_BATCH_START: Pcs =
    Pcs::NotListed { cost: "Nothing with Alloc,DeferBatch: 26.05 starts the job all the same." };
const NO_RETURN: Pcs = Pcs::NotListed {
    cost: "Where the service has 2, a node that is off and on again quickly keeps its job RUNNING without its domain; \
           TaskProlog then refuses new tasks there, and the sweep and `imex doctor` say so.",
};
const NO_SWITCH: Pcs = Pcs::NotListed {
    cost: "Nobody makes the channels: let openimex.toml do it, `use = \"per-job\"` or \"channel0\" in [channels].",
};

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::check::scripts::Elsewhere;
    use crate::check::{Severity, Subject, TopologyFiles, check, conf};

    #[test]
    fn times_follow_from_the_budget_in_whole_seconds() {
        let mut wanted = wanted(ChannelMaker::Imex);
        wanted.budget.prolog = Duration::from_millis(20_500);
        wanted.release = Some(Release::new(26, 5, 5));
        let lines = lines(&wanted);
        let value = |key| lines.iter().find(|line| line.key == key).map(|line| line.value.as_str());
        assert_eq!(value("PrologTimeout"), Some("36"));
        assert_eq!(value("BatchStartTimeout"), Some("46"));
        assert_eq!(value("EpilogTimeout"), Some("45"));
        assert_eq!(value("SwitchType"), None);
    }

    #[test]
    fn releases_that_do_not_know_two_time_outs_get_one() {
        for release in [None, Some(Release::new(24, 11, 5)), Some(Release::new(25, 11, 2))] {
            let lines = lines(&Wanted { release, ..wanted(ChannelMaker::Imex) });
            let timeouts: Vec<_> = lines.iter().filter(|line| line.key.ends_with("logTimeout")).collect();
            let [both] = timeouts[..] else { panic!("{timeouts:?}") };
            assert_eq!((both.key, both.value.as_str()), ("PrologEpilogTimeout", "75"));
        }
    }

    #[test]
    fn check_finds_nothing_worse_than_a_note_in_what_settings_says() {
        let newest = Release::new(26, 5, 5);
        let releases = [None, Some(newest)];
        let makers = [ChannelMaker::Imex, ChannelMaker::Slurm, ChannelMaker::Others];
        for (channels, release) in
            makers.into_iter().flat_map(|maker| releases.map(|release| (maker, release)))
        {
            let wanted = Wanted { release, ..wanted(channels) };
            let text: String =
                lines(&wanted).iter().map(|line| format!("{}={}\n", line.key, line.value)).collect();
            let conf = conf::parse(Path::new("slurm.conf"), &text);
            let subject = Subject {
                conf: &conf,
                folder: Path::new("/etc/slurm"),
                look: &Elsewhere,
                topology: TopologyFiles::Yaml,
                release: Some(newest),
                budget: wanted.budget,
                channels,
            };
            let worse: Vec<_> =
                check(&subject).into_iter().filter(|one| one.rule.severity > Severity::Note).collect();
            assert_eq!(worse, []);
        }
    }

    fn wanted(channels: ChannelMaker) -> Wanted {
        Wanted {
            scripts: "/usr/libexec/openimex/slurm".into(),
            budget: Budget { prolog: Duration::from_secs(60), epilog: Duration::from_secs(30) },
            channels,
            release: None,
        }
    }
}
