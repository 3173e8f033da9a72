//! A real munged for a lab: with its own key and socket, apart from the machine's.
//!
//! It needs Debian's munge; where it is missing, [`MungedError::Missing`] says so.

use std::fs;
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use thiserror::Error;

/// How long munged may take to answer after its start. It gathers entropy first.
const START_DEADLINE: Duration = Duration::from_secs(5);

/// How often it is asked whether it answers.
const START_POLL: Duration = Duration::from_millis(5);

/// Where packages put it.
const PROGRAM: &str = "/usr/sbin/munged";

/// A munged of one's own. Dropping it ends it; the folder is the caller's.
#[derive(Debug)]
pub struct Munged {
    folder: PathBuf,
    origin: Option<Ipv4Addr>,
    process: Option<Child>,
}

/// Why there is no munged.
#[derive(Debug, Error)]
pub enum MungedError {
    /// It is not installed.
    #[error("{PROGRAM} is not installed (Debian: munge)")]
    Missing,
    /// A file or the process failed.
    #[error("{what}")]
    System {
        /// What was to be done.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// It does not answer.
    #[error("munged did not answer within {START_DEADLINE:?}")]
    Silent,
}

impl Munged {
    /// Makes a key from a text in an existing empty folder. munged is not started.
    ///
    /// The folder may be anywhere, so munged is told not to mind who owns the folders above it; other users must be able
    /// to reach the socket.
    pub fn create(folder: &Path, key: &str) -> Result<Self, MungedError> {
        if !Path::new(PROGRAM).is_file() {
            return Err(MungedError::Missing);
        }
        let munged = Munged { folder: folder.to_owned(), origin: None, process: None };
        // The shortest key that munged takes has 32 bytes.
        fs::write(munged.key(), format!("{key:.<64}")).map_err(system("write the key"))?;
        fs::set_permissions(munged.key(), fs::Permissions::from_mode(0o600))
            .map_err(system("keep the key"))?;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).map_err(system("open the folder"))?;
        Ok(munged)
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("munged.sock")
    }

    /// What it is to call this machine's address from its next start on; otherwise it is that of the host's name.
    pub fn set_origin(&mut self, address: Ipv4Addr) {
        self.origin = Some(address);
    }

    /// Starts it and waits until it answers.
    pub fn start(&mut self) -> Result<(), MungedError> {
        let file = |option: &str, name: &str| format!("{option}={}", self.folder.join(name).display());
        let process = Command::new("setpriv")
            // Ends with the thread that started it, whatever ends that.
            .args(["--pdeathsig", "KILL", PROGRAM, "--foreground", "--force"])
            .arg(file("--socket", "munged.sock"))
            .arg(file("--key-file", "munge.key"))
            .arg(file("--pid-file", "munged.pid"))
            .arg(file("--seed-file", "munged.seed"))
            .arg(file("--log-file", "munged.log"))
            .args(self.origin.map(|address| format!("--origin={address}")))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.process = Some(process.map_err(system("start munged"))?);
        for _ in 0..START_DEADLINE.as_millis() / START_POLL.as_millis() {
            if UnixStream::connect(self.socket()).is_ok() {
                return Ok(());
            }
            thread::sleep(START_POLL);
        }
        Err(MungedError::Silent)
    }

    /// Its process, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Child::id)
    }

    /// Ends it; it may be started again.
    pub fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            // Fails only if it has ended already.
            drop(process.kill());
            drop(process.wait());
        }
    }

    fn key(&self) -> PathBuf {
        self.folder.join("munge.key")
    }
}

impl Drop for Munged {
    fn drop(&mut self) {
        self.stop();
    }
}

fn system(what: &'static str) -> impl FnOnce(io::Error) -> MungedError {
    move |source| MungedError::System { what, source }
}
