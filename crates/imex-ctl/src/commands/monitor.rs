//! `-n`: the whole domain, now and whenever it changes.

use std::time::Duration;

use imex_core::{DomainSummary, DomainTable};
use imex_wire::{ClientError, Watch};
use tokio::time::{sleep, timeout};

use super::connect;
use super::domain::domain;
use crate::report::Since;
use crate::{DomainReport, Sources};

/// How often the domain is looked at although nobody tells of a change: not every cell that changes changes the
/// domain's summary, and a daemon that is gone tells nothing. As often as a person looks.
const POLL: Duration = Duration::from_secs(1);

/// How long changes are gathered before the domain is looked at again: while a rack starts, each node's step is a
/// change, and each look costs the daemon a whole table.
const GATHER: Duration = Duration::from_millis(50);

/// How long subscribing takes at most. A daemon that takes longer is polled.
const SUBSCRIBING: Duration = Duration::from_millis(250);

/// The domain as it changes.
#[derive(Debug)]
pub struct Monitor {
    sources: Sources,
    before: Option<DomainTable>,
    shown: Option<DomainTable>,
    changes: Option<Watch<DomainSummary>>,
}

impl Monitor {
    /// Nothing is asked yet.
    pub fn new(sources: Sources) -> Self {
        Monitor { sources, before: None, shown: None, changes: None }
    }

    /// The next report that differs from the one before in what it shows; the first at once.
    ///
    /// # Errors
    ///
    /// The daemon does not answer, and nothing is known of the domain without it.
    pub async fn next(&mut self) -> Result<DomainReport, ClientError> {
        loop {
            if self.shown.is_some() {
                self.something_happens().await;
            }
            // Before the look, so that no change falls between the two.
            self.subscribe().await;
            let report = domain(&self.sources).await?;
            let since = self.shown.as_ref().map_or(Since::FIRST, Since::report);
            if since.any_change(&report.table) {
                self.before = self.shown.replace(report.table.clone());
                return Ok(report);
            }
        }
    }

    /// What the newest report is compared with.
    pub fn since(&self) -> Since<'_> {
        self.before.as_ref().map_or(Since::FIRST, Since::report)
    }

    /// Waits until the daemon tells of a change or ends, or it is time to look again.
    async fn something_happens(&mut self) {
        let Some(changes) = &mut self.changes else {
            return sleep(POLL).await;
        };
        match timeout(POLL, changes.next()).await {
            Ok(Ok(Some(_))) => sleep(GATHER).await,
            Ok(Ok(None) | Err(_)) => self.changes = None,
            Err(_no_change) => {}
        }
    }

    /// Subscribes to changes if that is not done; the state now, which comes first, is no change.
    async fn subscribe(&mut self) {
        if self.changes.is_none() {
            let subscribing = async {
                let mut changes = connect(&self.sources, SUBSCRIBING).await?.watch_domain().await?;
                changes.next().await?;
                Ok::<_, ClientError>(changes)
            };
            self.changes = subscribing.await.ok();
        }
    }
}
