//! When a context is to be replaced, and how far that has come.

use std::pin::Pin;
use std::time::Duration;

use imex_gssapi::Context;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::error::AuthError;
use crate::kerberos::Pending;
use crate::keys::{Answered, Begun};

/// The least time between two renewals of one stream, so that a lifetime of a second is no busy loop.
const LEAST: Duration = Duration::from_millis(250);

/// An acceptor closes a stream that renews more often than this: each time costs it a ticket to check.
pub(crate) const TOO_OFTEN: Duration = Duration::from_millis(100);

/// How long an acceptor may take for its answer. It reads a key table and computes; what takes longer will not come.
pub(crate) const ANSWER_DEADLINE: Duration = Duration::from_secs(5);

/// The times of one context, from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// When a new one is begun.
    pub(crate) renew: Duration,
    /// When it must not be used any more.
    pub(crate) end: Duration,
}

impl Plan {
    /// A context ends with its ticket or with the configured lifetime, whichever is sooner; `None` if neither ends it.
    /// It is renewed when two thirds have passed: a third is left for a KDC to come back.
    pub(crate) fn new(ticket: Option<Duration>, configured: Option<Duration>) -> Option<Self> {
        /// Tickets are in whole seconds, and less than one is no lifetime to work with.
        const SHORTEST: Duration = Duration::from_secs(1);
        let configured = configured.map(|lifetime| lifetime.max(SHORTEST));
        let end = ticket.into_iter().chain(configured).min()?;
        Some(Plan { renew: (end * 2 / 3).max(LEAST), end })
    }
}

/// How far a renewal has come.
pub(crate) enum Renewal {
    /// Not begun; an initiator begins at this time.
    Idle(Option<Pin<Box<Sleep>>>),
    /// The initiator gets a ticket.
    Beginning(Pending<Result<(Begun, Vec<u8>), AuthError>>),
    /// The initiator waits for the acceptor's answer.
    Asked(Box<Begun>, Pin<Box<Sleep>>),
    /// The initiator checks the answer. What comes meanwhile is in a context that it does not have yet.
    Finishing(Pending<Result<Context, AuthError>>),
    /// The acceptor checks a token.
    Answering(Pending<Answered>),
}

impl Renewal {
    /// Begins after a while.
    pub(crate) fn after(wait: Duration) -> Self {
        Renewal::Idle(Some(alarm(wait)))
    }

    /// Tries again: when the operator wants, or sooner, so that of what is `left` of the context there is time for more.
    pub(crate) fn again(retry_interval: Duration, left: Option<Duration>) -> Self {
        let soon = left.map_or(retry_interval, |left| retry_interval.min(left / 3));
        Renewal::after(soon.max(LEAST))
    }
}

/// An alarm after a while; one too far away for the clock never rings.
pub(crate) fn alarm(wait: Duration) -> Pin<Box<Sleep>> {
    /// Ten years.
    const NEVER: Duration = Duration::from_secs(315_360_000);
    Box::pin(sleep_until(Instant::now() + wait.min(NEVER)))
}

impl std::fmt::Debug for Renewal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Renewal::Idle(_) => "Idle",
            Renewal::Beginning(_) => "Beginning",
            Renewal::Asked(..) => "Asked",
            Renewal::Finishing(_) => "Finishing",
            Renewal::Answering(_) => "Answering",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_ends_with_the_sooner_of_ticket_and_configured_lifetime() {
        let seconds = |n| Some(Duration::from_secs(n));
        let cases = [
            (None, None, None),
            (seconds(36_000), None, Some((24_000_000, 36_000_000))),
            (None, seconds(60), Some((40_000, 60_000))),
            (seconds(36_000), seconds(60), Some((40_000, 60_000))),
            (seconds(30), seconds(60), Some((20_000, 30_000))),
            // A lifetime of nothing is one of a second.
            (None, seconds(0), Some((666, 1000))),
            // A ticket that is about to end is not renewed in a busy loop.
            (seconds(0), None, Some((250, 0))),
        ];
        for (ticket, configured, expected) in cases {
            let plan =
                Plan::new(ticket, configured).map(|plan| (plan.renew.as_millis(), plan.end.as_millis()));
            assert_eq!(plan, expected, "{ticket:?} {configured:?}");
        }
    }
}
