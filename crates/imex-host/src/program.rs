//! Running another program to its end: with the search path given, within a deadline, its words captured.
//!
//! `scontrol` hangs when the controller does, and exits 0 over errors that it only prints; what it says is therefore
//! always taken whole, and a program that does not end is killed with all that it started.

use std::ffi::{OsStr, OsString};
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::time::timeout;

/// The most bytes that a program may say on one stream. `scontrol show nodes --json` of 100,000 nodes has about 400 MiB.
const MOST: u64 = 512 * 1024 * 1024;

/// The most of a program's complaint that an error carries, in letters: enough for the lines that Slurm prints when a
/// file is broken.
const COMPLAINT: usize = 500;

/// Where programs are looked for when nobody says: prologs and units may have no `PATH` at all.
pub const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/slurm/bin";

/// A program to run, with its words.
#[derive(Clone, Debug)]
pub struct Program {
    name: OsString,
    words: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    path: OsString,
    deadline: Duration,
}

/// What a program said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output; bytes that are no UTF-8 are replaced.
    pub out: String,
    /// Its standard error, likewise.
    pub err: String,
}

/// Why a program gave no answer.
#[derive(Debug, Error)]
pub enum RunError {
    /// It could not be started.
    #[error("`{line}` cannot be run (looked for in {path})")]
    Start {
        /// Its command line.
        line: String,
        /// The search path.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// It did not end in time and was killed.
    #[error("`{line}` did not end within {} ms", after.as_millis())]
    Overdue {
        /// Its command line.
        line: String,
        /// The deadline.
        after: Duration,
    },
    /// What it said could not be read.
    #[error("what `{line}` says cannot be read")]
    Read {
        /// Its command line.
        line: String,
        /// What the system said.
        source: io::Error,
    },
    /// It ended with another code than 0, or by a signal.
    #[error("`{line}` ended with {status}{}", complaint(.said))]
    Failed {
        /// Its command line.
        line: String,
        /// How it ended.
        status: ExitStatus,
        /// What it said on its standard error, or else on its standard output.
        said: String,
    },
}

impl Program {
    /// The program `name`, looked for in [`DEFAULT_PATH`], with ten seconds to end.
    pub fn new(name: impl Into<OsString>) -> Self {
        /// Longer than a busy controller takes, shorter than a person waits.
        const DEADLINE: Duration = Duration::from_secs(10);
        Program {
            name: name.into(),
            words: Vec::new(),
            environment: Vec::new(),
            path: DEFAULT_PATH.into(),
            deadline: DEADLINE,
        }
    }

    /// Adds words to its command line.
    #[must_use]
    pub fn words<W: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.words.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// A variable of its environment, beside those of this process.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Where it is looked for, and what it gets as `PATH`: folders with colons between.
    #[must_use]
    pub fn path(mut self, path: impl Into<OsString>) -> Self {
        self.path = path.into();
        self
    }

    /// How long it may take.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Its command line, for people.
    pub fn line(&self) -> String {
        let words = std::iter::once(&self.name).chain(&self.words);
        words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    /// Runs it and takes what it says, whatever its exit code.
    ///
    /// # Errors
    ///
    /// If it cannot be run or does not end in time.
    pub async fn ask(&self) -> Result<Said, RunError> {
        let started = Command::new(&self.name)
            .args(&self.words)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .env("PATH", &self.path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn();
        let mut child = started.map_err(|source| RunError::Start {
            line: self.line(),
            path: self.path.to_string_lossy().into_owned(),
            source,
        })?;
        // Dropped with this future, too.
        let group = Group(child.id());
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let heard = async { tokio::try_join!(child.wait(), hear(out), hear(err)) };
        match timeout(self.deadline, heard).await {
            Ok(Ok((status, out, err))) => {
                group.has_ended();
                Ok(Said { status, out, err })
            }
            Ok(Err(source)) => Err(RunError::Read { line: self.line(), source }),
            Err(_) => Err(RunError::Overdue { line: self.line(), after: self.deadline }),
        }
    }

    /// Runs it and takes what it says if it ends with 0.
    ///
    /// # Errors
    ///
    /// If it cannot be run, does not end in time, or ends with another code.
    pub async fn run(&self) -> Result<Said, RunError> {
        let said = self.ask().await?;
        if said.status.success() {
            return Ok(said);
        }
        let Said { status, out, err } = said;
        let told = if err.trim().is_empty() { out } else { err };
        Err(RunError::Failed { line: self.line(), status, said: told.trim().to_owned() })
    }
}

/// The process group of a program, killed when dropped.
#[derive(Debug)]
struct Group(Option<u32>);

impl Group {
    /// The program has ended and closed its streams: its number may soon be another's.
    fn has_ended(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0.and_then(|leader| i32::try_from(leader).ok()) {
            // It may have ended by itself this instant.
            let _ = killpg(Pid::from_raw(leader), Signal::SIGKILL);
        }
    }
}

async fn hear(stream: Option<impl AsyncRead + Unpin>) -> io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        let heard = stream.take(MOST + 1).read_to_end(&mut bytes).await?;
        if u64::try_from(heard).unwrap_or(u64::MAX) > MOST {
            return Err(io::Error::other(format!("it says more than {MOST} bytes")));
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn complaint(said: &str) -> String {
    let said: String = said.chars().take(COMPLAINT).collect();
    if said.is_empty() { String::new() } else { format!(": {said}") }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn run<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
    }

    fn sh(script: &str) -> Program {
        Program::new("sh").words(["-c", script])
    }

    #[test]
    fn both_streams_are_taken_whatever_the_exit_code() {
        let said = run(sh("echo out; echo err >&2; exit 3").ask()).unwrap();
        assert_eq!((said.status.code(), said.out.as_str(), said.err.as_str()), (Some(3), "out\n", "err\n"));
        let error = run(sh("echo why >&2; exit 3").run()).unwrap_err();
        assert_eq!(error.to_string(), "`sh -c echo why >&2; exit 3` ended with exit status: 3: why");
    }

    #[test]
    fn a_program_that_hangs_is_killed_with_all_it_started() {
        let dir = tempfile::tempdir().unwrap();
        let pid = dir.path().join("pid");
        let script = format!("sleep 600 & echo $! > {}; wait", pid.display());
        let error = run(sh(&script).deadline(Duration::from_millis(500)).ask()).unwrap_err();
        assert!(matches!(error, RunError::Overdue { .. }), "{error}");
        let grandchild = fs::read_to_string(&pid).unwrap();
        let ended = || match fs::read_to_string(format!("/proc/{}/stat", grandchild.trim())) {
            Ok(stat) => stat.contains(") Z "),
            Err(_) => true,
        };
        for _ in 0..100 {
            if ended() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("process {grandchild} lives");
    }

    #[test]
    fn a_stream_that_stays_open_behind_a_program_does_not_hang() {
        let error = run(sh("sleep 600 &").deadline(Duration::from_millis(300)).ask()).unwrap_err();
        assert!(matches!(error, RunError::Overdue { .. }), "{error}");
    }

    #[test]
    fn a_program_is_looked_for_in_the_given_path_alone() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("scontrol");
        fs::write(&file, "#!/bin/sh\necho \"a fake: $PATH\"\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        let said = run(Program::new("scontrol").path(dir.path()).run()).unwrap();
        assert_eq!(said.out, format!("a fake: {}\n", dir.path().display()));
        let error = run(Program::new("sh").path(dir.path()).run()).unwrap_err();
        assert_eq!(error.to_string(), format!("`sh` cannot be run (looked for in {})", dir.path().display()));
    }
}
