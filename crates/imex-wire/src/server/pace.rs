//! Telling those who watch a domain: what it is at once, mere counts now and then.
//!
//! While a domain of n nodes forms, each node's counts change n times; n watchers of n nodes told of each would cost
//! more than forming the domain.

use std::time::Duration;

use imex_core::DomainSummary;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;

/// The least time between two summaries that differ only in their counts: often enough for a person who watches.
const COUNTS_GAP: Duration = Duration::from_millis(100);

/// The summaries for one watcher. Its task ends with the watcher or the daemon.
pub(super) fn summaries(changes: watch::Receiver<DomainSummary>) -> ReceiverStream<DomainSummary> {
    let (out, summaries) = mpsc::channel(1);
    tokio::spawn(tell(changes, out));
    ReceiverStream::new(summaries)
}

async fn tell(mut changes: watch::Receiver<DomainSummary>, out: mpsc::Sender<DomainSummary>) {
    loop {
        let told = *changes.borrow_and_update();
        if out.send(told).await.is_err() {
            return;
        }
        let news = tokio::select! {
            news = next(&mut changes, told) => news,
            () = out.closed() => return,
        };
        let newest = *changes.borrow();
        match news {
            News::More => {}
            News::Over => {
                // The daemon's last word may have come within the gap.
                if newest != told {
                    _ = out.send(newest).await;
                }
                return;
            }
        }
    }
}

/// What comes after a summary.
enum News {
    /// Another one that is to be told.
    More,
    /// The end.
    Over,
}

async fn next(changes: &mut watch::Receiver<DomainSummary>, told: DomainSummary) -> News {
    let decisive = timeout(COUNTS_GAP, changes.wait_for(|now| now.state != told.state)).await;
    let came = match decisive.map(|came| came.map(drop)) {
        Ok(came) => came,
        Err(_) => changes.wait_for(|now| *now != told).await.map(drop),
    };
    if came.is_ok() { News::More } else { News::Over }
}

#[cfg(test)]
mod tests {
    use imex_core::DomainState;
    use tokio::time::Instant;
    use tokio_stream::StreamExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn mere_counts_are_held_back_and_only_the_newest_is_told() {
        let (show, changes) = watch::channel(summary(DomainState::Degraded, 1));
        let mut told = summaries(changes);
        assert_eq!(told.next().await, Some(summary(DomainState::Degraded, 1)));
        let begun = Instant::now();
        for complete in 2..10 {
            show.send_replace(summary(DomainState::Degraded, complete));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(told.next().await, Some(summary(DomainState::Degraded, 9)));
        assert!(begun.elapsed() >= COUNTS_GAP, "{:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_state_is_told_at_once() {
        let (show, changes) = watch::channel(summary(DomainState::Degraded, 17));
        let mut told = summaries(changes);
        told.next().await;
        let begun = Instant::now();
        show.send_replace(summary(DomainState::Up, 18));
        assert_eq!(told.next().await, Some(summary(DomainState::Up, 18)));
        assert!(begun.elapsed() < COUNTS_GAP, "{:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_word_is_told_though_it_falls_into_the_gap() {
        let (show, changes) = watch::channel(summary(DomainState::Degraded, 17));
        let mut told = summaries(changes);
        told.next().await;
        show.send_replace(summary(DomainState::Degraded, 16));
        drop(show);
        assert_eq!(told.next().await, Some(summary(DomainState::Degraded, 16)));
        assert_eq!(told.next().await, None);
    }

    fn summary(state: DomainState, complete: usize) -> DomainSummary {
        DomainSummary { state, nodes: 18, ready: 18, complete }
    }
}
