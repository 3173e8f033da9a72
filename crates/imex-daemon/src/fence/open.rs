//! No security; but where the far end wants some, both sides are told so, and not that something is malformed.
//!
//! It is the commonest mistake with security: one node was forgotten. The records of TLS are known by their first byte
//! (RFC 8446, section 5.1), with which neither end of HTTP/2 begins.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use imex_core::AuthFailure;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;

use super::AuthError;

/// The first byte of a handshake record, with which a TLS client begins.
const HANDSHAKE: u8 = 22;

/// The first byte of an alert, with which a TLS server answers what is no TLS.
const ALERT: u8 = 21;

/// The first byte of a node that wants Kerberos (`imex_gss::frame`).
const KERBEROS: u8 = b'I';

/// A frame that tells such a node that this one wants something else.
const NO_KERBEROS_HERE: [u8; 5] = [2, 0, 0, 1, 1];

/// The fatal alert `handshake_failure` as a record.
const NO_TLS_HERE: [u8; 7] = [ALERT, 3, 3, 0, 2, 2, 40];

/// A connection as it is.
#[derive(Debug)]
pub(super) struct Plain {
    tcp: TcpStream,
    heard: FirstByte,
}

/// The first byte that came.
pub(super) type FirstByte = Arc<OnceLock<u8>>;

/// A connection that this daemon made.
pub(super) fn dialled(tcp: TcpStream) -> (Plain, FirstByte) {
    let heard = FirstByte::default();
    (Plain { tcp, heard: Arc::clone(&heard) }, heard)
}

/// A connection that somebody made, who must not begin with TLS.
pub(super) async fn accepted(mut tcp: TcpStream) -> Result<TcpStream, AuthError> {
    let mut first = [0];
    match tcp.peek(&mut first).await {
        Ok(1) if first[0] == HANDSHAKE || first[0] == KERBEROS => {
            let words: &[u8] = if first[0] == KERBEROS { &NO_KERBEROS_HERE } else { &NO_TLS_HERE };
            // Whoever cannot be told finds the connection closed.
            let _ = tcp.write_all(words).await;
            imex_tls::let_read(tcp).await;
            Err(AuthFailure::NotOffered.into())
        }
        // What is wrong with the connection shows when it is read.
        Ok(_) | Err(_) => Ok(tcp),
    }
}

/// What a first byte says about the far end.
pub(super) fn objection(heard: &FirstByte) -> Option<AuthFailure> {
    heard.get().filter(|first| **first == ALERT).map(|_| AuthFailure::NotOffered)
}

impl AsyncRead for Plain {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.tcp).poll_read(cx, into);
        if let Some(first) = into.filled().get(before) {
            let _ = self.heard.set(*first);
        }
        read
    }
}

impl AsyncWrite for Plain {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}
