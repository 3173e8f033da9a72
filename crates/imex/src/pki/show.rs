//! `imex pki show`: what is in certificates, and whether they count now.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use imex_tls::Certificate;
use imex_tls::judge::NEAR_END;
use jiff::Timestamp;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde::Serialize;

use super::args::ShowArgs;
use super::files::in_words;
use crate::clock;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format};

/// Shows every certificate of every file; fails if one does not count now.
pub(super) fn run(args: &ShowArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let now = clock::timestamp();
    let mut shown = Vec::new();
    for path in &args.files {
        shown.extend(read(path)?.into_iter().map(|facts| Shown::of(path, facts, now)));
    }
    match crate::cli::format(args.json) {
        Format::Json => output::json(&Answer { certificates: &shown }, out)?,
        Format::Text => shown.iter().try_for_each(|one| one.write(out))?,
    }
    let counts = shown.iter().all(|one| matches!(one.standing, Standing::Counts | Standing::NearItsEnd));
    Ok(if counts { Exit::Done } else { Exit::CertificateOutOfTime })
}

#[derive(Serialize)]
struct Answer<'a> {
    certificates: &'a [Shown],
}

#[derive(Serialize)]
struct Shown {
    file: PathBuf,
    subject: String,
    issuer: String,
    purpose: String,
    names: Vec<String>,
    not_before: Timestamp,
    not_after: Timestamp,
    standing: Standing,
    sha256: String,
}

/// Whether a certificate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Standing {
    NotYet,
    Counts,
    NearItsEnd,
    Expired,
}

impl Shown {
    fn of(path: &Path, facts: Certificate, now: Timestamp) -> Self {
        let standing = match () {
            () if now < facts.not_before => Standing::NotYet,
            () if facts.not_after < now => Standing::Expired,
            () if facts.not_after.duration_since(now) < NEAR_END => Standing::NearItsEnd,
            () => Standing::Counts,
        };
        Shown {
            file: path.to_owned(),
            subject: facts.subject,
            issuer: facts.issuer,
            purpose: facts.purpose.to_string(),
            names: facts.names,
            not_before: facts.not_before,
            not_after: facts.not_after,
            standing,
            sha256: facts.fingerprint.to_string(),
        }
    }

    fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let standing = match self.standing {
            Standing::NotYet => "does not count yet",
            Standing::Counts => "counts",
            Standing::NearItsEnd => "counts, but not for long",
            Standing::Expired => "has expired",
        };
        let names = if self.names.is_empty() { "nobody by name".to_owned() } else { self.names.join(", ") };
        writeln!(out, "{}", self.file.display())?;
        writeln!(out, "  subject   {}", self.subject)?;
        writeln!(out, "  issuer    {}", self.issuer)?;
        writeln!(out, "  purpose   {}", self.purpose)?;
        writeln!(out, "  good for  {names}")?;
        writeln!(out, "  from      {}", self.not_before)?;
        writeln!(out, "  until     {} ({standing})", self.not_after)?;
        writeln!(out, "  sha256    {}", self.sha256)
    }
}

fn read(path: &Path) -> Result<Vec<Certificate>, Failure> {
    let unreadable =
        |why: String| Failure::because(Exit::CertificateUnreadable, format!("{}: {why}", path.display()));
    let text = fs::read(path).map_err(|error| unreadable(in_words(&error)))?;
    let mut found = Vec::new();
    for der in CertificateDer::pem_slice_iter(&text) {
        let der = der.map_err(|error| unreadable(error.to_string()))?;
        found.push(Certificate::read(&der).map_err(|error| unreadable(error.to_string()))?);
    }
    if found.is_empty() {
        return Err(unreadable("there is no certificate in it".to_owned()));
    }
    Ok(found)
}
