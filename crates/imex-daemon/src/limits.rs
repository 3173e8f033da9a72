//! How many descriptors this process may have, and how many a node map needs.

use std::io;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use thiserror::Error;

use crate::command;
use crate::peer::accept::SPARE_CONNECTIONS;

/// Standard streams, files, listeners, signals, the runtime's own, and the resolver's.
const OWN: u64 = 24;

/// Connections that do not depend on the map: to the peers' door beyond one per node, and to both command listeners,
/// where besides those that are served one may wait for a place.
const CONNECTIONS: u64 = (SPARE_CONNECTIONS + 2 * (command::CONNECTIONS + 1)) as u64;

/// Streams per node of the map: the one this daemon dials and the one it accepts; and while a domain is dialled anew,
/// the next of each beside them.
const PER_NODE: u64 = 4;

/// The descriptors that a daemon needs for a map of `nodes` nodes.
pub(crate) fn needed(nodes: usize) -> u64 {
    PER_NODE * nodes as u64 + CONNECTIONS + OWN
}

/// Why this process cannot serve a node map.
#[derive(Debug, Error)]
pub(crate) enum LimitError {
    /// The hard limit is lower than what is needed.
    #[error("serve {nodes} nodes: that needs {needed} file descriptors, this process may have {hard}")]
    TooLow {
        /// The size of the map.
        nodes: usize,
        /// What it needs.
        needed: u64,
        /// The hard limit.
        hard: u64,
    },
    /// The limit cannot be read or raised.
    #[error("raise the limit of file descriptors to {needed}")]
    Refused {
        /// What was needed.
        needed: u64,
        /// Why not.
        source: io::Error,
    },
}

impl LimitError {
    /// What an operator can do.
    pub(crate) fn hint(&self) -> String {
        match self {
            LimitError::TooLow { needed, .. } | LimitError::Refused { needed, .. } => {
                format!(
                    "set LimitNOFILE={needed} or more in the service's unit, or raise the hard limit (ulimit -Hn)"
                )
            }
        }
    }
}

/// Raises the soft limit of descriptors to the hard one if the map needs more than it has.
pub(crate) fn admit(nodes: usize) -> Result<(), LimitError> {
    let needed = needed(nodes);
    let refused = |errno: nix::errno::Errno| LimitError::Refused { needed, source: errno.into() };
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(refused)?;
    if soft >= needed {
        return Ok(());
    }
    if hard < needed {
        return Err(LimitError::TooLow { nodes, needed, hard });
    }
    setrlimit(Resource::RLIMIT_NOFILE, needed, hard).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_of_the_largest_racks_fit_the_usual_soft_limit_and_many_racks_do_not() {
        assert_eq!(needed(18), 4 * 18 + 32 + 32 + 24);
        assert!(needed(144) < 1024 && needed(576) > 1024);
    }
}
