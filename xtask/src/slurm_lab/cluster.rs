//! A cluster that runs: found by its folder, ended by one process.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::cgroup::Cgroup;
use super::conf::{Network, Nodes, Setup};
use super::keeper::Keep;
use super::note::Note;
use super::root::Root;
use super::{EXEC_LIMIT, InitOptions, LAB, commands, layer, possible};
use crate::clock::Stopwatch;
use crate::error::TaskError;
use crate::tree;

/// How long a cluster may take to start: 36 nodes are idle within two seconds on a quiet machine, 36 with systemd within
/// thirteen.
const START_LIMIT: Duration = Duration::from_secs(90);

/// How often something that is awaited is looked at.
const PAUSE: Duration = Duration::from_millis(50);

/// How long an ended cluster's processes may take to go.
const END_LIMIT: Duration = Duration::from_secs(20);

/// A running cluster. Dropped, it is ended.
pub(crate) struct Cluster {
    dir: PathBuf,
    note: Note,
    stays: bool,
}

/// Where in a cluster a command runs, and as whom.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seat<'a> {
    /// On this node, which must be a machine; beside the controller without one.
    pub(crate) node: Option<u8>,
    /// As this user; root without one.
    pub(crate) user: Option<&'a str>,
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
    pub(crate) fn up(root: &Root, dir: &Path, setup: &Setup, keep: Keep) -> Result<Self, TaskError> {
        if Cluster::find(dir).is_ok() {
            return Err(TaskError::NotSo(format!("{} is free; a cluster runs in it", dir.display())));
        }
        let nodes_are = setup.nodes_are.word();
        possible::check(nodes_are)?;
        let empty = fs::read_dir(dir).map_or(true, |mut entries| entries.next().is_none());
        let ours = ["out", "mnt", "work"].iter().all(|folder| dir.join(folder).is_dir());
        if !empty && !ours {
            return Err(TaskError::NotSo(format!("{} is a cluster's folder or empty", dir.display())));
        }
        if dir.exists() {
            fs::remove_dir_all(dir).map_err(TaskError::file("remove", dir))?;
        }
        for folder in ["work", "mnt", "out", "layer"] {
            let folder = dir.join(folder);
            fs::create_dir_all(&folder).map_err(TaskError::file("create", folder))?;
        }
        layer::write(setup, root, &dir.join("layer"))?;
        let network = match &setup.nodes_are {
            Nodes::Daemons => Network::default(),
            Nodes::Machines(machines) => machines.network,
        };
        let (root, dir, nodes) = (root.path().to_owned(), dir.to_owned(), setup.nodes);
        let options = InitOptions { root, dir: dir.clone(), nodes, nodes_are, network };
        let cluster = Cluster { dir, note: start(&options, keep)?, stays: keep == Keep::UntilDown };
        match cluster.wait_for_nodes(usize::from(nodes)) {
            Ok(()) => Ok(cluster),
            Err(error) => {
                drop(cluster.end());
                Err(error)
            }
        }
    }

    /// The cluster that runs in a folder.
    pub(crate) fn find(dir: &Path) -> Result<Self, TaskError> {
        let note = Note::read(dir).filter(|note| note.first.lives());
        let note = note.ok_or_else(|| TaskError::NotHere(format!("no cluster runs in {}", dir.display())))?;
        Ok(Cluster { dir: dir.to_owned(), note, stays: true })
    }

    /// Its folder; `out` in it is `/out` in the cluster.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The control group that its processes are in, if it has one.
    pub(crate) fn cgroup(&self) -> Option<&Path> {
        self.note.cgroup.as_deref()
    }

    /// Lets it run on when this value is dropped.
    pub(crate) fn leave_running(mut self) {
        self.stays = true;
    }

    /// Runs a command beside the controller, for at most so long.
    pub(crate) fn exec(&self, words: &[&str], limit: Duration) -> Result<Said, TaskError> {
        self.exec_at(Seat::default(), words, limit)
    }

    /// Runs a command somewhere in the cluster, for at most so long.
    pub(crate) fn exec_at(&self, seat: Seat<'_>, words: &[&str], limit: Duration) -> Result<Said, TaskError> {
        let line = words.join(" ");
        let mut command = self.command(seat, limit)?;
        let output = command.args(words).output();
        let output = output.map_err(|source| TaskError::Start { line: line.clone(), source })?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Said { line, code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) })
    }

    /// The beginning of a command line that leads into the cluster.
    fn command(&self, seat: Seat<'_>, limit: Duration) -> Result<Command, TaskError> {
        let mut command = Command::new("timeout");
        command.arg("--signal=KILL").arg(limit.as_secs_f64().to_string()).arg("nsenter");
        command
            .arg(format!("--target={}", self.note.first.pid()))
            .args(possible::CLUSTER)
            .args(["--root", "--wd", "--"]);
        if let Some(node) = seat.node {
            let target = format!("--target={}", self.first_of(node)?);
            command
                .args(["nsenter", &target])
                .args(possible::CLUSTER)
                .args(["--time", "--root", "--wd", "--"]);
        }
        let mut home = "/root".to_owned();
        if let Some(user) = seat.user {
            command.args([
                "setpriv",
                "--init-groups",
                &format!("--reuid={user}"),
                &format!("--regid={user}"),
            ]);
            home = format!("/home/{user}");
        }
        command.args(["env", "-i", &format!("--chdir={home}"), &format!("HOME={home}")]);
        command.args(seat.user.map(|user| format!("USER={user}")));
        command.args([&format!("PATH={}", commands::PATH), "LANG=C.UTF-8"]).stdin(Stdio::null());
        Ok(command)
    }

    /// A node's first process, as the cluster sees it.
    fn first_of(&self, node: u8) -> Result<u32, TaskError> {
        let text = fs::read_to_string(self.dir.join(format!("out/node{node}.pid"))).unwrap_or_default();
        let first = text.split_whitespace().next().and_then(|pid| pid.parse().ok());
        first.ok_or_else(|| TaskError::NotHere(format!("node{node} is off, or no machine")))
    }

    /// Takes the power from a node, and waits until nothing of it runs.
    pub(crate) fn power_off(&self, node: u8) -> Result<(), TaskError> {
        self.exec(&[LAB, "slurm-lab", "inside", "power-off", &node.to_string()], EXEC_LIMIT)?.judge()
    }

    /// Gives a node its power again, and waits until its slurmd runs.
    pub(crate) fn power_on(&self, node: u8) -> Result<(), TaskError> {
        let number = node.to_string();
        let words = [LAB, "slurm-lab", "inside", "power-on", &number];
        let start = || self.exec(&words, EXEC_LIMIT);
        // Where groups are delegated, only what is in the cluster's own may move within it.
        let said = match &self.note.cgroup {
            None => start()?,
            Some(folder) => {
                let group = Cgroup::at(folder)?;
                group.inside(&group.home(), start)?
            }
        };
        said.judge()?;
        let seat = Seat { node: Some(node), user: None };
        self.until(&format!("slurmd runs on node{node}"), || {
            let said = self.exec_at(seat, &["systemctl", "is-active", "slurmd"], EXEC_LIMIT)?;
            Ok(said.code == Some(0))
        })
    }

    /// What a command in the cluster prints, if it succeeds.
    pub(crate) fn stdout(&self, words: &[&str]) -> Result<String, TaskError> {
        let said = self.exec(words, EXEC_LIMIT)?;
        said.judge()?;
        Ok(said.out)
    }

    /// Ends it and waits until everything of it has gone.
    pub(crate) fn down(mut self) -> Result<(), TaskError> {
        self.stays = true;
        self.end()
    }

    fn end(&self) -> Result<(), TaskError> {
        let Note { first, keeper, cgroup } = &self.note;
        if first.lives() {
            // The other processes of its name space end with it.
            let _ = kill(Pid::from_raw(first.pid()), Signal::SIGKILL);
        }
        let running = Stopwatch::start();
        while first.lives() || keeper.lives() {
            if running.elapsed() > END_LIMIT {
                return Err(TaskError::NotSo(format!("process {} ends", first.pid())));
            }
            thread::sleep(PAUSE);
        }
        // The keeper has removed it, unless it was killed.
        cgroup.as_deref().map_or(Ok(()), Cgroup::remove)?;
        let layer = self.dir.join("layer");
        fs::remove_dir_all(&layer).map_err(TaskError::file("remove", layer))?;
        let note = Note::path(&self.dir);
        fs::remove_file(&note).map_err(TaskError::file("remove", note))
    }

    /// Waits until every node is idle.
    pub(crate) fn wait_for_nodes(&self, nodes: usize) -> Result<(), TaskError> {
        self.until(&format!("{nodes} nodes are idle"), || {
            let words = ["sinfo", "--noheader", "--Node", "--partition=main", "--format=%T"];
            let states = self.exec(&words, EXEC_LIMIT)?;
            Ok(states.out.lines().filter(|state| state.trim() == "idle").count() == nodes)
        })
    }

    fn until(&self, what: &str, mut look: impl FnMut() -> Result<bool, TaskError>) -> Result<(), TaskError> {
        let running = Stopwatch::start();
        while !look()? {
            if running.elapsed() > START_LIMIT {
                let limit = START_LIMIT.as_secs();
                let logs = self.dir.join("out");
                let logs = format!("what the daemons say is in {}", logs.display());
                return Err(TaskError::NotSo(format!("{what} within {limit} s; {logs}")));
            }
            thread::sleep(PAUSE);
        }
        Ok(())
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
    /// The same for who has seen what it wrote.
    pub(super) fn passed_on(self) -> Self {
        Said { err: String::new(), ..self }
    }

    /// Success, or how it failed.
    pub(crate) fn judge(&self) -> Result<(), TaskError> {
        if self.code == Some(0) {
            return Ok(());
        }
        let code = self.code.map_or_else(|| "a signal".to_owned(), |code| format!("code {code}"));
        let status = match self.err.trim() {
            "" => code,
            said => format!("{code}: {said}"),
        };
        Err(TaskError::Program { line: self.line.clone(), status })
    }
}

