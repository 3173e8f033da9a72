//! Encryption: TLS by rustls, with cryptography that needs no C compiler to build.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::failure::Failure;

/// A client that trusts the certificates of `bundle`, a PEM file, or else those that the system trusts.
pub(crate) fn client(bundle: Option<&Path>) -> Result<Arc<ClientConfig>, Failure> {
    let mut roots = RootCertStore::empty();
    let from = bundle.map_or_else(|| "the system".to_owned(), |path| format!("`{}`", path.display()));
    let wrong = |why: String| Failure::Certificates { from: from.clone(), why };
    match bundle {
        Some(path) => {
            let certificates =
                CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))?;
            for certificate in certificates {
                let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
                roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
            }
        }
        None => {
            // Systems carry some that are odd; what matters is that there are any.
            let loaded = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(loaded.certs);
        }
    }
    if roots.is_empty() {
        return Err(wrong("there are none".to_owned()));
    }
    let provider = Arc::new(rustls_graviola::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| wrong(error.to_string()))?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}
