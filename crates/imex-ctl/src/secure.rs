//! Asking over TCP where security is on: with the client's half of the configuration's credentials, or not at all.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use imex_config::{Security, SecurityUnusable};
use imex_tls::{Ends, PeerName, TlsError};
use imex_wire::{ClientError, CommandClient, Endpoint, Secure};
use thiserror::Error;
use tokio::net::TcpStream;

/// What TCP connections are made secure by. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) enum Credentials {
    /// By nothing: no security is asked for.
    #[default]
    Plain,
    /// By TLS.
    Tls(Arc<Tls>),
    /// Security is asked for and cannot be had, so nobody is asked over TCP: whoever answered there would be believed
    /// without any proof.
    Unusable(NoSecurity),
}

/// Why there is no security over TCP.
#[derive(Clone, Debug, Error)]
#[error("security is asked for, and {why}")]
pub(crate) struct NoSecurity {
    why: Arc<str>,
}

#[derive(Debug)]
pub(crate) struct Tls {
    ends: Ends,
    /// The name that every daemon goes by, instead of its own.
    target_override: Option<PeerName>,
}

impl Credentials {
    /// Those of a configuration.
    pub(crate) fn of(security: &Result<Security, SecurityUnusable>) -> Self {
        let unusable = |why: &str| Credentials::Unusable(NoSecurity { why: why.into() });
        let tls = match security {
            Ok(Security::Off) => return Credentials::Plain,
            Ok(Security::Tls(tls)) => tls,
            Ok(Security::Gss(_) | Security::Munge(_)) => {
                return unusable("this kind of it serves no tools over TCP; ask on the machine itself");
            }
            Err(error) => return unusable(&error.to_string()),
        };
        match Ends::new(tls) {
            Ok(ends) => {
                let target_override = tls.target_override.as_deref();
                let target_override = target_override.and_then(|name| PeerName::of_host(name).ok());
                Credentials::Tls(Arc::new(Tls { ends, target_override }))
            }
            Err(found) => {
                let first = found.first().map(|(_, error)| error.to_string());
                unusable(&first.unwrap_or_else(|| "the credentials cannot be used".to_owned()))
            }
        }
    }

    /// Connects to the command service of the node that goes by `entry`; by its address if that is `None`.
    pub(crate) async fn connect(
        &self,
        place: &Endpoint,
        entry: Option<&str>,
        deadline: Duration,
    ) -> Result<CommandClient, ClientError> {
        match (self, place) {
            (Credentials::Tls(tls), Endpoint::Tcp(address)) => {
                let secured = Secured { ends: &tls.ends, name: tls.name(entry, *address) };
                CommandClient::connect_through(place, deadline, &secured).await
            }
            (Credentials::Unusable(why), Endpoint::Tcp(_)) => Err(ClientError::NoCredentials {
                endpoint: place.clone(),
                source: io::Error::other(why.clone()),
            }),
            (_, Endpoint::Unix(_)) | (Credentials::Plain, Endpoint::Tcp(_)) => {
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
        Ok(secured?.io)
    }

    fn is_distrust(error: &io::Error) -> bool {
        TlsError::in_io(error).is_some_and(|error| !error.failure.is_silence())
    }
}

#[cfg(test)]
mod tests {
    use imex_config::{ThisMachine, chain, load_client_security};

    use super::*;

    #[tokio::test]
    async fn security_that_cannot_be_had_is_no_reason_to_do_without() {
        for (lines, why) in [
            ("IMEX_ENABLE_AUTH_ENCRYPTION=1\nIMEX_AUTH_SOURCE=FILE", "value is empty, but security is on"),
            ("IMEX_ENABLE_AUTH_ENCRYPTION=yes", "IMEX_ENABLE_AUTH_ENCRYPTION: "),
            ("IMEX_ENABLE_AUTH_ENCRYPTION=1\nIMEX_AUTH_ENCRYPTION_MODE=SLL_TLS", "is none of "),
            ("IMEX_ENABLE_AUTH_ENCRYPTION=1\nIMEX_AUTH_ENCRYPTION_MODE=GSS_AUTH_ONLY", "serves no tools"),
            ("OPENIMEX_AUTH=munge", "serves no tools"),
            ("OPENIMEX_AUTH=mung", "OPENIMEX_AUTH: "),
        ] {
            let told = ask(lines).await.unwrap_err();
            assert!(told.contains("security is asked for, and ") && told.contains(why), "{lines}: {told}");
        }
        assert_eq!(ask("SERVER_PORT=50000").await, Ok(()), "nothing is asked for");
    }

    /// Connects as a file with these lines says, to somebody who takes every connection.
    async fn ask(lines: &str) -> Result<(), String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), format!("{lines}\n")).unwrap();
        let credentials = Credentials::of(&load_client_security(file.path(), &ThisMachine));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = Endpoint::Tcp(listener.local_addr().unwrap());
        let client = credentials.connect(&place, None, Duration::from_secs(5)).await;
        client.map(drop).map_err(|error| chain(&error))
    }
}
