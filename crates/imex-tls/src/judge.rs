//! Everything that can be known of the credentials before a port is bound.
//!
//! Each daemon dials itself too: its own server certificate must be good for its own client authority, and the other way
//! round. So what is wrong with the own files shows here, and not as one link after another that does not come up.

use imex_config::credential::Credential;
use imex_config::security::{Identity, Tls};
use imex_config::{Problem, Severity};
use imex_core::AuthFailure;
use jiff::{SignedDuration, Timestamp, Unit};
use rustls::pki_types::{ServerName, UnixTime};
use rustls::server::ParsedCertificate;

use crate::certificate::Certificate;
use crate::ends::{Kind, verify_clients, verify_servers};
use crate::failure::TlsError;
use crate::identity::{IdentityError, Parsed, Part};
use crate::name::PeerName;

/// From when on the end of a certificate is warned of: long enough for a site whose changes take a month.
pub const NEAR_END: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Something that is wrong with a credential, or soon will be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The key of the configuration that it is about.
    pub key: &'static str,
    /// The line that sets the key, from 1.
    pub line: Option<usize>,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong; names the file.
    pub what: String,
    /// What to do.
    pub hint: Option<String>,
}

/// Judges the six credentials of a node that goes by `name`, at the time `now`.
pub fn judge(tls: &Tls, name: &PeerName, now: Timestamp) -> Vec<Finding> {
    let read = (Parsed::read(&tls.server), Parsed::read(&tls.client));
    let (Ok(server), Ok(client)) = &read else {
        let server = read.0.err().unwrap_or_default().into_iter();
        let client = read.1.err().unwrap_or_default().into_iter();
        let server = server.map(|error| unusable(&tls.server, &error));
        return server.chain(client.map(|error| unusable(&tls.client, &error))).collect();
    };
    let case = |kind, own, parsed, trusting| Case { kind, own, parsed, trusting, name, now };
    [
        case(Kind::Server, &tls.server, server, (&tls.client, client)),
        case(Kind::Client, &tls.client, client, (&tls.server, server)),
    ]
    .iter()
    .flat_map(Case::findings)
    .collect()
}

/// One half, and the other half of the same node that must believe it.
struct Case<'a> {
    kind: Kind,
    own: &'a Identity,
    parsed: &'a Parsed,
    trusting: (&'a Identity, &'a Parsed),
    name: &'a PeerName,
    now: Timestamp,
}

