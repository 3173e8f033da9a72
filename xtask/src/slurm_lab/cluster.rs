//! A cluster that runs: found by its folder, ended by one process.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::conf::Setup;
use super::root::Root;
use crate::clock::Stopwatch;
use crate::error::TaskError;
use crate::tree;

/// How long a cluster may take to start: 36 nodes are idle within two seconds on a quiet machine.
const START_LIMIT: Duration = Duration::from_secs(60);

/// How often something that is awaited is looked at.
const PAUSE: Duration = Duration::from_millis(50);

/// How long an ended cluster's processes may take to go.
const END_LIMIT: Duration = Duration::from_secs(20);

/// A running cluster. Dropped, it is ended.
pub(crate) struct Cluster {
    dir: PathBuf,
    /// The cluster's first process, as this side sees it, and when that was started.
    first: Identity,
    stays: bool,
}

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Identity {
    pid: i32,
    started: u64,
}

/// What a command in the cluster said.
pub(crate) struct Said {
    line: String,
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Cluster {
    /// Starts a cluster and waits until every node is idle.
    pub(crate) fn up(root: &Root, dir: &Path, setup: &Setup) -> Result<Self, TaskError> {
        if Cluster::find(dir).is_ok() {
            return Err(TaskError::NotHere(format!("a cluster runs in {} already", dir.display())));
        }
        if dir.exists() {
            fs::remove_dir_all(dir).map_err(TaskError::file("remove", dir))?;
        }
        for folder in ["work", "mnt", "out"] {
            let folder = dir.join(folder);
            fs::create_dir_all(&folder).map_err(TaskError::file("create", folder))?;
        }
        write(&dir.join("out/slurm.conf"), &setup.slurm_conf())?;
        if let Some(topology) = &setup.topology {
            write(&dir.join("out/topology.yaml"), topology)?;
        }
        let cluster = Cluster { dir: dir.to_owned(), first: start(root, dir, setup.nodes)?, stays: false };
        cluster.wait_for_nodes(usize::from(setup.nodes))?;
        Ok(cluster)
    }

    /// The cluster that runs in a folder.
    pub(crate) fn find(dir: &Path) -> Result<Self, TaskError> {
        let none = || TaskError::NotHere(format!("no cluster runs in {}", dir.display()));
        let text = fs::read_to_string(dir.join("first")).map_err(|_| none())?;
        let mut words = text.split_whitespace().map(str::parse::<u64>);
        let (Some(Ok(pid)), Some(Ok(started))) = (words.next(), words.next()) else { return Err(none()) };
        let first = Identity { pid: i32::try_from(pid).map_err(|_| none())?, started };
        if !first.lives() {
            return Err(none());
        }
        Ok(Cluster { dir: dir.to_owned(), first, stays: true })
    }

    /// Its folder; `out` in it is `/out` in the cluster.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Lets it run on when this value is dropped.
    pub(crate) fn leave_running(mut self) {
        self.stays = true;
    }

    /// Runs a command in the cluster, for at most so long.
    pub(crate) fn exec(&self, words: &[&str], limit: Duration) -> Result<Said, TaskError> {
        let line = words.join(" ");
        let mut command = Command::new("timeout");
        command.arg("--signal=KILL").arg(limit.as_secs().to_string()).arg("nsenter");
        command.arg(format!("--target={}", self.first.pid));
        command.args(["--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd", "--", "env", "-i"]);
        command.args(["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8"]).args(words);
        let output = command.stdin(Stdio::null()).output();
        let output = output.map_err(|source| TaskError::Start { line: line.clone(), source })?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Said { line, code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) })
    }

    /// What a command in the cluster prints, if it succeeds.
    pub(crate) fn stdout(&self, words: &[&str]) -> Result<String, TaskError> {
        let said = self.exec(words, super::EXEC_LIMIT)?;
        said.judge()?;
        Ok(said.out)
    }

    /// Ends it and waits until everything of it has gone.
    pub(crate) fn down(mut self) -> Result<(), TaskError> {
        self.stays = true;
        self.end()
    }

    fn end(&self) -> Result<(), TaskError> {
        if self.first.lives() {
            // Its namespace's other processes end with it.
            let _ = kill(Pid::from_raw(self.first.pid), Signal::SIGKILL);
        }
        let running = Stopwatch::start();
        while self.first.lives() {
            if running.elapsed() > END_LIMIT {
                return Err(TaskError::NotHere(format!("process {} does not end", self.first.pid)));
            }
            thread::sleep(PAUSE);
        }
        let note = self.dir.join("first");
        fs::remove_file(&note).map_err(TaskError::file("remove", note))
    }

    fn wait_for_nodes(&self, nodes: usize) -> Result<(), TaskError> {
        let running = Stopwatch::start();
        loop {
            let idle = self
                .exec(&["sinfo", "--noheader", "--Node", "--partition=main", "--format=%T"], START_LIMIT)?;
            let idle = idle.out.lines().filter(|state| state.trim() == "idle").count();
            if idle == nodes {
                return Ok(());
            }
            if running.elapsed() > START_LIMIT {
                let what = format!("{idle} of {nodes} nodes are idle after {} s", START_LIMIT.as_secs());
                return Err(TaskError::NotHere(what));
            }
            thread::sleep(PAUSE);
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if !self.stays {
            // There is nobody to tell; what is left is found by its folder.
            let _ = self.end();
        }
    }
}

