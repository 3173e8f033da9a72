//! Encryption: TLS by rustls, with ring's cryptography, as everywhere in this workspace.

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
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| wrong(error.to_string()))?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

#[cfg(test)]
mod tests {
    //! The certificates are of an authority made for this test, count for a hundred years, and protect nothing.

    use std::net::SocketAddr;

    use rustls::ServerConfig;
    use rustls::pki_types::PrivateKeyDer;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    use super::*;
    use crate::http::{Incoming, Outgoing, Way};

    const CA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tls/test-ca.pem");
    const SERVER: &[u8] = include_bytes!("tls/test-server.pem");
    const KEY: &[u8] = include_bytes!("tls/test-server.key");

    #[tokio::test]
    async fn an_answer_comes_encrypted_from_whom_the_bundle_trusts() {
        let incoming = ask("localhost", Some(CA)).await.unwrap();
        assert_eq!((incoming.status, &incoming.body[..]), (200, &b"hello"[..]));
        assert!(ask("127.0.0.1", Some(CA)).await.is_ok(), "the certificate has the address as well");
    }

    #[tokio::test]
    async fn a_stranger_is_not_listened_to() {
        let stranger = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&stranger, SERVER).unwrap();
        let failure = ask("localhost", stranger.path().to_str()).await.unwrap_err();
        let Failure::Unreachable { source, .. } = failure else { panic!("{failure:?}") };
        assert!(source.to_string().contains("certificate"), "{source}");
    }

    #[tokio::test]
    async fn a_bundle_without_certificates_is_named() {
        let empty = tempfile::NamedTempFile::new().unwrap();
        let failure = ask("localhost", empty.path().to_str()).await.unwrap_err();
        let told = format!("the certificates of `{}` cannot be read: there are none", empty.path().display());
        assert_eq!(failure.to_string(), told);
    }

    /// Asks a server of this test's by one of its names.
    async fn ask(host: &str, bundle: Option<&str>) -> Result<Incoming, Failure> {
        let port = serve().await.port();
        let endpoint = format!("https://{host}:{port}").parse().unwrap();
        Way::new(endpoint, bundle.map(Into::into)).send(Outgoing::get("/"), 1024).await
    }

    async fn serve() -> SocketAddr {
        let certificates = CertificateDer::pem_slice_iter(SERVER).collect::<Result<_, _>>().unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(certificates, PrivateKeyDer::from_pem_slice(KEY).unwrap())
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            // A client that does not trust it ends the handshake.
            let Ok(mut stream) = TlsAcceptor::from(Arc::new(config)).accept(stream).await else { return };
            let _request = stream.read(&mut [0; 1024]).await;
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
            stream.write_all(answer).await.unwrap();
            stream.flush().await.unwrap();
        });
        address
    }
}
