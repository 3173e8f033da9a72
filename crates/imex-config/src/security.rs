//! How peers prove who they are: the keys of the authentication section, parsed and judged.

use std::path::PathBuf;
use std::time::Duration;

use crate::credential::{Credential, CredentialError};
use crate::machine::Machine;

/// What the authentication keys ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Security {
    /// Nothing: whoever reaches the port and knows the map is believed.
    Off,
    /// Mutual TLS.
    Tls(Box<Tls>),
    /// Kerberos by GSSAPI.
    Gss(Gss),
    /// MUNGE, which this service alone has.
    Munge(Munge),
}

impl Security {
    /// Time between two tries to authenticate with a peer; `None` leaves it to how dials are tried again.
    pub fn retry_interval(&self) -> Option<Duration> {
        match self {
            Security::Gss(gss) => Some(gss.retry_interval).filter(|interval| !interval.is_zero()),
            Security::Off | Security::Tls(_) | Security::Munge(_) => None,
        }
    }
}

/// Mutual TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// What this daemon shows to those who dial it.
    pub server: Identity,
    /// What this daemon shows to those whom it dials.
    pub client: Identity,
    /// The name expected in a peer's certificate instead of its entry in the node map.
    pub target_override: Option<String>,
}

/// A key, its certificate, and the authority that the other side's certificate must come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The private key, PEM.
    pub key: Credential,
    /// The certificate, PEM.
    pub certificate: Credential,
    /// The certificates of the authority, PEM.
    pub authority: Credential,
}

impl Tls {
    /// The same six credentials as they are there now, or everything that is wrong with them.
    pub fn reread(&self, machine: &impl Machine) -> Result<Tls, Vec<Unread>> {
        match (self.server.reread(machine), self.client.reread(machine)) {
            (Ok(server), Ok(client)) => {
                Ok(Tls { server, client, target_override: self.target_override.clone() })
            }
            (server, client) => Err([server.err(), client.err()].into_iter().flatten().flatten().collect()),
        }
    }
}

/// A credential that could not be read.
#[derive(Debug)]
pub struct Unread {
    /// The key of the configuration that it is about.
    pub key: &'static str,
    /// Why.
    pub error: CredentialError,
}

impl Identity {
    /// The three, in the order of the configuration's keys.
    pub fn credentials(&self) -> [&Credential; 3] {
        [&self.key, &self.certificate, &self.authority]
    }

    fn reread(&self, machine: &impl Machine) -> Result<Identity, Vec<Unread>> {
        let [key, certificate, authority] = self.credentials().map(|credential| {
            credential.reread(machine).map_err(|error| Unread { key: credential.key, error })
        });
        match (key, certificate, authority) {
            (Ok(key), Ok(certificate), Ok(authority)) => Ok(Identity { key, certificate, authority }),
            (key, certificate, authority) => {
                Err([key.err(), certificate.err(), authority.err()].into_iter().flatten().collect())
            }
        }
    }
}

/// Kerberos by GSSAPI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gss {
    /// What is protected.
    pub protection: GssProtection,
    /// The service part of the principal's name.
    pub service: String,
    /// How long authentication may take; `None` tries for ever.
    pub timeout: Option<Duration>,
    /// Time between two tries.
    pub retry_interval: Duration,
    /// How long a security context lives; `None` leaves it to the credential.
    pub context_lifetime: Option<Duration>,
    /// What a final failure does.
    pub on_failure: GssFailure,
    /// The name expected instead of the peer's entry in the node map.
    pub target_override: Option<String>,
    /// The cache of tickets that the environment names (`KRB5CCNAME`); otherwise the daemon keeps one in its memory.
    pub ticket_cache: Option<String>,
}

/// MUNGE: peers show by it that they are root on a machine of the same cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Munge {
    /// The socket of MUNGE's daemon; `None` is the machine's usual one.
    pub socket: Option<PathBuf>,
    /// The user that all daemons of the domain run as.
    pub uid: u32,
    /// Where a peer's credential may be made.
    pub origin: MungeOrigin,
}

/// On which machine a node's MUNGE credential may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MungeOrigin {
    /// On any that has the cluster's key.
    Any,
    /// On the one with the node's own address, as the munged there calls it.
    Peer,
}

/// What GSSAPI protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GssProtection {
    /// Peers are authenticated and everything is encrypted.
    Encrypt,
    /// Peers are authenticated.
    AuthenticateOnly,
}

/// What a final GSSAPI failure does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GssFailure {
    /// It ends the daemon.
    Shutdown,
    /// It drops the peer's connection.
    DropPeer,
}
