//! What one connection proved.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use imex_core::AuthFailure;
use rustls::CommonState;
use rustls::client::verify_server_name;
use rustls::pki_types::CertificateDer;
use rustls::server::ParsedCertificate;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;

use crate::failure::{TlsError, in_chain};
use crate::name::PeerName;

/// The label under which both ends derive their common value (RFC 5705, section 4; private use).
const EXPORTER_LABEL: &[u8] = b"EXPERIMENTAL-openimex-binding";

/// A secure connection.
#[derive(Debug)]
pub struct Secured {
    /// The bytes.
    pub io: Io,
    /// What was proven.
    pub session: Session,
}

/// What is known of the far end of one connection.
#[derive(Debug)]
pub struct Session {
    peer: CertificateDer<'static>,
    binding: [u8; 32],
    objection: Objection,
}

/// What the far end said after this end took the two for authenticated. In TLS 1.3 a client is done before the server
/// has judged its certificate, so the refusal comes when the client already waits for an answer.
type Objection = Arc<OnceLock<AuthFailure>>;

/// The bytes of a secure connection. What TLS itself has against them, or the far end says that it has, is a [`TlsError`]
/// in an error of the stream.
#[derive(Debug)]
pub struct Io {
    stream: TlsStream<TcpStream>,
    objection: Objection,
}

impl Secured {
    pub(crate) fn new(stream: TlsStream<TcpStream>) -> Result<Self, TlsError> {
        let (_, state) = stream.get_ref();
        let peer = certificate_of(state)?;
        let binding = match &stream {
            TlsStream::Client(stream) => {
                stream.get_ref().1.export_keying_material([0; 32], EXPORTER_LABEL, None)
            }
            TlsStream::Server(stream) => {
                stream.get_ref().1.export_keying_material([0; 32], EXPORTER_LABEL, None)
            }
        };
        let binding = binding.map_err(|error| TlsError::of(&error))?;
        let objection = Objection::default();
        let io = Io { stream, objection: Arc::clone(&objection) };
        Ok(Secured { io, session: Session { peer, binding, objection } })
    }
}

fn certificate_of(state: &CommonState) -> Result<CertificateDer<'static>, TlsError> {
    let certificates = state.peer_certificates().unwrap_or_default();
    certificates.first().cloned().ok_or_else(|| TlsError::of(&rustls::Error::NoCertificatesPresented))
}

impl Session {
    /// The far end's certificate, DER.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.peer
    }

    /// A value that the two ends of this connection derive alike and nobody else can (RFC 5705): what is proven over it
    /// holds for this connection only.
    pub fn binding(&self) -> &[u8; 32] {
        &self.binding
    }

    /// Whether the far end's certificate is good for a name.
    pub fn is_good_for(&self, name: &PeerName) -> Result<(), TlsError> {
        let parsed = ParsedCertificate::try_from(&self.peer).map_err(|error| TlsError::of(&error))?;
        verify_server_name(&parsed, name.get()).map_err(|error| TlsError::of(&error))
    }

    /// What the far end objected to after the handshake, if it did.
    pub fn objection(&self) -> Option<AuthFailure> {
        self.objection.get().copied()
    }
}

impl Io {
    fn note<T>(&self, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        result.map_err(|error| {
            let Some(said) = in_chain(&error) else { return error };
            let error = TlsError::of(said);
            let _ = self.objection.set(error.failure);
            error.into()
        })
    }
}

impl AsyncRead for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, into);
        self.note(read)
    }
}

impl AsyncWrite for Io {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.note(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.note(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
