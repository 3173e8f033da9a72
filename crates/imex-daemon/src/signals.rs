//! The signals of a daemon.

use std::io;
use std::time::Duration;

use imex_core::Moment;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Leave the domain and end (TERM, INT, QUIT).
    Leave(&'static str),
    /// Write the verbose buffer to its file (HUP).
    FlushVerbose,
    /// Resolve names anew and dial everybody again (USR1).
    Redial,
}

/// How many wishes may wait for the driver loop. Beyond it signals wait where they came in, equal ones as one.
const WISHES: usize = 8;

/// The signals that this process listens to. One per process.
#[derive(Debug)]
struct Signals {
    term: Signal,
    int: Signal,
    quit: Signal,
    hup: Signal,
    usr1: Signal,
}

/// Begins to listen, in a task of its own: five signals need not be looked at each time that a message comes. Until then
/// signals have the system's meaning, which for most is the end of the process.
pub(crate) fn listen() -> io::Result<mpsc::Receiver<Wish>> {
    let mut signals = Signals::listen()?;
    let (grant, wishes) = mpsc::channel(WISHES);
    tokio::spawn(async move { while grant.send(signals.next().await).await.is_ok() {} });
    Ok(wishes)
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Signals {
            term: signal(SignalKind::terminate())?,
            int: signal(SignalKind::interrupt())?,
            quit: signal(SignalKind::quit())?,
            hup: signal(SignalKind::hangup())?,
            usr1: signal(SignalKind::user_defined1())?,
        })
    }

    /// The next wish. Equal signals in quick succession may come as one.
    async fn next(&mut self) -> Wish {
        tokio::select! {
            _ = self.term.recv() => Wish::Leave("TERM"),
            _ = self.int.recv() => Wish::Leave("INT"),
            _ = self.quit.recv() => Wish::Leave("QUIT"),
            _ = self.hup.recv() => Wish::FlushVerbose,
            _ = self.usr1.recv() => Wish::Redial,
        }
    }
}

/// Lets something happen at most once per interval; what is asked for in between happens once, at the interval's end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Throttle {
    interval: Duration,
    not_before: Moment,
    asked: bool,
}

/// The least time between two re-dials, as in the original: a loop that sends USR1 must not keep links from coming up.
pub(crate) const REDIAL_INTERVAL: Duration = Duration::from_secs(5);

impl Throttle {
    /// A throttle that lets the first one through at once.
    pub(crate) fn new(interval: Duration) -> Self {
        Throttle { interval, not_before: Moment::ZERO, asked: false }
    }

    /// Asks for it.
    pub(crate) fn ask(&mut self) {
        self.asked = true;
    }

    /// When to come back for [`Throttle::take`], if it was asked for.
    pub(crate) fn due(&self) -> Option<Moment> {
        self.asked.then_some(self.not_before)
    }

    /// Whether it is to happen now; then the interval begins anew.
    pub(crate) fn take(&mut self, now: Moment) -> bool {
        let due = self.due().is_some_and(|due| due <= now);
        if due {
            self.asked = false;
            self.not_before = now + self.interval;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_wish_is_granted_at_once_and_later_ones_as_one_at_the_end_of_the_interval() {
        let mut throttle = Throttle::new(REDIAL_INTERVAL);
        assert!(!throttle.take(at(100)));
        throttle.ask();
        assert!(throttle.take(at(100)));
        (0..10).for_each(|_| throttle.ask());
        assert!(!throttle.take(at(104)));
        assert_eq!(throttle.due(), Some(at(105)));
        assert!(throttle.take(at(105)));
        assert!(!throttle.take(at(200)));
        assert_eq!(throttle.due(), None);
    }

    fn at(seconds: u64) -> Moment {
        Moment::after(Duration::from_secs(seconds))
    }
}
