//! Running the program, and a lab that ends with its test.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// How long any command may take. A lab of four is UP within a fraction of a second; the rest is for a machine that
/// runs all tests at once.
const DEADLINE: Duration = Duration::from_secs(60);

/// What a command said, with its exit code.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// The program with these arguments.
pub(crate) fn imex<S: AsRef<OsStr>>(args: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_imex"));
    command.args(args);
    command
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Said {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    said(child)
}

/// Waits for a command that was started with pipes.
pub(crate) fn said(child: Child) -> Said {
    let pid = child.id();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(child.wait_with_output()));
    let Ok(output) = receiver.recv_timeout(DEADLINE) else {
        signal(pid, Signal::SIGKILL);
        panic!("the command did not end within {DEADLINE:?}");
    };
    let Output { status, stdout, stderr } = output.unwrap();
    Said {
        code: status.code().unwrap_or(-1),
        out: String::from_utf8(stdout).unwrap(),
        err: String::from_utf8(stderr).unwrap(),
    }
}

/// Sends a signal to a process that this test has started.
pub(crate) fn signal(pid: u32, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(pid).unwrap()), signal).unwrap();
}

/// Waits until something is so.
pub(crate) fn until(what: &str, so: impl Fn() -> bool) {
    for _ in 0..DEADLINE.as_millis() / 10 {
        if so() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("not within {DEADLINE:?}: {what}");
}

/// The processes whose command line names a directory, zombies not counted.
pub(crate) fn processes_of(dir: &Path, program: &str) -> Vec<u32> {
    let dir = dir.to_str().unwrap();
    let names = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains(dir) && line.split('\0').next().is_some_and(|first| first.ends_with(program))
    };
    let numbers = fs::read_dir("/proc").unwrap().flatten();
    numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(names).collect()
}

/// A lab in the background, ended with the test.
pub(crate) struct Background {
    pub(crate) dir: PathBuf,
    _temp: TempDir,
}

impl Background {
    /// Starts one and waits until its domain is UP.
    pub(crate) fn up(nodes: usize) -> Self {
        let lab = Background::at_rest();
        let said = run(imex(&["lab", "up", "--nodes", &nodes.to_string()]).arg("--dir").arg(&lab.dir));
        assert_eq!(said.code, 0, "{}{}", said.out, said.err);
        lab
    }

    /// A directory for one.
    pub(crate) fn at_rest() -> Self {
        let temp = tempfile::Builder::new().prefix("lab-").tempdir_in("/tmp").unwrap();
        Background { dir: temp.path().join("rack"), _temp: temp }
    }

    /// Runs `imex lab` with these words and this lab's directory.
    pub(crate) fn lab(&self, words: &[&str]) -> Said {
        run(imex(&["lab"]).args(words).arg("--dir").arg(&self.dir))
    }

    /// Runs `imex wait` for a node.
    pub(crate) fn wait(&self, node: usize, words: &[&str]) -> Said {
        run(imex(&["wait", "-c"]).arg(self.file(node, "config.cfg")).args(words))
    }

    /// A file of a node.
    pub(crate) fn file(&self, node: usize, name: &str) -> PathBuf {
        self.dir.join(format!("node-{node}")).join(name)
    }

    /// The process that owns the lab.
    pub(crate) fn owner(&self) -> u32 {
        fs::read_to_string(self.dir.join("lab.lock")).unwrap().trim().parse().unwrap()
    }

    /// The lab's daemons that are alive.
    pub(crate) fn daemons(&self) -> Vec<u32> {
        processes_of(&self.dir, "imexd")
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // A lab that has ended already refuses, which is as good.
        let _ended = run(imex(&["lab", "down", "--dir"]).arg(&self.dir));
    }
}

/// A program that takes the place of the daemon and does something else.
pub(crate) fn other_daemon(dir: &Path, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = dir.join("other-imexd");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// A transcript of a command, with what differs from run to run replaced.
pub(crate) fn transcript(command: &mut Command, dir: &Path) -> String {
    let line: Vec<String> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
    let Said { code, out, err } = run(command);
    let text = format!("$ imex {}\n{out}--- stderr\n{err}--- exit code {code}\n", line.join(" "));
    text.replace(dir.to_str().unwrap(), "DIR")
}

/// What is replaced in every golden file, besides the directory.
pub(crate) fn redactions() -> insta::internals::SettingsBindDropGuard {
    let mut settings = insta::Settings::clone_current();
    for (pattern, instead) in [
        (r#""time": "[^"]+""#, r#""time": "TIME""#),
        // With the blanks behind it: columns are padded to the length of the address.
        (r"127\.\d+\.\d+\.(\d+)( \*)? +", "127.A.B.$1$2 "),
        (r"127\.\d+\.\d+\.(\d+)", "127.A.B.$1"),
        (r"\b\d{1,2}/\d{1,2}/\d{4} [\d:.]+", "M/D/YYYY HH:MM:SS.mmm"),
        (r#""(pid|owner)": \d+"#, r#""$1": PID"#),
        (r"process \d+", "process PID"),
        (r"(running|stopped) \(\d+\)", "$1 (PID)"),
        (r"(after|for) [\d.]+ (ms|s)\b", "$1 TIME"),
        (r#""(\w+_ms)": \d+"#, r#""$1": MS"#),
    ] {
        settings.add_filter(pattern, instead);
    }
    settings.set_prepend_module_to_snapshot(false);
    settings.bind_to_scope()
}
