//! Asking over TCP where security is on: with the client's half of the configuration's credentials.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use imex_config::Security;
use imex_tls::{Ends, PeerName};
use imex_wire::{ClientError, CommandClient, Endpoint, Secure};
use tokio::net::TcpStream;

/// What TCP connections are made secure by. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Credentials(Option<Arc<Tls>>);

#[derive(Debug)]
struct Tls {
    ends: Ends,
    /// The name that every daemon goes by, instead of its own.
    target_override: Option<PeerName>,
}

impl Credentials {
    /// Those of a configuration. Credentials that cannot be used are none: the daemon then refuses, and says why.
    pub(crate) fn of(security: &Security) -> Self {
        let Security::Tls(tls) = security else { return Credentials(None) };
        let Ok(ends) = Ends::new(tls) else { return Credentials(None) };
        let target_override = tls.target_override.as_deref().and_then(|name| PeerName::of_host(name).ok());
        Credentials(Some(Arc::new(Tls { ends, target_override })))
    }

    /// Connects to the command service of the node that goes by `entry`; by its address if that is `None`.
    pub(crate) async fn connect(
        &self,
        place: &Endpoint,
        entry: Option<&str>,
        deadline: Duration,
    ) -> Result<CommandClient, ClientError> {
        match (&self.0, place) {
            (Some(tls), Endpoint::Tcp(address)) => {
                let secured = Secured { ends: &tls.ends, name: tls.name(entry, *address) };
                CommandClient::connect_through(place, deadline, &secured).await
            }
            (_, Endpoint::Unix(_)) | (None, Endpoint::Tcp(_)) => {
                CommandClient::connect(place, deadline).await
            }
        }
    }
}

impl Tls {
    fn name(&self, entry: Option<&str>, address: SocketAddr) -> PeerName {
        let entry = || entry.and_then(|entry| PeerName::of_host(entry).ok());
        self.target_override.clone().or_else(entry).unwrap_or_else(|| PeerName::of_ip(address.ip()))
    }
}

struct Secured<'a> {
    ends: &'a Ends,
    name: PeerName,
}

impl Secure for Secured<'_> {
    type Io = imex_tls::Io;

    async fn secure(&self, tcp: TcpStream) -> io::Result<imex_tls::Io> {
        let secured = self.ends.connect(tcp, &self.name).await;
        secured.map(|secured| secured.io).map_err(io::Error::other)
    }
}
