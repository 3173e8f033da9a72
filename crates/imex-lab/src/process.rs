//! One node's process: started, signalled, looked at, ended.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use nix::sys::signal::{self, Signal};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::layout::NodePaths;

/// How much of a daemon's standard error is kept as its last words.
const MAX_LAST_WORDS: usize = 400;

/// What can be done to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum NodeSignal {
    /// Leave gracefully: tell the peers, then end.
    Term,
    /// End at once; the peers see their connections reset.
    Kill,
    /// Stop running without ending; the peers see silence.
    Stop,
    /// Run on after [`NodeSignal::Stop`].
    Cont,
}

impl NodeSignal {
    /// The name without `SIG`.
    pub const fn word(self) -> &'static str {
        match self {
            NodeSignal::Term => "TERM",
            NodeSignal::Kill => "KILL",
            NodeSignal::Stop => "STOP",
            NodeSignal::Cont => "CONT",
        }
    }

    fn number(self) -> Signal {
        match self {
            NodeSignal::Term => Signal::SIGTERM,
            NodeSignal::Kill => Signal::SIGKILL,
            NodeSignal::Stop => Signal::SIGSTOP,
            NodeSignal::Cont => Signal::SIGCONT,
        }
    }
}

/// How a node's process fares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "process", rename_all = "lowercase")]
pub enum Life {
    /// It runs.
    Running {
        /// Its process id.
        pid: u32,
    },
    /// It is stopped (SIGSTOP): alive but silent.
    Stopped {
        /// Its process id.
        pid: u32,
    },
    /// It has ended, or was never started.
    Dead {
        /// How.
        #[serde(flatten)]
        end: End,
    },
}

impl Life {
    /// The process id of a process that has not ended.
    pub fn pid(&self) -> Option<u32> {
        match self {
            Life::Running { pid } | Life::Stopped { pid } => Some(*pid),
            Life::Dead { .. } => None,
        }
    }
}

/// How a process ended. Its text reads after "it".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "lowercase")]
pub enum End {
    /// It was never started.
    Unstarted,
    /// It ended by itself.
    Exited {
        /// Its exit code.
        code: i32,
        /// The last line that it wrote to its standard error; may be empty.
        last_words: String,
    },
    /// A signal ended it.
    Killed {
        /// The signal's number.
        signal: i32,
    },
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Unstarted => f.write_str("was never started"),
            End::Exited { code, last_words } if last_words.is_empty() => write!(f, "exited with code {code}"),
            End::Exited { code, last_words } => write!(f, "exited with code {code}: {last_words}"),
            End::Killed { signal } => match Signal::try_from(*signal) {
                Ok(name) => write!(f, "was ended by {name}"),
                Err(_) => write!(f, "was ended by signal {signal}"),
            },
        }
    }
}

/// One node's daemon.
#[derive(Debug)]
pub(crate) struct NodeProcess {
    paths: NodePaths,
    variables: BTreeMap<String, String>,
    state: State,
}

#[derive(Debug)]
enum State {
    Alive(Child),
    Dead(End),
}

impl NodeProcess {
    /// A node that is not yet started.
    pub(crate) fn new(paths: NodePaths) -> Self {
        NodeProcess { paths, variables: BTreeMap::new(), state: State::Dead(End::Unstarted) }
    }

    /// The node's files.
    pub(crate) fn paths(&self) -> &NodePaths {
        &self.paths
    }

    /// Sets a variable of its environment for the next start.
    pub(crate) fn set_variable(&mut self, name: String, value: String) {
        self.variables.insert(name, value);
    }

