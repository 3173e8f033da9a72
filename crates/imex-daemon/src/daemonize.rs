//! Running in the background (`DAEMONIZE=1`), without `fork`: the program starts itself again.
//!
//! The first process waits until the second has taken its ports, or has said why it cannot, and ends with its verdict. The
//! second reports by one line on its standard output, which is a pipe to the first.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout, setsid};

use crate::exit::Exit;
use crate::failure::{StartError, system};

/// How long the second process may take to its report: host names in the map are looked up first, and a resolver gives
/// up after a multiple of five seconds.
const START_DEADLINE: Duration = Duration::from_secs(60);

/// What the second process writes when it runs.
const RUNNING: &[u8] = b"running\n";

/// The option that makes a process the second one.
const CHILD_OPTION: &str = "--daemon-child";

/// Starts this program again in the background and waits until it runs. `line` is this process's command line.
pub(crate) fn start_in_background(line: &[OsString]) -> Result<(), StartError> {
    let (name, options) = line.split_first().map_or((None, line), |(name, options)| (Some(name), options));
    let program = std::env::current_exe().map_err(system("find this program's own file"))?;
    let mut command = Command::new(program);
    if let Some(name) = name {
        command.arg0(name);
    }
    command.args(options).arg(CHILD_OPTION).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(system("start this program in the background"))?;
    match await_report(&mut child) {
        Some(report) if report == RUNNING => Ok(()),
        Some(_) => Err(StartError::ChildEnded(end_of(&mut child))),
        None => {
            // It may have ended by itself in this moment; then there is nothing to kill.
            let _ = child.kill();
            let _ = child.wait();
            Err(StartError::ChildSilent { seconds: START_DEADLINE.as_secs() })
        }
    }
}

/// What the child wrote before it closed the pipe or a line was complete; `None` if it took too long.
fn await_report(child: &mut Child) -> Option<Vec<u8>> {
    let mut pipe = child.stdout.take()?;
    let (done, report) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = vec![0; RUNNING.len()];
        let mut filled = 0;
        while let Ok(n @ 1..) = pipe.read(&mut text[filled..]) {
            filled += n;
        }
        text.truncate(filled);
        // Nobody listens any more if it took too long.
        let _ = done.send(text);
    });
    report.recv_timeout(START_DEADLINE).ok()
}

fn end_of(child: &mut Child) -> Exit {
    let code = child.wait().ok().and_then(|status| status.code());
    code.and_then(Exit::from_code).filter(|exit| *exit != Exit::Success).unwrap_or(Exit::Failure)
}

/// In the second process, first of all: leaves the terminal's session.
pub(crate) fn leave_session() -> Result<(), StartError> {
    setsid().map_err(|errno| system("begin a session of its own")(errno.into()))?;
    Ok(())
}

/// In the second process, when it runs: reports, and lets go of what it inherited. Standard error stays open if the log
/// goes there.
pub(crate) fn report_running(stderr: StandardError) -> io::Result<()> {
    io::stdout().write_all(RUNNING)?;
    io::stdout().flush()?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    match stderr {
        StandardError::HoldsTheLog => {}
        StandardError::Unused => dup2_stderr(&null)?,
    }
    Ok(())
}

/// What standard error is to a daemon in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StandardError {
    /// Where its records go.
    HoldsTheLog,
    /// Nothing.
    Unused,
}
