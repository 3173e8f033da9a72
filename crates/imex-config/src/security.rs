//! How peers prove who they are: the keys of the authentication section, parsed and judged.

use std::path::PathBuf;
use std::time::Duration;

/// What the authentication keys ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Security {
    /// Nothing: whoever reaches the port and knows the map is believed.
    Off,
    /// Mutual TLS.
    Tls(Box<Tls>),
    /// Kerberos by GSSAPI.
    Gss(Gss),
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

/// Where a credential is kept. It was there when the settings were made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Credential {
    /// In this file; it may be replaced and read again (SIGUSR1).
    File(PathBuf),
    /// In the environment variable of this name.
    Variable(String),
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
