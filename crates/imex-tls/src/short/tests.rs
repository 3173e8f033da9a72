use std::time::Duration;

use imex_core::AuthFailure;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::RootCertStore;

use super::*;
use crate::ends::{verify_clients, verify_servers};
use crate::failure::TlsError;

/// Layers of the forest, and how many certificates of the same name there are in each: what fits into a handshake.
const LAYERS: usize = 6;
const WIDTH: usize = 30;

#[test]
fn a_forest_of_made_up_authorities_costs_nothing_at_either_end() {
    let site = authority("site");
    let forest = Forest::grow();
    let client = verify_clients(roots(&site)).verify_client_cert(&forest.leaf, &forest.between, now());
    let server = verify_servers(roots(&site)).verify_server_cert(
        &forest.leaf,
        &forest.between,
        &ServerName::try_from("node").unwrap(),
        &[],
        now(),
    );
    // Whoever walks the forest finds, after seconds, that it leads nowhere, and says that.
    for error in [client.unwrap_err(), server.unwrap_err()] {
        let error = TlsError::of(&error);
        assert_eq!(error.failure, AuthFailure::Invalid);
        assert!(error.detail.contains("180 certificates stand between"), "{}", error.detail);
    }
}

#[test]
fn a_chain_of_the_longest_that_may_be_is_believed_and_one_more_is_not() {
    let site = authority("site");
    for (length, good) in [(0, true), (1, true), (MAX_BETWEEN, true), (MAX_BETWEEN + 1, false)] {
        let (leaf, between) = chain(&site, length);
        assert_eq!(between.len(), length);
        let client = verify_clients(roots(&site)).verify_client_cert(&leaf, &between, now());
        assert_eq!(client.is_ok(), good, "{length}: {client:?}");
        let name = ServerName::try_from("node").unwrap();
        let server = verify_servers(roots(&site)).verify_server_cert(&leaf, &between, &name, &[], now());
        assert_eq!(server.is_ok(), good, "{length}: {server:?}");
    }
}

/// Certificates each of which may have been issued by any of the next layer, and none of which leads anywhere.
struct Forest {
    leaf: CertificateDer<'static>,
    between: Vec<CertificateDer<'static>>,
}

impl Forest {
    fn grow() -> Self {
        let layers: Vec<_> = (0..=LAYERS).map(|layer| authority(&format!("layer {layer}"))).collect();
        let mut between = Vec::new();
        for layer in 0..LAYERS {
            for _ in 0..WIDTH {
                between.push(issue(ca(&format!("layer {layer}")), &layers[layer + 1]));
            }
        }
        let leaf = CertificateParams::new(["node".to_owned()]).unwrap();
        Forest { leaf: issue(leaf, &layers[0]), between }
    }
}

fn chain(
    site: &CertifiedIssuer<'static, KeyPair>,
    length: usize,
) -> (CertificateDer<'static>, Vec<CertificateDer<'static>>) {
    let mut issuers: Vec<CertifiedIssuer<'static, KeyPair>> = Vec::new();
    for n in 0..length {
        let above = issuers.last().unwrap_or(site);
        let next = CertifiedIssuer::signed_by(ca(&format!("between {n}")), key(), above).unwrap();
        issuers.push(next);
    }
    let leaf = CertificateParams::new(["node".to_owned()]).unwrap();
    let leaf = issue(leaf, issuers.last().unwrap_or(site));
    (leaf, issuers.iter().rev().map(|issuer| issuer.der().clone()).collect())
}

fn issue(parameters: CertificateParams, by: &CertifiedIssuer<'static, KeyPair>) -> CertificateDer<'static> {
    parameters.signed_by(&key(), by).unwrap().der().clone()
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    CertifiedIssuer::self_signed(ca(name), key()).unwrap()
}

fn ca(name: &str) -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters
}

fn key() -> KeyPair {
    KeyPair::generate().unwrap()
}

fn roots(site: &CertifiedIssuer<'static, KeyPair>) -> Arc<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(site.der().clone()).unwrap();
    Arc::new(roots)
}

fn now() -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(1_800_000_000))
}
