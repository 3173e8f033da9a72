//! Whether a client makes progress.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// What one connection's client is doing.
#[derive(Debug)]
pub struct Activity(Mutex<State>);

#[derive(Debug)]
struct State {
    watches: usize,
    /// When the last call was completed; at first, when the connection was made.
    progress: Instant,
}

/// What a client's claim to its place is: the least has the weakest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Standing {
    /// Whether it watches something, for which it rightly stays.
    pub watching: bool,
    /// When it last completed a call; at first, when the connection was made.
    pub progress: Instant,
}

/// How long a call may last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Until its answer is taken.
    Answer,
    /// For as long as the client likes.
    Watch,
}

/// A call under way; it is over when this is dropped.
#[derive(Debug)]
pub(super) struct Call {
    activity: Arc<Activity>,
    kind: Kind,
}

impl Activity {
    /// A client that has just connected.
    #[expect(clippy::new_without_default, reason = "it reads the clock")]
    pub fn new() -> Self {
        Activity(Mutex::new(State { watches: 0, progress: Instant::now() }))
    }

    /// The client's claim to its place now.
    pub fn standing(&self) -> Standing {
        let state = self.lock();
        Standing { watching: state.watches > 0, progress: state.progress }
    }

    /// Notes that a call has begun.
    pub(super) fn begin(activity: &Arc<Self>, kind: Kind) -> Call {
        if kind == Kind::Watch {
            activity.lock().watches += 1;
        }
        let activity = Arc::clone(activity);
        Call { activity, kind }
    }

    /// Waits until nothing is being watched and no call has been completed for this long.
    pub(super) async fn stalled(&self, patience: Duration) {
        loop {
            let due = {
                let state = self.lock();
                match state.watches {
                    0 => state.progress + patience,
                    _ => Instant::now() + patience,
                }
            };
            if due <= Instant::now() {
                return;
            }
            sleep_until(due).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no holder of the lock panics")
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut state = self.activity.lock();
        if self.kind == Kind::Watch {
            state.watches -= 1;
        }
        state.progress = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);
    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test(start_paused = true)]
    async fn a_call_whose_answer_is_not_taken_does_not_hold_the_connection() {
        let activity = Arc::new(Activity::new());
        let begun = Instant::now();
        let _call = Activity::begin(&activity, Kind::Answer);
        activity.stalled(PATIENCE).await;
        assert!(begun.elapsed() < PATIENCE * 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_holds_the_connection_until_it_ends() {
        let activity = Arc::new(Activity::new());
        let watch = Activity::begin(&activity, Kind::Watch);
        assert!(timeout(LONG, activity.stalled(PATIENCE)).await.is_err());
        drop(watch);
        assert!(timeout(LONG, activity.stalled(PATIENCE)).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn each_completed_call_gives_the_client_new_time() {
        let activity = Arc::new(Activity::new());
        for _ in 0..5 {
            assert!(timeout(PATIENCE * 9 / 10, activity.stalled(PATIENCE)).await.is_err());
            drop(Activity::begin(&activity, Kind::Answer));
        }
        assert!(timeout(LONG, activity.stalled(PATIENCE)).await.is_ok());
    }
}
