//! Whom a certificate must be good for.

use std::net::IpAddr;

use imex_config::NodeAddress;
use rustls::pki_types::{DnsName, ServerName};
use thiserror::Error;

/// The name of a node as certificates have it: an IP address or a DNS name among the subject alternative names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerName(ServerName<'static>);

/// Why there is no such name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{name} is no name that a certificate can have")]
pub struct NoName {
    name: String,
}

impl PeerName {
    /// The name of an entry of the node map. The interface of a link-local address is this machine's affair and in no
    /// certificate.
    pub fn of_entry(entry: &NodeAddress) -> Result<Self, NoName> {
        match entry {
            NodeAddress::Ip { ip, .. } => Ok(Self::of_ip(*ip)),
            NodeAddress::Name(name) => Self::of_host(name.as_str()),
        }
    }

    /// The name of an address.
    pub fn of_ip(ip: IpAddr) -> Self {
        PeerName(ServerName::IpAddress(ip.to_canonical().into()))
    }

    /// A host name; or an address as text.
    pub fn of_host(name: &str) -> Result<Self, NoName> {
        if let Ok(ip) = name.parse() {
            return Ok(Self::of_ip(ip));
        }
        let parsed = DnsName::try_from(name.to_owned());
        parsed.map(|name| PeerName(ServerName::DnsName(name))).map_err(|_| NoName { name: name.to_owned() })
    }

    pub(crate) fn get(&self) -> &ServerName<'static> {
        &self.0
    }
}

impl std::fmt::Display for PeerName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.to_str())
    }
}
