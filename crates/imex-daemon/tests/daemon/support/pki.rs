//! Authorities and certificates as the tests need them, good and bad.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, SanType,
};
use time::{Duration, OffsetDateTime};

use super::Rack;

/// The two sides of a node, as the keys and files call them.
pub(crate) const SIDES: [&str; 2] = ["server", "client"];

/// An authority.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// A certificate with its key, both PEM.
pub(crate) struct Issued {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// What a certificate says.
#[derive(Clone)]
pub(crate) struct Terms {
    /// Whom it is good for.
    pub(crate) name: String,
    /// From when, counted from now.
    pub(crate) begins: Duration,
    /// Until when, counted from now.
    pub(crate) ends: Duration,
}

impl Terms {
    /// A year for a name.
    pub(crate) fn good(name: impl ToString) -> Self {
        Terms { name: name.to_string(), begins: -Duration::HOUR, ends: Duration::days(365) }
    }
}

impl Authority {
    /// A new one.
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Authority { issuer: Issuer::new(params, key), pem }
    }

    /// Issues a certificate for one side.
    pub(crate) fn issue(&self, side: &str, terms: &Terms) -> Issued {
        let now = OffsetDateTime::now_utc();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, &terms.name);
        params.not_before = now + terms.begins;
        params.not_after = now + terms.ends;
        let name = match terms.name.parse() {
            Ok(ip) => SanType::IpAddress(ip),
            Err(_) => SanType::DnsName(terms.name.clone().try_into().unwrap()),
        };
        params.subject_alt_names = vec![name];
        params.extended_key_usages = vec![match side {
            "server" => ExtendedKeyUsagePurpose::ServerAuth,
            _ => ExtendedKeyUsagePurpose::ClientAuth,
        }];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Issued { certificate, key: key.serialize_pem() }
    }

    /// Its own certificate, PEM.
    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }
}

impl Rack {
    /// Switches TLS on for every node, with good credentials.
    pub(crate) fn secure_all(&self, nodes: usize, authority: &Authority) {
        for k in 0..nodes {
            self.secure(k, authority, &Terms::good(self.address(k)));
        }
    }

    /// Switches TLS on for a node, with credentials on these terms for both sides.
    pub(crate) fn secure(&self, k: usize, authority: &Authority, terms: &Terms) {
        self.set(k, "IMEX_ENABLE_AUTH_ENCRYPTION", 1);
        self.set(k, "IMEX_AUTH_SOURCE", "FILE");
        for side in SIDES {
            let upper = side.to_uppercase();
            let file = |part: &str| self.credential(k, side, part);
            self.set(k, &format!("IMEX_{upper}_KEY"), file("key").display());
            self.set(k, &format!("IMEX_{upper}_CERT"), file("crt").display());
            self.set(k, &format!("IMEX_{upper}_CERT_AUTH"), file("ca").display());
            write_secret(&file("ca"), authority.pem());
            self.show(k, side, &authority.issue(side, terms));
        }
    }

    /// Replaces what one side of a node shows.
    pub(crate) fn show(&self, k: usize, side: &str, issued: &Issued) {
        write_secret(&self.credential(k, side, "crt"), &issued.certificate);
        write_secret(&self.credential(k, side, "key"), &issued.key);
    }

    /// Replaces whom both sides of a node trust.
    pub(crate) fn trust(&self, k: usize, pem: &str) {
        SIDES.iter().for_each(|side| write_secret(&self.credential(k, side, "ca"), pem));
    }

    /// Where a credential of a node is.
    pub(crate) fn credential(&self, k: usize, side: &str, part: &str) -> std::path::PathBuf {
        self.dir(k).join(format!("{side}.{part}"))
    }
}

fn write_secret(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}
