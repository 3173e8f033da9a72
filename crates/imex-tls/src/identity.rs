//! From PEM text to what a handshake needs.

use std::fmt;
use std::sync::Arc;

use imex_config::credential::{Credential, Place};
use imex_config::security::Identity;
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use thiserror::Error;

use crate::provider;

/// A key with its certificates, and the authority that the other side's must come from.
#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    pub(crate) certified: Arc<CertifiedKey>,
    pub(crate) authority: Arc<RootCertStore>,
}

/// Which of the three credentials of an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The private key.
    Key,
    /// The certificate, with those between it and the authority.
    Certificate,
    /// The certificates of the authority.
    Authority,
}

/// Why a credential cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum IdentityError {
    /// There is no private key in it.
    #[error("{place} holds no private key")]
    NoKey {
        /// Where.
        place: Place,
    },
    /// There is one that cannot be used.
    #[error("{place} holds a private key that cannot be used: {why}")]
    BadKey {
        /// Where.
        place: Place,
        /// In the library's words.
        why: String,
    },
    /// There is no certificate in it.
    #[error("{place} holds no certificate")]
    NoCertificate {
        /// Where.
        place: Place,
        /// The certificate or the authority.
        part: Part,
    },
    /// There is one that cannot be read.
    #[error("{place} holds a certificate that cannot be read: {why}")]
    BadCertificate {
        /// Where.
        place: Place,
        /// The certificate or the authority.
        part: Part,
        /// In the library's words.
        why: String,
    },
    /// The key belongs to another certificate.
    #[error("the private key in {key} does not fit the certificate in {certificate}")]
    Mismatch {
        /// Where the key is.
        key: Place,
        /// Where the certificate is.
        certificate: Place,
    },
}

impl IdentityError {
    /// Which credential it is about.
    pub fn part(&self) -> Part {
        match self {
            IdentityError::NoKey { .. } | IdentityError::BadKey { .. } | IdentityError::Mismatch { .. } => {
                Part::Key
            }
            IdentityError::NoCertificate { part, .. } | IdentityError::BadCertificate { part, .. } => *part,
        }
    }
}

impl Parsed {
    /// Reads the three credentials, or says everything that is wrong with them.
    pub(crate) fn read(identity: &Identity) -> Result<Self, Vec<IdentityError>> {
        let key = read_key(&identity.key);
        let chain = read_certificates(&identity.certificate, Part::Certificate);
        let authority = read_authority(&identity.authority);
        match (key, chain, authority) {
            (Ok(key), Ok(chain), Ok(authority)) => {
                let certified = fit(identity, key, chain).map_err(|error| vec![error])?;
                Ok(Parsed { certified: Arc::new(certified), authority: Arc::new(authority) })
            }
            (key, chain, authority) => {
                Err([key.err(), chain.err(), authority.err()].into_iter().flatten().collect())
            }
        }
    }

    /// The certificate itself.
    pub(crate) fn end_entity(&self) -> &CertificateDer<'static> {
        self.certified.cert.first().expect("an identity is read with at least one certificate")
    }

    /// Those between it and the authority.
    pub(crate) fn intermediates(&self) -> &[CertificateDer<'static>] {
        self.certified.cert.get(1..).unwrap_or_default()
    }
}

fn read_key(credential: &Credential) -> Result<PrivateKeyDer<'static>, IdentityError> {
    let place = credential.place.clone();
    PrivateKeyDer::from_pem_slice(credential.pem.bytes()).map_err(|error| {
        if matches!(error, rustls::pki_types::pem::Error::NoItemsFound) {
            return IdentityError::NoKey { place };
        }
        IdentityError::BadKey { place, why: error.to_string() }
    })
}

fn read_certificates(
    credential: &Credential,
    part: Part,
) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
    let place = || credential.place.clone();
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(credential.pem.bytes()).collect();
    let bad = |why: String| IdentityError::BadCertificate { place: place(), part, why };
    let found = read.map_err(|error| bad(error.to_string()))?;
    let Some(first) = found.first() else {
        return Err(IdentityError::NoCertificate { place: place(), part });
    };
    rustls::server::ParsedCertificate::try_from(first).map_err(|error| bad(error.to_string()))?;
    Ok(found)
}

fn read_authority(credential: &Credential) -> Result<RootCertStore, IdentityError> {
    let part = Part::Authority;
    let mut roots = RootCertStore::empty();
    for certificate in read_certificates(credential, part)? {
        roots.add(certificate).map_err(|error| {
            let place = credential.place.clone();
            IdentityError::BadCertificate { place, part, why: error.to_string() }
        })?;
    }
    Ok(roots)
}

fn fit(
    identity: &Identity,
    key: PrivateKeyDer<'static>,
    chain: Vec<CertificateDer<'static>>,
) -> Result<CertifiedKey, IdentityError> {
    CertifiedKey::from_der(chain, key, &provider()).map_err(|error| {
        let key = identity.key.place.clone();
        if matches!(error, rustls::Error::InconsistentKeys(_)) {
            return IdentityError::Mismatch { key, certificate: identity.certificate.place.clone() };
        }
        IdentityError::BadKey { place: key, why: error.to_string() }
    })
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Key => "private key",
            Part::Certificate => "certificate",
            Part::Authority => "authority",
        })
    }
}
