//! One verb a file. Each returns data or a source of it; none prints.

pub mod domain;
pub mod monitor;
pub mod state;
pub mod subscribe;

use std::time::Duration;

use imex_wire::{ClientError, CommandClient};

use crate::Sources;

/// How long a question to one daemon, or a look at a whole domain, takes at most.
///
/// A daemon gives itself one second to collect the rows of its table. Twice that leaves time to ask silent nodes
/// directly, and is well below the time-outs that monitors give a command.
pub const DEADLINE: Duration = Duration::from_secs(2);

/// Connects to the daemon at the first place where somebody listens. The first place's error counts, unless a later
/// one is about security: then somebody is there, or might be.
///
/// A place where somebody listens and does not answer is the last that is tried: the others are the same daemon's.
async fn connect(sources: &Sources, deadline: Duration) -> Result<CommandClient, ClientError> {
    let mut first = None;
    for place in &sources.daemon {
        match sources.credentials.connect(place, sources.entry.as_deref(), deadline).await {
            Ok(client) => return Ok(client),
            Err(error) if nobody_there(&error) => {
                first.get_or_insert(error);
            }
            Err(error) if about_security(&error) => return Err(error),
            Err(error) => return Err(first.unwrap_or(error)),
        }
    }
    Err(first.expect("there is at least one place, and each has given a client or an error"))
}

fn nobody_there(error: &ClientError) -> bool {
    match error {
        ClientError::NoSocket { .. }
        | ClientError::Refused { .. }
        | ClientError::NotPermitted { .. }
        | ClientError::Unreachable { .. } => true,
        ClientError::NoCredentials { .. }
        | ClientError::Untrusted { .. }
        | ClientError::Deadline { .. }
        | ClientError::Declined { .. }
        | ClientError::Broken { .. }
        | ClientError::Protocol { .. } => false,
    }
}

fn about_security(error: &ClientError) -> bool {
    matches!(error, ClientError::NoCredentials { .. } | ClientError::Untrusted { .. })
}
