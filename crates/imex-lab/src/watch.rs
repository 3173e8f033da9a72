//! Waiting for a domain, as one daemon sees it: told by the daemon, not asked again and again.

use std::ops::ControlFlow;
use std::time::Duration;

use imex_core::DomainSummary;
use imex_wire::{ClientError, CommandClient, DomainStatus, Endpoint};
use thiserror::Error;
use tokio::time::{Instant, sleep, timeout_at};

use crate::clock::now;

/// The shortest and the longest wait between two tries to connect to a daemon that is not there yet. A daemon serves its
/// socket some milliseconds after its start; the longest adds no more than people notice and costs next to nothing.
const RETRY: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(100));

/// The wait between two tries is this part of what was waited for so far: whoever waits for a daemon that is slow to start
/// waits longer by a few hundredths, and few tries are made in vain.
const PART: u32 = 16;

/// How long one try to connect and to hear the first summary may take. A daemon answers within milliseconds; one that
/// does not may be stopped, and the next try may meet another.
const TRY: Duration = Duration::from_secs(3);

/// How long a whole table may take: a daemon gives its peers one second for their rows.
const TABLE: Duration = Duration::from_secs(3);

/// Why a state was not reached.
#[derive(Debug, Error)]
pub enum WatchError {
    /// The time was over.
    #[error("the domain was not as hoped for within {} ms", after.as_millis())]
    Overdue {
        /// How long was waited.
        after: Duration,
        /// What the daemon said last; `None` if it never answered.
        last: Option<DomainSummary>,
        /// Why the last try to ask it failed, if it did.
        source: Option<ClientError>,
    },
    /// The daemon cannot be asked, and waiting does not change that.
    #[error("the daemon cannot be asked")]
    Ask(#[source] ClientError),
}

/// Watches the domain that the daemon at `endpoint` sees until `judge` breaks. A daemon that is not there yet, or
/// ends meanwhile, is tried again until `deadline` has passed.
pub async fn watch_until<B>(
    endpoint: &Endpoint,
    deadline: Duration,
    mut judge: impl FnMut(DomainSummary) -> ControlFlow<B>,
) -> Result<B, WatchError> {
    let end = now() + deadline;
    let mut last = None;
    let mut failure = None;
    let attempts = async {
        let mut since = now();
        loop {
            let mut connected = false;
            let heard = follow(endpoint, end, |summary| {
                connected = true;
                last = Some(summary);
                judge(summary)
            });
            match heard.await {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => {}
                Err(error) if is_final(&error) => return Err(error),
                Err(error) => failure = Some(error),
            }
            if connected {
                since = now();
            }
            sleep(pause(now().saturating_duration_since(since))).await;
        }
    };
    match timeout_at(end, attempts).await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => Err(WatchError::Ask(error)),
        Err(_) => Err(WatchError::Overdue { after: deadline, last, source: failure }),
    }
}

/// The whole domain as the daemon at `endpoint` knows it.
pub async fn ask_domain(endpoint: &Endpoint) -> Result<DomainStatus, ClientError> {
    CommandClient::connect(endpoint, TABLE).await?.get_domain().await
}

/// One connection's worth of summaries. `Ok(None)` when the daemon ends.
async fn follow<B>(
    endpoint: &Endpoint,
    end: Instant,
    mut judge: impl FnMut(DomainSummary) -> ControlFlow<B>,
) -> Result<Option<B>, ClientError> {
    let left = end.saturating_duration_since(now());
    let mut client = CommandClient::connect(endpoint, TRY.min(left)).await?;
    let mut watch = client.watch_domain().await?;
    while let Some(summary) = watch.next().await? {
        if let ControlFlow::Break(found) = judge(summary) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// How long to wait before the next try, `waited` after the first one.
fn pause(waited: Duration) -> Duration {
    (waited / PART).clamp(RETRY.0, RETRY.1)
}

/// Whether trying again is pointless.
fn is_final(error: &ClientError) -> bool {
    match error {
        ClientError::NotPermitted { .. }
        | ClientError::NoCredentials { .. }
        | ClientError::Untrusted { .. }
        | ClientError::Protocol { .. } => true,
        ClientError::NoSocket { .. }
        | ClientError::Refused { .. }
        | ClientError::Unreachable { .. }
        | ClientError::Deadline { .. }
        | ClientError::Declined { .. }
        | ClientError::Broken { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_that_starts_slowly_is_noticed_soon_and_one_that_does_not_start_costs_little() {
        let after = |waited| pause(Duration::from_millis(waited)).as_micros();
        assert_eq!(
            [0, 32, 160, 320, 1_600, 60_000].map(after),
            [2_000, 2_000, 10_000, 20_000, 100_000, 100_000]
        );
    }
}
