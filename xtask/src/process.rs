//! Starting programs: with a time limit, without a shell, and without standard input.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use crate::clock::Stopwatch;
use crate::error::TaskError;
use crate::tree;

/// How long one program may run. The longest step, a first build on two slow cores, takes a few minutes; what is
/// still running after this hangs, and CI is told so instead of waiting for its own limit.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// How often a running program is asked whether it has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// A program to be run in the root of the repository.
pub(crate) struct Program {
    command: Command,
    limit: Duration,
}

impl Program {
    pub(crate) fn new(name: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(name);
        command.current_dir(tree::root()).stdin(Stdio::null());
        Program { command, limit: LIMIT }
    }

    /// The cargo that runs this task.
    pub(crate) fn cargo() -> Self {
        let mut program = Program::new("cargo");
        // Set by cargo for this process and meant for this package only.
        program.command.env_remove("CARGO_MANIFEST_DIR");
        program
    }

    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    /// Arguments separated by blanks.
    pub(crate) fn words(mut self, words: &str) -> Self {
        self.command.args(words.split_whitespace());
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Writes both outputs to a file instead of the task's own.
    pub(crate) fn log_to(mut self, path: &Path) -> Result<Self, TaskError> {
        let file = File::create(path).map_err(TaskError::file("create", path))?;
        let copy = file.try_clone().map_err(TaskError::file("create", path))?;
        self.command.stdout(file).stderr(copy);
        Ok(self)
    }

    /// For a program that has limits of its own.
    pub(crate) fn unlimited(self) -> Self {
        self.limit(Duration::MAX)
    }

    /// Runs it with the task's own output, and fails unless it succeeds.
    pub(crate) fn run(mut self) -> Result<(), TaskError> {
        let child = self.start()?;
        let status = self.wait(child)?;
        self.judge(status)
    }

    /// What it writes to standard output, if it succeeds.
    pub(crate) fn stdout(mut self) -> Result<String, TaskError> {
        self.command.stderr(Stdio::inherit());
        let output = self.output()?;
        self.judge(output.status)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Everything it writes, and how it ended.
    pub(crate) fn output(&mut self) -> Result<Output, TaskError> {
        let line = self.line();
        self.command.output().map_err(|source| TaskError::Start { line, source })
    }

    /// The command line, for people.
    pub(crate) fn line(&self) -> String {
        let words = std::iter::once(self.command.get_program()).chain(self.command.get_args());
        words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
    }

    fn start(&mut self) -> Result<Child, TaskError> {
        let line = self.line();
        self.command.spawn().map_err(|source| TaskError::Start { line, source })
    }

    fn wait(&self, mut child: Child) -> Result<ExitStatus, TaskError> {
        let running = Stopwatch::start();
        loop {
            let asked = child.try_wait();
            match asked.map_err(|source| TaskError::Start { line: self.line(), source })? {
                Some(status) => return Ok(status),
                None if running.elapsed() < self.limit => std::thread::sleep(PAUSE),
                None => {
                    // Killing what has just ended fails; either way it is over and is collected.
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(TaskError::Overdue { line: self.line(), limit: self.limit });
                }
            }
        }
    }

    fn judge(&self, status: ExitStatus) -> Result<(), TaskError> {
        if status.success() {
            return Ok(());
        }
        Err(TaskError::Program { line: self.line(), status: status.to_string() })
    }
}

/// Where a program lies, if it is installed.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    const PLACES: [&str; 6] = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"];
    PLACES.iter().map(|place| Path::new(place).join(name)).find(|path| path.is_file())
}
