//! `-q`: a daemon's state, once.

use imex_core::NodeState;
use imex_wire::ClientError;

use super::{DEADLINE, connect};
use crate::Sources;

/// Asks the daemon for its own state. Says nothing of its peers: a node can be READY alone.
///
/// # Errors
///
/// The daemon does not answer within [`DEADLINE`].
pub async fn state(sources: &Sources) -> Result<NodeState, ClientError> {
    let mut client = connect(sources, DEADLINE).await?;
    Ok(client.get_node().await?.state)
}
