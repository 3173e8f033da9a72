//! What is in a certificate, for people and for judging when it ends.

use std::fmt::{self, Write as _};
use std::net::IpAddr;

use jiff::Timestamp;
use rustls::pki_types::CertificateDer;
use sha2::{Digest, Sha256};
use thiserror::Error;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};
use x509_parser::time::ASN1Time;

/// What is in a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Whose it is.
    pub subject: String,
    /// Who signed it.
    pub issuer: String,
    /// From when it counts.
    pub not_before: Timestamp,
    /// Until when it counts.
    pub not_after: Timestamp,
    /// Whom it is good for: subject alternative names, DNS names and addresses, as text, in its order.
    pub names: Vec<String>,
    /// What it may do.
    pub purpose: Purpose,
    /// SHA-256 of the whole.
    pub fingerprint: Fingerprint,
}

/// What a certificate may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Sign others.
    Authority,
    /// Be shown by servers only.
    Server,
    /// Be shown by clients only.
    Client,
    /// Be shown by both.
    Both,
}

/// SHA-256 of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 32]);

/// Why a certificate cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the certificate cannot be read: {why}")]
pub struct Unreadable {
    why: String,
}

impl Certificate {
    /// Reads one.
    pub fn read(der: &CertificateDer<'_>) -> Result<Self, Unreadable> {
        let parsed = X509Certificate::from_der(der).map_err(|error| Unreadable { why: error.to_string() })?;
        let (_, found) = parsed;
        let validity = found.validity();
        Ok(Certificate {
            subject: found.subject().to_string(),
            issuer: found.issuer().to_string(),
            not_before: moment(validity.not_before),
            not_after: moment(validity.not_after),
            names: names(&found),
            purpose: purpose(&found),
            fingerprint: Fingerprint(Sha256::digest(der).into()),
        })
    }
}

/// Times beyond what the calendar of this program knows are as good as its ends.
fn moment(time: ASN1Time) -> Timestamp {
    Timestamp::from_second(time.timestamp()).unwrap_or(match time.timestamp() {
        ..0 => Timestamp::MIN,
        0.. => Timestamp::MAX,
    })
}

fn names(found: &X509Certificate<'_>) -> Vec<String> {
    let Ok(Some(alternatives)) = found.subject_alternative_name() else { return Vec::new() };
    alternatives.value.general_names.iter().filter_map(name).collect()
}

/// Kinds of names that mean nothing between nodes are left out.
fn name(name: &GeneralName<'_>) -> Option<String> {
    if let GeneralName::DNSName(dns) = name {
        return Some((*dns).to_owned());
    }
    let GeneralName::IPAddress(bytes) = name else { return None };
    let ip = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
    ip.or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from)).ok().map(|ip| ip.to_string())
}

fn purpose(found: &X509Certificate<'_>) -> Purpose {
    if found.is_ca() {
        return Purpose::Authority;
    }
    match found.extended_key_usage() {
        Ok(Some(usage)) => match (usage.value.server_auth, usage.value.client_auth) {
            (true, false) => Purpose::Server,
            (false, true) => Purpose::Client,
            (true, true) | (false, false) => Purpose::Both,
        },
        Ok(None) | Err(_) => Purpose::Both,
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Purpose::Authority => "authority",
            Purpose::Server => "server",
            Purpose::Client => "client",
            Purpose::Both => "server and client",
        })
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(place, byte)| {
            if place > 0 {
                f.write_char(':')?;
            }
            write!(f, "{byte:02X}")
        })
    }
}
