//! `-s`: a daemon's state at each change.

use std::time::Duration;

use imex_core::NodeState;
use imex_wire::{ClientError, NodeStatus, Watch};

use super::connect;
use crate::Sources;

/// A daemon's state as it changes.
#[derive(Debug)]
pub struct StateChanges {
    changes: Watch<NodeStatus>,
    last: NodeState,
}

impl StateChanges {
    /// Subscribes at the daemon, and waits for its state now.
    ///
    /// # Errors
    ///
    /// The state does not come within `deadline`.
    pub async fn subscribe(sources: &Sources, deadline: Duration) -> Result<(NodeState, Self), ClientError> {
        let mut changes = connect(sources, deadline).await?.watch_node().await?;
        let Some(first) = changes.next().await? else {
            let endpoint = sources.daemon[0].clone();
            return Err(ClientError::Broken { endpoint });
        };
        let last = first.state;
        Ok((last, StateChanges { changes, last }))
    }

    /// The next state that differs from the one before. `None` when the daemon has ended, in whatever way.
    ///
    /// # Errors
    ///
    /// What comes makes no sense.
    pub async fn next(&mut self) -> Result<Option<NodeState>, ClientError> {
        loop {
            match self.changes.next().await {
                Ok(Some(status)) if status.state == self.last => {}
                Ok(Some(status)) => {
                    self.last = status.state;
                    return Ok(Some(self.last));
                }
                // A daemon that was killed says no farewell.
                Ok(None) | Err(ClientError::Broken { .. }) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }
}
