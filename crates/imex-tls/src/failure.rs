//! Why a connection did not become secure.

use std::error::Error;
use std::io;

use imex_core::AuthFailure;
use rustls::{AlertDescription, CertificateError};
use thiserror::Error;

/// Why a connection did not become secure: in a word for the core, and in the library's words for the log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{failure} ({detail})")]
pub struct TlsError {
    /// In a word.
    pub failure: AuthFailure,
    /// In the library's words; they name the certificate's times and names, never a secret.
    pub detail: String,
}

impl TlsError {
    pub(crate) fn of_io(error: &io::Error) -> Self {
        match in_chain(error) {
            Some(inner) => Self::of(inner),
            None => TlsError { failure: AuthFailure::Broken, detail: error.to_string() },
        }
    }

    /// What is in an error of a connection that was made secure, or was to be: nothing where it broke for a reason of
    /// the network's.
    pub fn in_io(error: &io::Error) -> Option<&TlsError> {
        error.get_ref()?.downcast_ref()
    }

    pub(crate) fn of(error: &rustls::Error) -> Self {
        TlsError { failure: failure_of(error), detail: detail_of(error) }
    }
}

impl From<TlsError> for io::Error {
    fn from(error: TlsError) -> Self {
        io::Error::other(error)
    }
}

/// The library shows what others object to in the form that is for programmers, and the far end's alerts by their names.
#[expect(clippy::wildcard_enum_match_arm, reason = "rustls::Error is foreign and open")]
fn detail_of(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::Other(why)) => why.0.to_string(),
        rustls::Error::AlertReceived(alert) => match meaning(*alert) {
            Some(meaning) => format!("{meaning}: alert {alert:?}"),
            None => error.to_string(),
        },
        _ => error.to_string(),
    }
}

/// What a far end that goes by RFC 8446, section 6.2, has against a certificate.
#[expect(clippy::wildcard_enum_match_arm, reason = "rustls::AlertDescription is foreign and open")]
fn meaning(alert: AlertDescription) -> Option<&'static str> {
    match alert {
        AlertDescription::UnknownCA => Some("it trusts another authority"),
        // A signature by a key that its own authority does not have.
        AlertDescription::DecryptError => Some("it trusts another authority of the same name"),
        AlertDescription::CertificateExpired => Some("it is out of date there"),
        AlertDescription::UnsupportedCertificate => Some("it is for another purpose"),
        AlertDescription::CertificateRequired => Some("it wants one"),
        _ => None,
    }
}

/// What rustls says in an error of a stream.
pub(crate) fn in_chain(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref().and_then(|inner| (inner as &(dyn Error + 'static)).downcast_ref())
}

#[expect(clippy::wildcard_enum_match_arm, reason = "rustls::Error is foreign and open")]
fn failure_of(error: &rustls::Error) -> AuthFailure {
    match error {
        rustls::Error::InvalidCertificate(why) => failure_of_certificate(why),
        rustls::Error::NoCertificatesPresented => AuthFailure::Missing,
        rustls::Error::AlertReceived(alert) => failure_of_alert(*alert),
        // What came is no TLS, or none that this end speaks.
        rustls::Error::InvalidMessage(_)
        | rustls::Error::InappropriateMessage { .. }
        | rustls::Error::InappropriateHandshakeMessage { .. }
        | rustls::Error::PeerIncompatible(_)
        | rustls::Error::NoApplicationProtocol => AuthFailure::NotOffered,
        _ => AuthFailure::Invalid,
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "rustls::CertificateError is foreign and open")]
fn failure_of_certificate(why: &CertificateError) -> AuthFailure {
    match why {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => AuthFailure::Expired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            AuthFailure::NotYetValid
        }
        CertificateError::UnknownIssuer | CertificateError::BadSignature => AuthFailure::OtherAuthority,
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            AuthFailure::OtherName
        }
        _ => AuthFailure::Invalid,
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "rustls::AlertDescription is foreign and open")]
fn failure_of_alert(alert: AlertDescription) -> AuthFailure {
    match alert {
        AlertDescription::ProtocolVersion
        | AlertDescription::HandshakeFailure
        | AlertDescription::NoApplicationProtocol => AuthFailure::NotOffered,
        _ => AuthFailure::Refused,
    }
}