impl Said {
    /// Success, or how it failed.
    pub(crate) fn judge(&self) -> Result<(), TaskError> {
        if self.code == Some(0) {
            return Ok(());
        }
        let code = self.code.map_or_else(|| "a signal".to_owned(), |code| format!("code {code}"));
        let status = format!("{code}: {}", self.err.trim());
        Err(TaskError::Program { line: self.line.clone(), status })
    }
}

impl Identity {
    fn of(pid: i32) -> Option<Self> {
        // The command's name may hold anything, also blanks and parentheses: the fields count from the last one.
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, fields) = stat.rsplit_once(") ")?;
        let mut fields = fields.split(' ');
        let dead = matches!(fields.next()?, "Z" | "X");
        let started = fields.nth(18)?.parse().ok()?;
        (!dead).then_some(Identity { pid, started })
    }

    fn lives(self) -> bool {
        Identity::of(self.pid) == Some(self)
    }
}

/// Starts the first process in new namespaces, and waits until it has started Slurm.
fn start(root: &Root, dir: &Path, nodes: u8) -> Result<Identity, TaskError> {
    let this = tree::this_program().map_err(TaskError::file("find", "the program that runs"))?;
    let log = dir.join("out/init.log");
    let file = File::create(&log).map_err(TaskError::file("create", &log))?;
    let copy = file.try_clone().map_err(TaskError::file("create", &log))?;
    let mut command = Command::new("unshare");
    command.args(["--mount", "--uts", "--ipc", "--net", "--pid", "--fork", "--kill-child=KILL"]);
    command.arg(this).args(["slurm-lab", "init", "--root"]).arg(root.path());
    command.arg("--dir").arg(dir).arg("--nodes").arg(nodes.to_string());
    let line = "unshare".to_owned();
    let child = command.stdin(Stdio::null()).stdout(file).stderr(copy).spawn();
    let mut child = child.map_err(|source| TaskError::Start { line, source })?;
    let running = Stopwatch::start();
    while !dir.join("out/started").is_file() {
        let ended = !matches!(child.try_wait(), Ok(None));
        if ended || running.elapsed() > START_LIMIT {
            let _ = child.kill();
            let _ = child.wait();
            let said = tree::read(&log).unwrap_or_default();
            return Err(TaskError::NotHere(format!("a cluster cannot be started: {}", said.trim())));
        }
        thread::sleep(PAUSE);
    }
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    let first = fs::read_to_string(&children).map_err(TaskError::file("read", &children))?;
    let first = first.split_whitespace().next().and_then(|pid| pid.parse().ok()).and_then(Identity::of);
    let first = first.ok_or_else(|| TaskError::NotHere("the cluster's first process is gone".to_owned()))?;
    write(&dir.join("first"), &format!("{} {}\n", first.pid, first.started))?;
    // `unshare` ends with the first process; collected here it does not stay a zombie of a task that goes on.
    thread::spawn(move || child.wait());
    Ok(first)
}

fn write(path: &Path, text: &str) -> Result<(), TaskError> {
    fs::write(path, text).map_err(TaskError::file("write", path))
}
