//! Certificate chains of strangers, cut short before anything is spent on them.
//!
//! Building a path tries every order of the certificates that the far end sent, and parses each of them at every try: with
//! the two hundred that fit into a handshake, and names chosen for it, one connection without any key costs seconds of
//! processor time. With [`MAX_BETWEEN`] there are a few dozen paths, whatever the names.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, OtherError, SignatureScheme,
};
use thiserror::Error;

/// How many certificates there may be between a node's own and the authority. Sites have one or two.
pub const MAX_BETWEEN: usize = 4;

/// Why a chain is not even looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{found} certificates stand between it and the authority; there may be {MAX_BETWEEN}")]
pub(crate) struct TooLong {
    found: usize,
}

/// A verifier that judges short chains only.
#[derive(Debug)]
pub(crate) struct ShortOnly<V: ?Sized>(pub(crate) Arc<V>);

fn measure(between: &[CertificateDer<'_>]) -> Result<(), Error> {
    if between.len() <= MAX_BETWEEN {
        return Ok(());
    }
    let too_long = OtherError(Arc::new(TooLong { found: between.len() }));
    Err(Error::InvalidCertificate(CertificateError::Other(too_long)))
}

impl<V: ServerCertVerifier + ?Sized> ServerCertVerifier for ShortOnly<V> {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        measure(between)?;
        self.0.verify_server_cert(own, between, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

impl<V: ClientCertVerifier + ?Sized> ClientCertVerifier for ShortOnly<V> {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        own: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        measure(between)?;
        self.0.verify_client_cert(own, between, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests;
