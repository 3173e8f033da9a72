//! A tool's end of the command service.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use imex_core::DomainSummary;
use thiserror::Error;

use crate::command::{DomainStatus, NodeStatus};
use crate::status::CommandError;

/// Where a daemon's command service is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A Unix socket.
    Unix(PathBuf),
    /// A TCP port.
    Tcp(SocketAddr),
}

/// Why a daemon could not be asked.
#[derive(Debug, Error)]
pub enum ClientError {
    /// There is no socket with this name.
    #[error("there is no socket at {endpoint}")]
    NoSocket {
        /// Where.
        endpoint: Endpoint,
    },
    /// Nobody listens there.
    #[error("nobody listens at {endpoint}")]
    Refused {
        /// Where.
        endpoint: Endpoint,
    },
    /// This user may not connect.
    #[error("connecting to {endpoint} is not permitted")]
    NotPermitted {
        /// Where.
        endpoint: Endpoint,
    },
    /// No connection for another reason.
    #[error("no connection to {endpoint}")]
    Unreachable {
        /// Where.
        endpoint: Endpoint,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The whole did not end in time.
    #[error("no answer from {endpoint} within {} ms", after.as_millis())]
    Deadline {
        /// Where.
        endpoint: Endpoint,
        /// The deadline.
        after: Duration,
    },
    /// The daemon declined to answer.
    #[error("{endpoint} did not answer")]
    Declined {
        /// Where.
        endpoint: Endpoint,
        /// Why.
        #[source]
        why: CommandError,
    },
    /// The connection ended before the answer was complete.
    #[error("the connection to {endpoint} broke")]
    Broken {
        /// Where.
        endpoint: Endpoint,
    },
    /// What answered is no IMEX command service, or another version of it.
    #[error("{endpoint} gave no proper answer: {detail}")]
    Protocol {
        /// Where.
        endpoint: Endpoint,
        /// What was wrong.
        detail: String,
    },
}

/// A connection to one daemon's command service.
#[derive(Debug)]
pub struct CommandClient {}

/// A stream of changes from a daemon.
#[derive(Debug)]
pub struct Watch<T> {
    _items: PhantomData<T>,
}

#[expect(clippy::unused_async, reason = "not built yet")]
impl CommandClient {
    /// Connects. `deadline` holds from now on for everything together: the connection, every answer, and the first
    /// item of every watch.
    pub async fn connect(_endpoint: &Endpoint, _deadline: Duration) -> Result<Self, ClientError> {
        todo!()
    }

    /// The daemon's node alone.
    pub async fn get_node(&mut self) -> Result<NodeStatus, ClientError> {
        todo!()
    }

    /// The whole domain as the daemon knows it.
    pub async fn get_domain(&mut self) -> Result<DomainStatus, ClientError> {
        todo!()
    }

    /// The daemon's node, without its row, now and at each change.
    pub async fn watch_node(&mut self) -> Result<Watch<NodeStatus>, ClientError> {
        todo!()
    }

    /// The domain in four numbers, now and at each change.
    pub async fn watch_domain(&mut self) -> Result<Watch<DomainSummary>, ClientError> {
        todo!()
    }
}

#[expect(clippy::unused_async, reason = "not built yet")]
impl<T> Watch<T> {
    /// The next item. The first comes within the client's deadline; later ones come when something changes, however
    /// long that takes. `None` when the daemon ends.
    pub async fn next(&mut self) -> Result<Option<T>, ClientError> {
        todo!()
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Unix(path) => write!(f, "{}", path.display()),
            Endpoint::Tcp(address) => write!(f, "{address}"),
        }
    }
}