/// Starts the keeper, and waits until the first process has started Slurm.
fn start(options: &InitOptions, keep: Keep) -> Result<Note, TaskError> {
    let this = tree::this_program().map_err(TaskError::file("find", "the program that runs"))?;
    let log = options.dir.join("out/keeper.log");
    let file = File::create(&log).map_err(TaskError::file("create", &log))?;
    let copy = file.try_clone().map_err(TaskError::file("create", &log))?;
    let mut command = Command::new(this);
    command.args(["slurm-lab", "keep", "--keep", keep.word()]).args(options.words());
    let line = "slurm-lab keep".to_owned();
    let child = command.stdin(Stdio::null()).stdout(file).stderr(copy).spawn();
    let mut child = child.map_err(|source| TaskError::Start { line, source })?;
    let running = Stopwatch::start();
    let note = loop {
        let started = options.dir.join("out/started").is_file();
        if let Some(note) = Note::read(&options.dir).filter(|_| started) {
            break note;
        }
        let ended = !matches!(child.try_wait(), Ok(None));
        if ended || running.elapsed() > START_LIMIT {
            // It ends what it has started.
            let _ = kill(Pid::from_raw(i32::try_from(child.id()).unwrap_or_default()), Signal::SIGTERM);
            drop(child.wait());
            let read = |name: &str| tree::read(&options.dir.join("out").join(name)).unwrap_or_default();
            let said = read("keeper.log") + &read("init.log");
            return Err(TaskError::NotSo(format!("a cluster starts: {}", said.trim())));
        }
        thread::sleep(PAUSE);
    };
    // Collected here it does not stay a zombie of a task that goes on.
    thread::spawn(move || child.wait());
    Ok(note)
}
