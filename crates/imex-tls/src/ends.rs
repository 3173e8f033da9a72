//! The two ends of every connection.

use std::sync::Arc;
use std::time::Duration;

use imex_config::security::Tls;
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::certificate::{Certificate, Unreadable};
use crate::failure::TlsError;
use crate::identity::{IdentityError, Parsed};
use crate::name::PeerName;
use crate::provider;
use crate::session::Secured;
use crate::short::ShortOnly;

/// What is spoken over the connection (RFC 9113, section 3.2): a port that speaks something else is told from one
/// whose certificate is wrong.
const PROTOCOL: &[u8] = b"h2";

/// How long a turned-away peer may take to read why: a few round trips.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What this daemon shows and whom it believes, on either end of a connection.
#[derive(Clone)]
pub struct Ends {
    acceptor: TlsAcceptor,
    connector: TlsConnector,
    server: Arc<CertifiedKey>,
    client: Arc<CertifiedKey>,
}

/// The two halves of an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Shown to those who dial this daemon.
    Server,
    /// Shown to those whom it dials.
    Client,
}

impl Ends {
    /// The ends for six credentials, or everything that is wrong with them. Whether they are good for this node and at
    /// this time is [`crate::judge()`]'s.
    pub fn new(tls: &Tls) -> Result<Self, Vec<(Kind, IdentityError)>> {
        match (Parsed::read(&tls.server), Parsed::read(&tls.client)) {
            (Ok(server), Ok(client)) => {
                Ok(Self::of(server.certified, verify_clients(server.authority), client.certified, {
                    verify_servers(client.authority)
                }))
            }
            (server, client) => {
                let of = |kind, errors: Vec<_>| errors.into_iter().map(move |error| (kind, error));
                let server = of(Kind::Server, server.err().unwrap_or_default());
                Err(server.chain(of(Kind::Client, client.err().unwrap_or_default())).collect())
            }
        }
    }

    pub(crate) fn of(
        server: Arc<CertifiedKey>,
        clients: Arc<dyn ClientCertVerifier>,
        client: Arc<CertifiedKey>,
        servers: Arc<dyn ServerCertVerifier>,
    ) -> Self {
        Ends {
            acceptor: TlsAcceptor::from(Arc::new(server_config(&server, clients))),
            connector: TlsConnector::from(Arc::new(client_config(&client, servers))),
            server,
            client,
        }
    }

    /// Secures a connection to a node that goes by `name`. It has no deadline.
    pub async fn connect(&self, tcp: TcpStream, name: &PeerName) -> Result<Secured, TlsError> {
        let stream = self.connector.connect(name.get().clone(), tcp).await;
        let stream = stream.map_err(|error| TlsError::of_io(&error))?;
        Secured::new(stream.into())
    }

    /// Secures a connection that somebody made. It has no deadline. Who the far end is has yet to be asked of the
    /// session, when it has said who it claims to be.
    pub async fn accept(&self, tcp: TcpStream) -> Result<Secured, TlsError> {
        match self.acceptor.accept(tcp).into_fallible().await {
            Ok(stream) => Secured::new(stream.into()),
            Err((error, tcp)) => {
                let error = TlsError::of_io(&error);
                let_read(tcp).await;
                Err(error)
            }
        }
    }

    /// What is in the certificate that one half shows.
    pub fn certificate(&self, kind: Kind) -> Result<Certificate, Unreadable> {
        let certified = match kind {
            Kind::Server => &self.server,
            Kind::Client => &self.client,
        };
        Certificate::read(certified.cert.first().expect("an identity has a certificate"))
    }
}

/// Lets the far end read why it was turned away, for half a second at most: closing while its own bytes are unread would
/// reset the connection, and take the alert with it.
pub async fn let_read(tcp: TcpStream) {
    let _ = timeout(LAST_WORDS, drain(tcp)).await;
}

async fn drain(mut tcp: TcpStream) {
    if tcp.shutdown().await.is_err() {
        return;
    }
    let mut unread = [0; 1024];
    while tcp.read(&mut unread).await.is_ok_and(|read| read > 0) {}
}

pub(crate) fn verify_clients(authority: Arc<RootCertStore>) -> Arc<dyn ClientCertVerifier> {
    let verifier = WebPkiClientVerifier::builder_with_provider(authority, provider());
    Arc::new(ShortOnly(verifier.build().expect("an authority is read with at least one certificate")))
}

pub(crate) fn verify_servers(authority: Arc<RootCertStore>) -> Arc<dyn ServerCertVerifier> {
    let verifier = WebPkiServerVerifier::builder_with_provider(authority, provider());
    Arc::new(ShortOnly(verifier.build().expect("an authority is read with at least one certificate")))
}

fn server_config(certified: &Arc<CertifiedKey>, clients: Arc<dyn ClientCertVerifier>) -> ServerConfig {
    let builder = ServerConfig::builder_with_provider(provider());
    let builder = builder.with_protocol_versions(&[&TLS13]).expect("ring speaks TLS 1.3");
    let resolver = SingleCertAndKey::from(Arc::clone(certified));
    let mut config = builder.with_client_cert_verifier(clients).with_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    // Nothing is resumed: a resumed session would be judged by the authority of its first handshake.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config
}

fn client_config(certified: &Arc<CertifiedKey>, servers: Arc<dyn ServerCertVerifier>) -> ClientConfig {
    let builder = ClientConfig::builder_with_provider(provider());
    let builder = builder.with_protocol_versions(&[&TLS13]).expect("ring speaks TLS 1.3");
    let resolver = SingleCertAndKey::from(Arc::clone(certified));
    let mut config = builder
        .dangerous()
        .with_custom_certificate_verifier(servers)
        .with_client_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.resumption = Resumption::disabled();
    // The name is in the map that both have; whoever listens need not read it.
    config.enable_sni = false;
    config
}

impl std::fmt::Debug for Ends {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ends").finish_non_exhaustive()
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Kind::Server => "server",
            Kind::Client => "client",
        })
    }
}
