//! The process outside of a cluster that starts its first one and, once that has ended, removes what does not end with it.
//!
//! Processes, mounts and links go with the cluster's name spaces. Control groups do not, and neither does the limit that
//! was raised for many nodes. Whoever ends the cluster by ending its first process finds these gone as well.

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::Pid;

use super::cgroup::Cgroup;
use super::note::{Identity, Note};
use super::{InitOptions, NodesAre, possible};
use crate::clock::Stopwatch;
use crate::error::TaskError;
use crate::tree;

/// How many inotify instances one systemd with its services holds; seen were 3 to 4 for each node.
const INSTANCES_PER_NODE: u64 = 6;

/// What the rest of this machine is left of them.
const INSTANCES_OF_OTHERS: u64 = 64;

const INSTANCES: &str = "/proc/sys/fs/inotify/max_user_instances";

/// How long `unshare` may take to start the first process.
const FORK_LIMIT: Duration = Duration::from_secs(5);

/// How long a cluster goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Keep {
    /// The cluster ends with the task that started it.
    WhileStarterLives,
    /// The cluster goes on until it is ended.
    UntilDown,
}

impl Keep {
    /// As on the command line.
    pub(super) fn word(self) -> &'static str {
        match self {
            Keep::WhileStarterLives => "while-starter-lives",
            Keep::UntilDown => "until-down",
        }
    }
}

/// Starts the first process, waits for its end, and cleans up.
pub(super) fn run(options: &InitOptions, keep: Keep) -> Result<(), TaskError> {
    let signals: SigSet =
        [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGCHLD].into_iter().collect();
    signals
        .thread_block()
        .map_err(|error| TaskError::NotHere(format!("signals cannot be waited for: {error}")))?;
    if keep == Keep::WhileStarterLives {
        set_pdeathsig(Signal::SIGTERM)
            .map_err(|error| TaskError::NotHere(format!("the task's end cannot be noticed: {error}")))?;
    }
    let shared = Shared::prepare(options)?;
    let done = hold(options, shared.cgroup.as_ref(), &signals);
    shared.give_back();
    done
}

/// What a cluster has of this machine that does not end with its name spaces.
struct Shared {
    cgroup: Option<Cgroup>,
    /// The limit of inotify instances, if it was raised.
    instances: Option<Raised>,
}

impl Shared {
    fn prepare(options: &InitOptions) -> Result<Self, TaskError> {
        if options.nodes_are == NodesAre::Daemons {
            return Ok(Shared { cgroup: None, instances: None });
        }
        let cgroup = Cgroup::make(&format!("openimex-lab-{}", std::process::id()))?;
        Ok(Shared { cgroup: Some(cgroup), instances: raise_instances(options.nodes) })
    }

    /// Nobody hears what fails: the task that started this is gone.
    fn give_back(&self) {
        // Whoever has changed it meanwhile, another cluster for one, wants it as it is now.
        if let Some(raised) = self.instances.filter(|raised| instances() == Some(raised.to)) {
            drop(fs::write(INSTANCES, raised.from.to_string()));
        }
        if let Some(cgroup) = &self.cgroup {
            drop(Cgroup::remove(cgroup.folder()));
        }
    }
}

/// A limit that was raised.
#[derive(Clone, Copy)]
struct Raised {
    from: u64,
    to: u64,
}

/// Raises the limit if it is too low.
fn raise_instances(nodes: u8) -> Option<Raised> {
    let from = instances()?;
    let to = INSTANCES_OF_OTHERS + INSTANCES_PER_NODE * u64::from(nodes);
    (from < to).then(|| fs::write(INSTANCES, to.to_string()).ok().map(|()| Raised { from, to })).flatten()
}

fn instances() -> Option<u64> {
    fs::read_to_string(INSTANCES).ok()?.trim().parse().ok()
}

fn hold(options: &InitOptions, cgroup: Option<&Cgroup>, signals: &SigSet) -> Result<(), TaskError> {
    let mut unshare = match cgroup {
        None => start(options)?,
        Some(group) => group.inside(&group.home(), || start(options))?,
    };
    let first = first_child(&unshare)?;
    let note =
        Note { first, keeper: Identity::own()?, cgroup: cgroup.map(|group| group.folder().to_owned()) };
    note.write(&options.dir)?;
    loop {
        match signals.wait() {
            Ok(Signal::SIGCHLD) => {}
            Ok(_) | Err(_) => {
                let _ = kill(Pid::from_raw(first.pid()), Signal::SIGKILL);
            }
        }
        if !matches!(unshare.try_wait(), Ok(None)) {
            return Ok(());
        }
    }
}

fn start(options: &InitOptions) -> Result<Child, TaskError> {
    let this = tree::this_program().map_err(TaskError::file("find", "the program that runs"))?;
    let log = options.dir.join("out/init.log");
    let file = File::create(&log).map_err(TaskError::file("create", &log))?;
    let copy = file.try_clone().map_err(TaskError::file("create", &log))?;
    let mut command = Command::new("unshare");
    command.args(possible::CLUSTER).args(["--fork", "--kill-child=KILL"]);
    command.arg(this).args(["slurm-lab", "init"]).args(options.words());
    let line = "unshare".to_owned();
    command
        .stdin(Stdio::null())
        .stdout(file)
        .stderr(copy)
        .spawn()
        .map_err(|source| TaskError::Start { line, source })
}

/// The process that `unshare` has made in the new name spaces.
fn first_child(unshare: &Child) -> Result<Identity, TaskError> {
    let running = Stopwatch::start();
    loop {
        if let Some(first) = Identity::of_child(unshare.id()) {
            return Ok(first);
        }
        if running.elapsed() > FORK_LIMIT {
            return Err(TaskError::NotHere("name spaces cannot be made on this machine".to_owned()));
        }
        thread::sleep(Duration::from_millis(2));
    }
}
