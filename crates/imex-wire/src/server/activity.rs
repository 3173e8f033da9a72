//! Whether a client makes progress.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// What one connection's client is doing.
#[derive(Debug)]
pub(super) struct Activity(Mutex<State>);

#[derive(Debug)]
struct State {
    watches: usize,
    /// When the last call was completed; at first, when the connection was made.
    progress: Instant,
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
    pub(super) fn new() -> Self {
        Activity(Mutex::new(State { watches: 0, progress: Instant::now() }))
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
