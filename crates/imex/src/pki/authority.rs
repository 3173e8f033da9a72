//! The authority: made by `imex pki init`, kept in a directory, used by `imex pki issue`.

use std::io::Write;
use std::path::{Path, PathBuf};

use imex_config::credential::{self, Credential, Place, Secrecy as Needed};
use imex_config::security::{Identity, Tls};
use imex_config::{ThisMachine, chain};
use imex_tls::{Certificate, Ends};
use jiff::{SignedDuration, Timestamp, Unit};
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
use super::lock::Lock;
use crate::clock;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format};

/// How long before its making a certificate begins to count: the clocks of a rack may differ by minutes.
const CLOCK_MARGIN: time::Duration = time::Duration::hours(1);

/// An authority that can issue.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    path: PathBuf,
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

/// About an authority that is there already.
const REPLACING: &str =
    "--force replaces it; what was issued with an authority's old key then counts no more";

/// `imex pki init`.
pub(super) fn init(args: &InitArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let _lock = Lock::make(&args.common.dir)?;
    let (key, certificate) = make(args).map_err(|error| failed(&error))?;
    let facts = facts(&certificate)?;
    let (key_path, path) = (key_path(&args.common.dir), certificate_path(&args.common.dir));
    let drafts = [
        Draft { path: key_path.clone(), secrecy: Secrecy::Secret, text: key },
        Draft { path: path.clone(), secrecy: Secrecy::Public, text: certificate },
    ];
    files::write(&drafts, Existing::from_force(args.common.force, REPLACING.to_owned()))?;
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
        let (kept_key, kept) = (read(&key_path, Needed::Secret)?, read(&path, Needed::Public)?);
        let (key, pem) = (text(&kept_key), text(&kept));
        let key = KeyPair::from_pem(&key).map_err(|error| unusable(&key_path, error.to_string()))?;
        let facts = facts(&pem)?;
        fit(kept_key, kept)?;
        let issuer = Issuer::from_ca_cert_pem(&pem, key);
        let issuer = issuer.map_err(|error| unusable(&path, error.to_string()))?;
        Ok(Authority { issuer, path, pem, facts })
    }

    /// Whether what it issues for so many days counts as long: not every verifier looks at the authority's own dates, but
    /// some do.
    pub(super) fn outlives(&self, days: i64) -> Result<(), Failure> {
        let left = self.facts.not_after.duration_since(clock::timestamp());
        if SignedDuration::from_hours(24 * days) <= left {
            return Ok(());
        }
        let end = self.facts.not_after.round(Unit::Second).unwrap_or(self.facts.not_after);
        let message =
            format!("{}: the authority counts until {end}, less than {days} days", self.path.display());
        let hint = match left.as_hours() / 24 {
            left @ 1.. => format!("--days {left} is the most; imex pki init --force makes a new authority"),
            ..=0 => "imex pki init --force makes a new authority".to_owned(),
        };
        Err(Failure::because(Exit::NoAuthority, message).hint(hint))
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

fn read(path: &Path, secrecy: Needed) -> Result<Credential, Failure> {
    let place = Place::File(path.to_owned());
    let pem = credential::read(&place, secrecy, &ThisMachine).map_err(|error| {
        let failure = Failure::because(Exit::NoAuthority, chain(&error));
        let dir = path.parent().unwrap_or(path).display();
        failure.hint(error.hint().unwrap_or_else(|| format!("imex pki init --dir {dir} makes an authority")))
    })?;
    Ok(Credential { key: "", line: None, place, secrecy, pem })
}

fn text(kept: &Credential) -> String {
    String::from_utf8_lossy(kept.pem.bytes()).into_owned()
}

/// Whether a key is that of a certificate: with another one, all that is issued would be refused everywhere.
fn fit(key: Credential, certificate: Credential) -> Result<(), Failure> {
    let identity = Identity { key, authority: certificate.clone(), certificate };
    let both = Tls { server: identity.clone(), client: identity, target_override: None };
    match Ends::new(&both) {
        Ok(_) => Ok(()),
        Err(found) => {
            let why = found.first().map(|(_, error)| error.to_string()).unwrap_or_default();
            let hint = "restore the two as imex pki init made them";
            Err(Failure::because(Exit::NoAuthority, why).hint(hint))
        }
    }
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