impl Case<'_> {
    fn findings(&self) -> Vec<Finding> {
        let mut found: Vec<Finding> = self.unaccepted().into_iter().collect();
        if found.is_empty() {
            found.extend(self.wrong_name());
            found.extend(self.near_end());
        }
        found
    }

    /// Whether the far end of a connection to oneself would believe it, the name aside.
    fn unaccepted(&self) -> Option<Finding> {
        let (certificate, between) = (self.parsed.end_entity(), self.parsed.intermediates());
        let now = UnixTime::since_unix_epoch(self.now.as_duration().unsigned_abs());
        let authority = self.trusting.1.authority.clone();
        let verified = match self.kind {
            Kind::Client => verify_clients(authority).verify_client_cert(certificate, between, now).map(drop),
            Kind::Server => {
                let verifier = verify_servers(authority);
                let name: &ServerName<'_> = self.name.get();
                verifier.verify_server_cert(certificate, between, name, &[], now).map(drop)
            }
        };
        let error = TlsError::of(&verified.err()?);
        (error.failure != AuthFailure::OtherName).then(|| self.unaccepted_because(&error))
    }

    fn unaccepted_because(&self, error: &TlsError) -> Finding {
        let place = &self.own.certificate.place;
        let facts = Certificate::read(self.parsed.end_entity()).ok();
        let time = |pick: fn(&Certificate) -> Timestamp| {
            facts.as_ref().map(|facts| pick(facts).to_string()).unwrap_or_default()
        };
        let (what, hint) = match error.failure {
            AuthFailure::Expired => (
                format!("the certificate in {place} expired at {}", time(|facts| facts.not_after)),
                "have a new one issued, then send SIGUSR1 to a running daemon".to_owned(),
            ),
            AuthFailure::NotYetValid => (
                format!("the certificate in {place} is valid only from {}", time(|facts| facts.not_before)),
                "see to it that this machine's clock is right".to_owned(),
            ),
            AuthFailure::OtherAuthority => {
                let authority = &self.trusting.0.authority;
                let issuer = facts.as_ref().map(|facts| facts.issuer.clone()).unwrap_or_default();
                (
                    format!(
                        "the certificate in {place} was issued by {issuer}, not by the authority in {}",
                        authority.place
                    ),
                    format!("{} names the authority that this certificate must come from", authority.key),
                )
            }
            AuthFailure::NotOffered
            | AuthFailure::TimedOut
            | AuthFailure::Broken
            | AuthFailure::Refused
            | AuthFailure::Missing
            | AuthFailure::OtherName
            | AuthFailure::Replayed
            | AuthFailure::ClockSkew
            | AuthFailure::Invalid
            | AuthFailure::NoneOfOurs
            | AuthFailure::Unanswered => (
                format!(
                    "the certificate in {place} is not one that a {} can show: {}",
                    self.kind, error.detail
                ),
                "imex pki show tells what is in it".to_owned(),
            ),
        };
        finding(&self.own.certificate, Severity::Error, what, hint)
    }

    fn wrong_name(&self) -> Option<Finding> {
        let certificate = self.parsed.end_entity();
        let parsed = ParsedCertificate::try_from(certificate).ok()?;
        rustls::client::verify_server_name(&parsed, self.name.get()).err()?;
        let names = Certificate::read(certificate).map(|facts| facts.names).unwrap_or_default();
        let names = if names.is_empty() { "nobody".to_owned() } else { names.join(", ") };
        let place = &self.own.certificate.place;
        let what = format!("the certificate in {place} is good for {names}, not for {}", self.name);
        let hint = "it must have this node's entry of the node list among its subject alternative names; \
                    IMEX_SECURITY_TARGET_OVERRIDE sets another name for all nodes";
        Some(finding(&self.own.certificate, Severity::Error, what, hint.to_owned()))
    }

    fn near_end(&self) -> Option<Finding> {
        let facts = Certificate::read(self.parsed.end_entity()).ok()?;
        let left = facts.not_after.duration_since(self.now);
        (left < NEAR_END).then(|| {
            let hours = left.as_hours();
            let left = if hours < 48 { format!("{hours} hours") } else { format!("{} days", hours / 24) };
            let place = &self.own.certificate.place;
            let end = facts.not_after.round(Unit::Second).unwrap_or(facts.not_after);
            let what = format!("the certificate in {place} expires in {left}, at {end}");
            let hint = "have a new one issued, then send SIGUSR1 to a running daemon".to_owned();
            finding(&self.own.certificate, Severity::Warning, what, hint)
        })
    }
}

fn unusable(identity: &Identity, error: &IdentityError) -> Finding {
    let credential = match error.part() {
        Part::Key => &identity.key,
        Part::Certificate => &identity.certificate,
        Part::Authority => &identity.authority,
    };
    let hint = match error {
        IdentityError::Mismatch { .. } => "the two were made for each other, or they are of no use",
        IdentityError::NoKey { .. } | IdentityError::BadKey { .. } => {
            "PEM text of a private key in PKCS #8, PKCS #1 or SEC 1, without a passphrase"
        }
        IdentityError::NoCertificate { .. } | IdentityError::BadCertificate { .. } => {
            "PEM text of X.509 certificates, the node's own first"
        }
    };
    finding(credential, Severity::Error, error.to_string(), hint.to_owned())
}

fn finding(credential: &Credential, severity: Severity, what: String, hint: String) -> Finding {
    let what = format!("{}: {what}", credential.key);
    Finding { key: credential.key, line: credential.line, severity, what, hint: Some(hint) }
}

impl Finding {
    /// The same as a problem of the configuration file at `path`.
    pub fn problem(self, path: &std::path::Path) -> Problem {
        Problem::new(self.severity, path, self.what).at(self.line).about(self.key).hint(self.hint)
    }
}
