//! The authority: made by `imex pki init`, kept in a directory, used by `imex pki issue`.

use std::io::Write;
use std::path::{Path, PathBuf};

use imex_config::credential::{self, Place, Secrecy as Needed};
use imex_config::{ThisMachine, chain};
use imex_tls::Certificate;
use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde::Serialize;
use time::OffsetDateTime;

use super::args::InitArgs;
use super::files::{self, Draft, Existing, Secrecy};
use crate::clock;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format};

/// How long before its making a certificate begins to count: the clocks of a rack may differ by minutes.
const CLOCK_MARGIN: time::Duration = time::Duration::hours(1);

/// An authority that can issue.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    facts: Certificate,
}

/// One side of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Server,
    Client,
}

/// A certificate with its key, both PEM.
pub(super) struct Issued {
    pub(super) certificate: String,
    pub(super) key: String,
}

/// What a node's certificates say.
pub(super) struct Terms {
    pub(super) subject: String,
    pub(super) names: Vec<SanType>,
    pub(super) days: i64,
}

#[derive(Serialize)]
struct Made<'a> {
    authority: &'a Path,
    key: &'a Path,
    subject: &'a str,
    not_after: Timestamp,
}

/// `imex pki init`.
pub(super) fn init(args: &InitArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let (key, certificate) = make(args).map_err(|error| failed(&error))?;
    let facts = facts(&certificate)?;
    let (key_path, path) = (key_path(&args.common.dir), certificate_path(&args.common.dir));
    let drafts = [
        Draft { path: key_path.clone(), secrecy: Secrecy::Secret, text: key },
        Draft { path: path.clone(), secrecy: Secrecy::Public, text: certificate },
    ];
    files::write(&drafts, Existing::from_force(args.common.force))?;
    let made = Made { authority: &path, key: &key_path, subject: &facts.subject, not_after: facts.not_after };
    match crate::cli::format(args.common.json) {
        Format::Json => output::json(&made, out)?,
        Format::Text => {
            writeln!(out, "Made {}, which counts until {}.", facts.subject, facts.not_after)?;
            writeln!(out, "Its certificate: {}", path.display())?;
            writeln!(out, "Its key, for nobody else to have: {}", key_path.display())?;
            writeln!(out, "Next: imex pki issue --dir {} --nodes NODE_LIST", args.common.dir.display())?;
        }
    }
    Ok(Exit::Done)
}

fn make(args: &InitArgs) -> Result<(String, String), rcgen::Error> {
    let mut params = params(&args.name, args.days);
    // It issues to nodes only, not to other authorities.
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok((key.serialize_pem(), certificate.pem()))
}

impl Authority {
    /// The authority in a directory.
    pub(super) fn open(dir: &Path) -> Result<Self, Failure> {
        let unusable = |path: &Path, why: String| {
            Failure::because(Exit::NoAuthority, format!("{}: {why}", path.display()))
                .hint(format!("imex pki init --dir {} makes one", dir.display()))
        };
        let (key_path, path) = (key_path(dir), certificate_path(dir));
        let key = read(&key_path, Needed::Secret)?;
        let pem = read(&path, Needed::Public)?;
        let key = KeyPair::from_pem(&key).map_err(|error| unusable(&key_path, error.to_string()))?;
        let facts = facts(&pem)?;
        let issuer = Issuer::from_ca_cert_pem(&pem, key);
        let issuer = issuer.map_err(|error| unusable(&path, error.to_string()))?;
        Ok(Authority { issuer, pem, facts })
    }

    /// Issues one side's certificate, with a key of its own.
    pub(super) fn issue(&self, side: Side, terms: &Terms) -> Result<Issued, Failure> {
        self.sign(side, terms).map_err(|error| failed(&error))
    }

    /// Its certificate, PEM.
    pub(super) fn pem(&self) -> &str {
        &self.pem
    }

    /// What is in its certificate.
    pub(super) fn facts(&self) -> &Certificate {
        &self.facts
    }

    fn sign(&self, side: Side, terms: &Terms) -> Result<Issued, rcgen::Error> {
        let mut params = params(&terms.subject, terms.days);
        params.subject_alt_names.clone_from(&terms.names);
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![match side {
            Side::Server => ExtendedKeyUsagePurpose::ServerAuth,
            Side::Client => ExtendedKeyUsagePurpose::ClientAuth,
        }];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Issued { certificate, key: key.serialize_pem() })
    }
}

fn params(subject: &str, days: i64) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, subject);
    let now = clock::timestamp().as_second();
    let now = OffsetDateTime::from_unix_timestamp(now).expect("this century is in the calendar");
    params.not_before = now - CLOCK_MARGIN;
    params.not_after = now + time::Duration::days(days);
    params
}

/// What is in the first certificate of PEM text.
pub(super) fn facts(pem: &str) -> Result<Certificate, Failure> {
    let unreadable = |why: String| Failure::because(Exit::CertificateUnreadable, why);
    let der =
        CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| unreadable(error.to_string()))?;
    Certificate::read(&der).map_err(|error| unreadable(error.to_string()))
}

fn read(path: &Path, needed: Needed) -> Result<String, Failure> {
    let read = credential::read(&Place::File(path.to_owned()), needed, &ThisMachine);
    let pem = read.map_err(|error| {
        let failure = Failure::because(Exit::NoAuthority, chain(&error));
        let dir = path.parent().unwrap_or(path).display();
        failure.hint(error.hint().unwrap_or_else(|| format!("imex pki init --dir {dir} makes an authority")))
    })?;
    Ok(String::from_utf8_lossy(pem.bytes()).into_owned())
}

fn failed(error: &rcgen::Error) -> Failure {
    Failure::because(Exit::Failed, format!("the certificate could not be made: {error}"))
}

fn key_path(dir: &Path) -> PathBuf {
    dir.join("ca.key")
}

fn certificate_path(dir: &Path) -> PathBuf {
    dir.join("ca.crt")
}
