//! What a connection must be able to do: TCP today, TLS or GSS over TCP without a change elsewhere.

use std::fmt;

use tokio::io::{AsyncRead, AsyncWrite};

/// A byte stream that can carry HTTP/2.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Io for T {}

impl fmt::Debug for dyn Io {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Io")
    }
}
