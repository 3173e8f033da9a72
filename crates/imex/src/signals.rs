//! The signals of commands that run until they are told to end.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::Exit;
use crate::failure::Failure;

/// The signals that such a command takes, from when this is made on.
#[derive(Debug)]
pub(crate) struct Signals {
    hangup: Signal,
    terminate: Signal,
    interrupt: Signal,
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// To look at once instead of when it is due (SIGHUP).
    Look,
    /// To end (SIGTERM, SIGINT).
    End,
}

impl Signals {
    /// Takes them.
    pub(crate) fn take() -> Result<Self, Failure> {
        let take = |kind| {
            signal(kind)
                .map_err(|error| Failure::because(Exit::Failed, format!("no signals can be had: {error}")))
        };
        Ok(Signals {
            hangup: take(SignalKind::hangup())?,
            terminate: take(SignalKind::terminate())?,
            interrupt: take(SignalKind::interrupt())?,
        })
    }

    /// The next one. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Asked {
        tokio::select! {
            _ = self.hangup.recv() => Asked::Look,
            _ = self.terminate.recv() => Asked::End,
            _ = self.interrupt.recv() => Asked::End,
        }
    }
}
