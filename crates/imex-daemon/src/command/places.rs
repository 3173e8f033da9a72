//! The places of one listener's clients, and who has to leave for a newcomer.

use std::sync::Arc;
use std::time::Duration;

use imex_wire::{Activity, Standing};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::sleep_until;

use super::{CONNECTIONS, Desk};
use imex_config::chain;

/// How long a client keeps its place for certain after it connected or completed a call. A whole table takes the
/// daemon a few milliseconds; a tool that waits for a place gives up after a second.
const SECURE: Duration = Duration::from_millis(250);

/// The clients that one listener serves, at most [`CONNECTIONS`].
///
/// When every place is held, a newcomer gets the place of the client that has gone longest without completing a call,
/// and only if all of them watch something, of the one that watches longest.
#[derive(Debug, Default)]
pub(super) struct Places {
    held: Vec<Place>,
    left: Arc<Notify>,
}

#[derive(Debug)]
struct Place {
    activity: Arc<Activity>,
    client: AbortHandle,
}

impl Places {
    /// Serves a newcomer as soon as there is a place, which takes at most about [`SECURE`].
    ///
    /// `connecting` makes the connection secure, where that is asked for; it holds the place meanwhile, like any client
    /// that has completed no call, and gives `None` if it comes to nothing.
    pub(super) async fn serve<S: imex_wire::Io>(
        &mut self,
        connecting: impl Future<Output = Option<S>> + Send + 'static,
        desk: &Arc<Desk>,
    ) {
        self.make_room().await;
        let activity = Arc::new(Activity::new());
        let (desk, known) = (Arc::clone(desk), Arc::clone(&activity));
        let left = Arc::clone(&self.left);
        let client = tokio::spawn(async move {
            if let Some(stream) = connecting.await
                && let Err(error) = imex_wire::serve_known(stream, desk, known).await
            {
                tracing::debug!(error = %chain(&error), "A command connection ended early");
            }
            left.notify_one();
        });
        self.held.push(Place { activity, client: client.abort_handle() });
    }

    async fn make_room(&mut self) {
        loop {
            self.held.retain(|place| !place.client.is_finished());
            if self.held.len() < CONNECTIONS {
                return;
            }
            let Some((weakest, standing)) = self.weakest() else { return };
            tokio::select! {
                biased;
                () = self.left.notified() => {}
                () = sleep_until(standing.progress + SECURE) => {
                    // Unless it has made progress meanwhile.
                    if self.held[weakest].activity.standing() == standing {
                        tracing::debug!("A command connection ended early: another client needed its place");
                        self.held.swap_remove(weakest).client.abort();
                    }
                }
            }
        }
    }

    fn weakest(&self) -> Option<(usize, Standing)> {
        let standings = self.held.iter().map(|place| place.activity.standing());
        standings.enumerate().min_by_key(|(_, standing)| *standing)
    }
}
