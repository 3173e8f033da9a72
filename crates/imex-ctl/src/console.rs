//! The program's two outputs.

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tokio::time::sleep;

/// How often a command that may run for ever looks whether its reader is still there.
const READER_CHECK: Duration = Duration::from_secs(1);

/// What follows on what is already on the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// It goes below.
    Below,
    /// It takes the place of everything if a person watches; else it goes below.
    Fresh,
}

/// Prints a page to standard output, whole and at once.
pub(crate) fn print(page: Page, text: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if page == Page::Fresh && out.is_terminal() {
        out.write_all(b"\x1b[H\x1b[2J")?;
    }
    out.write_all(text)?;
    out.flush()
}

/// Prints to standard error. If nobody takes it there is nobody to tell.
pub(crate) fn complain(text: &str) {
    let _nobody_to_tell = io::stderr().write_all(text.as_bytes());
}

/// Ends when nobody reads standard output any more: a pipe whose other end is closed.
pub(crate) async fn reader_gone() {
    loop {
        let out = io::stdout();
        let mut state = [PollFd::new(out.as_fd(), PollFlags::empty())];
        let broken = PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL;
        if poll(&mut state, PollTimeout::ZERO).is_ok()
            && state[0].revents().is_some_and(|now| now.intersects(broken))
        {
            return;
        }
        sleep(READER_CHECK).await;
    }
}
