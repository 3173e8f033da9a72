//! Ends for which certificates prove nothing: each run of a daemon makes its own, and believes any.
//!
//! They give a connection that nobody can read or change, to somebody unknown. Who that is, the two must prove to each
//! other over [`Session::binding`](crate::Session::binding): whoever sits between them has two connections, with two
//! values.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, DistinguishedName, SignatureScheme};
use thiserror::Error;
use tokio::net::TcpStream;

use crate::ends::Ends;
use crate::failure::TlsError;
use crate::name::PeerName;
use crate::provider;
use crate::session::Secured;

/// The name in every such certificate. It is not looked at.
const NAME: &str = "imexd.invalid";

/// The two ends of every connection of one run.
#[derive(Clone, Debug)]
pub struct RunEnds {
    ends: Ends,
    name: PeerName,
}

/// Why there are no ends: the system gave no random numbers, or the library is broken.
#[derive(Debug, Error)]
#[error("make a certificate for this run: {0}")]
pub struct RunError(String);

impl RunEnds {
    /// Makes a key and a certificate, which live as long as this.
    pub fn new() -> Result<Self, RunError> {
        let failed = |error: &dyn std::fmt::Display| RunError(error.to_string());
        let key = rcgen::KeyPair::generate().map_err(|error| failed(&error))?;
        let parameters = rcgen::CertificateParams::new([NAME.to_owned()]);
        let certificate = parameters.and_then(|parameters| parameters.self_signed(&key));
        let certificate = certificate.map_err(|error| failed(&error))?.der().clone();
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let key = provider().key_provider.load_private_key(key).map_err(|error| failed(&error))?;
        let name = PeerName::of_host(NAME).map_err(|error| failed(&error))?;
        let certified = Arc::new(CertifiedKey::new(vec![certificate], key));
        let any = Arc::new(Anybody(provider().signature_verification_algorithms));
        let clients: Arc<dyn ClientCertVerifier> = any.clone();
        Ok(RunEnds { ends: Ends::of(Arc::clone(&certified), clients, certified, any), name })
    }

    /// Secures a connection that this daemon made. It has no deadline.
    pub async fn connect(&self, tcp: TcpStream) -> Result<Secured, TlsError> {
        self.ends.connect(tcp, &self.name).await
    }

    /// Secures a connection that somebody made. It has no deadline.
    pub async fn accept(&self, tcp: TcpStream) -> Result<Secured, TlsError> {
        self.ends.accept(tcp).await
    }
}

/// Believes any certificate, but only from whoever has its key: the handshake's signature is verified.
#[derive(Debug)]
struct Anybody(WebPkiSupportedAlgorithms);

impl Anybody {
    fn verify(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0)
    }
}

/// The ends speak TLS 1.3 only, so this is never asked.
fn no_tls12() -> Result<HandshakeSignatureValid, rustls::Error> {
    Err(rustls::Error::General("TLS 1.2 is not spoken".to_owned()))
}

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        no_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verify(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

impl ClientCertVerifier for Anybody {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        no_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.verify(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn two_runs_share_a_value_that_differs_on_every_connection() {
        let (one, other) = (RunEnds::new().unwrap(), RunEnds::new().unwrap());
        let (mut near, far) = join(&one, &other).await;
        assert_eq!(near.session.binding(), far.session.binding());
        assert_ne!(near.session.certificate(), far.session.certificate());
        let (again, _) = join(&one, &other).await;
        assert_ne!(near.session.binding(), again.session.binding());
        near.io.write_all(b"x").await.unwrap();
        near.io.flush().await.unwrap();
        let mut io = far.io;
        assert_eq!(io.read_u8().await.unwrap(), b'x');
    }

    async fn join(dialler: &RunEnds, acceptor: &RunEnds) -> (Secured, Secured) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let dial = async { TcpStream::connect(listener.local_addr().unwrap()).await.unwrap() };
        let (near, far) = tokio::join!(dial, listener.accept());
        let (near, far) = tokio::join!(dialler.connect(near), acceptor.accept(far.unwrap().0));
        (near.unwrap(), far.unwrap())
    }
}
