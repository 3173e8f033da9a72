//! `-s`: a daemon's state at each change.

use imex_core::NodeState;
use imex_wire::{ClientError, NodeStatus, Watch};

use super::{DEADLINE, connect};
use crate::Sources;

/// A daemon's state as it changes.
#[derive(Debug)]
pub struct StateChanges {
    changes: Watch<NodeStatus>,
    last: Option<NodeState>,
}

impl StateChanges {
    /// Subscribes at the daemon.
    ///
    /// # Errors
    ///
    /// It does not answer within [`DEADLINE`].
    pub async fn subscribe(sources: &Sources) -> Result<Self, ClientError> {
        let mut client = connect(sources, DEADLINE).await?;
        let changes = client.watch_node().await?;
        Ok(StateChanges { changes, last: None })
    }

    /// The next state that differs from the one before; the first at once. `None` when the daemon has ended, in
    /// whatever way.
    ///
    /// # Errors
    ///
    /// The first state does not come in time, or what comes makes no sense.
    pub async fn next(&mut self) -> Result<Option<NodeState>, ClientError> {
        loop {
            match self.changes.next().await {
                Ok(Some(status)) if self.last == Some(status.state) => {}
                Ok(Some(status)) => {
                    self.last = Some(status.state);
                    return Ok(self.last);
                }
                // A daemon that was killed says no farewell.
                Err(ClientError::Broken { .. }) if self.last.is_some() => return Ok(None),
                Ok(None) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}
