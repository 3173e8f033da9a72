//! Keys and certificates: PEM text as the six credentials have it, certificates as strangers send them, and the names that
//! they must be good for.

use std::ffi::OsString;
use std::io;
use std::net::IpAddr;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use base64::prelude::{BASE64_STANDARD, Engine};
use imex_config::credential::{self, Credential, Place, Secrecy};
use imex_config::security::{Identity, Tls};
use imex_config::{FileId, LocalAddress, Machine, NodeAddress, Severity};
use imex_tls::ends::Kind;
use imex_tls::{Certificate, Ends, PeerName, judge};
use jiff::Timestamp;
use rustls_pki_types::CertificateDer;

/// When all of it is judged: in the time of the committed certificates, and the same at every run.
const NOW: &str = "2027-01-01T00:00:00Z";

/// Whom the committed certificates are for.
const NODE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 1));

/// What is between the three credentials in an input that is text.
const BETWEEN: &str = "\n~\n";

/// Credentials are refused with a reason, or make the two ends of connections; a certificate is unreadable, or its facts can
/// be shown; a name is none, or is read as it is shown. No text that people see has a line of a key in it.
pub fn certificate(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    match first.wrapping_sub(b'A') % 4 {
        0 => text(rest),
        1 => chain(rest),
        2 => facts(rest),
        _ => name(rest),
    }
}

/// The input is a key, a certificate with those behind it, and an authority, as files have them.
fn text(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut parts = text.splitn(3, BETWEEN);
    let mut part = || parts.next().unwrap_or_default().to_owned();
    credentials([part(), part(), part()]);
}

/// The input is the same in DER, each with its length before it: the fuzzer changes what base64 would hide from it.
fn chain(mut bytes: &[u8]) {
    let mut found = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<2>() {
        let length = usize::from(u16::from_be_bytes(*length)).min(rest.len());
        let (der, next) = rest.split_at(length);
        found.push(der);
        bytes = next;
    }
    let [key, shown @ .., authority] = &*found else { return };
    let shown = shown.iter().map(|der| pem("CERTIFICATE", der)).collect();
    credentials([pem("PRIVATE KEY", key), shown, pem("CERTIFICATE", authority)]);
}

fn pem(label: &str, der: &[u8]) -> String {
    let body = BASE64_STANDARD.encode(der);
    format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
}

fn credentials(texts: [String; 3]) {
    let secret = texts[0].clone();
    let Some(identity) = identity(texts) else { return };
    let tls = Tls { server: identity.clone(), client: identity, target_override: None };
    let now: Timestamp = NOW.parse().expect("it is a time");
    let findings = judge(&tls, &PeerName::of_ip(NODE), now);
    for finding in &findings {
        assert!(finding.what.starts_with(finding.key), "a finding names its key: {}", finding.what);
        let told = format!("{} {}", finding.what, finding.hint.as_deref().unwrap_or_default());
        hides(&told, &secret);
    }
    match Ends::new(&tls) {
        Ok(ends) => {
            hides(&format!("{ends:?} {tls:?}"), &secret);
            let [server, client] = [Kind::Server, Kind::Client].map(|kind| ends.certificate(kind));
            assert_eq!(server, client, "both halves are the same here");
        }
        Err(errors) => {
            let grave = findings.iter().filter(|finding| finding.severity == Severity::Error);
            assert_eq!(grave.count(), errors.len(), "what cannot be used is found when it is judged");
        }
    }
}

/// Nothing that people see may have a line of a key: shorter ones can be there by chance.
fn hides(told: &str, secret: &str) {
    let shown = secret.lines().filter(|line| line.len() > 24 && !line.starts_with("-----"));
    for line in shown {
        assert!(!told.contains(line), "a line of the key is shown: {told}");
    }
}

fn identity(texts: [String; 3]) -> Option<Identity> {
    let [key, certificate, authority] = texts;
    Some(Identity {
        key: kept("KEY", Secrecy::Secret, key)?,
        certificate: kept("CERT", Secrecy::Public, certificate)?,
        authority: kept("CERT_AUTH", Secrecy::Public, authority)?,
    })
}

/// A credential in a variable, as the source ENV_VAL has it.
fn kept(key: &'static str, secrecy: Secrecy, text: String) -> Option<Credential> {
    let place = Place::Variable(key.to_owned());
    let pem = credential::read(&place, secrecy, &Variable(text)).ok()?;
    Some(Credential { key, line: None, place, secrecy, pem })
}

/// The input is a certificate.
fn facts(bytes: &[u8]) {
    let der = CertificateDer::from(bytes);
    let Ok(facts) = Certificate::read(&der) else { return };
    assert_eq!(Certificate::read(&der).as_ref(), Ok(&facts), "it is read alike each time");
    let shown = format!("{} {} {} {}", facts.subject, facts.issuer, facts.purpose, facts.fingerprint);
    assert!(shown.len() >= 95, "a fingerprint has 32 bytes: {shown}");
    for name in &facts.names {
        if let Ok(ip) = name.parse() {
            assert_eq!(PeerName::of_host(name), Ok(PeerName::of_ip(ip)), "an address is a name: {name}");
        }
    }
}

/// The input is what a node is called.
fn name(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(name) = PeerName::of_host(text) {
        assert_eq!(PeerName::of_host(&name.to_string()), Ok(name), "a name is read as it is shown: {text}");
    }
    match text.parse() {
        Ok(NodeAddress::Name(host)) => {
            let entry = PeerName::of_entry(&NodeAddress::Name(host.clone()));
            assert_eq!(entry, PeerName::of_host(host.as_str()), "an entry is a host: {text}");
        }
        Ok(ip) => assert!(PeerName::of_entry(&ip).is_ok(), "every address is a name: {text}"),
        Err(_) => {}
    }
}

/// A machine with one variable and nothing else.
struct Variable(String);

impl Machine for Variable {
    fn addresses(&self) -> io::Result<Vec<LocalAddress>> {
        Ok(Vec::new())
    }

    fn look_up(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn variable(&self, _: &str) -> Option<OsString> {
        Some(OsString::from_vec(self.0.clone().into_bytes()))
    }

    fn file(&self, _: &Path) -> Option<FileId> {
        None
    }
}
