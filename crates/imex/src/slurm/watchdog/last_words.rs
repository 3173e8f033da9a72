//! What a watchdog says, and how it ends the process: whatever hangs must not keep it from that either.

use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use imex_slurm::joblog::Level;
use imex_slurm::outcome::Ending;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{End, Shared, TELLING, Teller, Watched};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::slurm::account::{Account, Outcome};

/// How long the process may take to end once all is said. Libraries have a say in that, and one may wait for what hangs.
const LAST: Duration = Duration::from_secs(1);

/// The most bytes of the line on standard error: a pipe that takes anything takes so many without a wait (POSIX's PIPE_BUF is
/// 512 at least, Linux's 4096).
const LINE: usize = 4096;

impl End {
    /// How long writing the record may take. The folder may be what hangs.
    const fn patience(self) -> Duration {
        match self {
            End::Terminated => Duration::from_millis(3),
            End::Overdue => Duration::from_secs(1),
        }
    }
}

/// Says what the script cannot say any more, and ends the process.
#[expect(clippy::exit, reason = "the thread that would return from `main` is the one that hangs")]
pub(super) fn say(shared: &Arc<Shared>, end: End) -> ! {
    let is_ours = shared.is_told_by(Teller::Watchdog);
    let patience = if is_ours { end.patience() } else { TELLING };
    let _ = thread::Builder::new().spawn(move || be_killed(patience + LAST));
    match is_ours {
        true => tell(shared, end),
        // The script's own words are on their way; a second record would count the run twice.
        false => thread::sleep(patience),
    }
    std::process::exit(Exit::Terminated.code().into())
}

/// Ends the process where its own end does not come: exit handlers of libraries run on the way.
fn be_killed(after: Duration) {
    thread::sleep(after);
    // It cannot fail for one's own process, and does not return.
    let _ = kill(Pid::this(), Signal::SIGKILL);
}

fn tell(shared: &Arc<Shared>, end: End) {
    // One that waits is over its time, and has not hung.
    let hung = end == End::Terminated || !shared.waits();
    let message = message(shared, end, hung);
    let mut line = Vec::new();
    // Nobody can be told of a failure here.
    let _ = Failure::because(Exit::Terminated, &message).write(&mut line);
    let (done, written) = mpsc::sync_channel(1);
    let theirs = Arc::clone(shared);
    let keep = move || {
        keep(&theirs, &message, hung);
        let _ = done.send(());
    };
    let keeps = thread::Builder::new().spawn(keep).is_ok();
    to_standard_error(&line);
    if keeps {
        let _ = written.recv_timeout(end.patience());
    }
}

/// In one piece, past the lock of standard error, which whatever hangs may hold, and only if it does not have to wait for room.
fn to_standard_error(line: &[u8]) {
    let stderr = io::stderr();
    let mut ready = [PollFd::new(stderr.as_fd(), PollFlags::POLLOUT)];
    let has_room = poll(&mut ready, PollTimeout::ZERO).is_ok()
        && ready[0].revents().is_some_and(|now| now.contains(PollFlags::POLLOUT));
    if has_room {
        let _ = nix::unistd::write(&stderr, &line[..line.len().min(LINE)]);
    }
}

fn message(shared: &Shared, end: End, hung: bool) -> String {
    let (watched, spent, kind) = (shared.watched(), shared.spent_ms(), shared.kind.word());
    let Watched { doing, budget, .. } = &*watched;
    match (end, hung) {
        (End::Terminated, _) => {
            format!("the {kind} was told to end after {spent} ms and hung: {doing} did not come back")
        }
        (End::Overdue, true) => format!(
            "the {kind} was over its budget of {} ms and hung: {doing} did not come back, as from a file system that is dead",
            budget.as_millis()
        ),
        (End::Overdue, false) => {
            format!("the {kind} was over its budget of {} ms: {doing} was not over", budget.as_millis())
        }
    }
}

fn keep(shared: &Shared, message: &str, hung: bool) {
    let (files, subject) = {
        let watched = shared.watched();
        (watched.files.clone(), watched.subject.clone())
    };
    let account = Account { kind: shared.kind, clock: shared.clock, files: &files, subject };
    let mut record = account.record();
    if hung {
        record.note("hung", &true);
    }
    let ending = Ending::Terminated.word();
    account.keep(&record, &Outcome { ending, exit: Exit::Terminated, message });
    account.log().line(shared.clock.wall(), Level::Error, message);
}