    /// Starts `imexd`, in the node's directory and so that it ends with the calling thread. The caller has made sure
    /// that it does not run.
    pub(crate) fn start(&mut self, imexd: &Path) -> io::Result<u32> {
        let stderr = File::create(&self.paths.stderr)?;
        let child = Command::new(imexd)
            .arg("-c")
            .arg(&self.paths.config)
            .arg("--nogpu")
            .arg(format!("--die-with-parent={}", std::process::id()))
            .envs(&self.variables)
            // Under systemd these would make every daemon speak for the lab.
            .env_remove("NOTIFY_SOCKET")
            .env_remove("WATCHDOG_USEC")
            // Ctrl-C at the terminal is for the lab, which then ends its nodes one and all.
            .process_group(0)
            .current_dir(&self.paths.dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn()?;
        let pid = child.id();
        self.state = State::Alive(child);
        Ok(pid)
    }

    /// How it fares now. Reaps it if it has ended.
    pub(crate) fn life(&mut self) -> Life {
        self.reap();
        match &self.state {
            State::Alive(child) if is_stopped(child.id()) => Life::Stopped { pid: child.id() },
            State::Alive(child) => Life::Running { pid: child.id() },
            State::Dead(end) => Life::Dead { end: end.clone() },
        }
    }

    /// Sends a signal; to a process that has ended, nothing.
    pub(crate) fn signal(&mut self, what: NodeSignal) -> io::Result<()> {
        self.reap();
        if let State::Alive(child) = &self.state {
            // The process is a child that has not been reaped, so the number cannot have gone to another.
            signal::kill(pid_of(child), what.number())?;
        }
        Ok(())
    }

    /// Ends it at once, stopped or not, and waits for the moment that this takes.
    pub(crate) fn kill(&mut self) {
        if let State::Alive(child) = &mut self.state {
            // Fails only if it has ended already, and then `wait` returns at once.
            drop(child.kill());
            if let Ok(status) = child.wait() {
                self.state = State::Dead(self.end(status));
            }
        }
    }

    fn reap(&mut self) {
        if let State::Alive(child) = &mut self.state
            && let Ok(Some(status)) = child.try_wait()
        {
            self.state = State::Dead(self.end(status));
        }
    }

    fn end(&self, status: ExitStatus) -> End {
        match status.signal() {
            Some(signal) => End::Killed { signal },
            None => End::Exited {
                code: status.code().unwrap_or_default(),
                last_words: last_words(&self.paths.stderr),
            },
        }
    }
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).expect("a process id fits pid_t"))
}

fn last_words(stderr: &Path) -> String {
    let text = fs::read(stderr).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    // Indented lines are hints to the line above them.
    let last = text.lines().rfind(|line| line.starts_with(|first: char| !first.is_whitespace()));
    last.unwrap_or_default().chars().take(MAX_LAST_WORDS).collect()
}

/// Whether a process is stopped by a signal: the third field of its `stat`, behind the name in brackets (proc(5)).
fn is_stopped(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    state == Some('T')
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;
    use std::sync::OnceLock;

    use super::*;

    #[test]
    fn a_daemon_that_refuses_to_start_leaves_its_last_words() {
        let dir = tempfile::tempdir().unwrap();
        let mut node =
            node(dir.path(), "echo first >&2; echo 'port taken' >&2; echo ' hint: wait' >&2; exit 3");
        let end = wait_dead(&mut node);
        assert_eq!(end.to_string(), "exited with code 3: port taken");
    }

    #[test]
    fn a_stopped_process_is_seen_as_stopped_and_can_be_killed() {
        let dir = tempfile::tempdir().unwrap();
        let mut node = node(dir.path(), "exec sleep 60");
        assert!(matches!(node.life(), Life::Running { .. }));
        node.signal(NodeSignal::Stop).unwrap();
        while !matches!(node.life(), Life::Stopped { .. }) {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        node.kill();
        assert_eq!(node.life(), Life::Dead { end: End::Killed { signal: 9 } });
    }

    /// A node whose daemon is a shell that runs `script` for its configuration.
    fn node(dir: &Path, script: &str) -> NodeProcess {
        let layout = crate::Layout::new(dir).unwrap();
        let mut node = NodeProcess::new(layout.node(0));
        fs::create_dir(&node.paths.dir).unwrap();
        fs::write(&node.paths.config, script).unwrap();
        node.start(shell()).unwrap();
        node
    }

    /// Written once, before anything is started: a file that a process about to start still has open for writing
    /// cannot be run.
    fn shell() -> &'static Path {
        static SHELL: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
        let (_, path) = SHELL.get_or_init(|| {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("imexd");
            fs::write(&path, "#!/bin/sh\n. \"$2\"\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            (dir, path)
        });
        path
    }

    fn wait_dead(node: &mut NodeProcess) -> End {
        for _ in 0..500 {
            if let Life::Dead { end } = node.life() {
                return end;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("process did not end within 5 s");
    }
}
