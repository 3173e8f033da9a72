//! A stream that remembers that one of its ends does not believe the other: HTTP/2 above it keeps of an error its kind
//! and its words alone, and by those it cannot be told from what a firewall does.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Who does not believe whom, and why; empty while all is well.
pub(crate) type Words = Arc<OnceLock<String>>;

/// A stream whose errors are looked at.
#[derive(Debug)]
pub(crate) struct Attentive<I> {
    io: I,
    is_distrust: fn(&io::Error) -> bool,
    words: Words,
}

impl<I> Attentive<I> {
    pub(crate) fn new(io: I, is_distrust: fn(&io::Error) -> bool) -> Self {
        Attentive { io, is_distrust, words: Words::default() }
    }

    /// Where it will be said.
    pub(crate) fn words(&self) -> Words {
        Arc::clone(&self.words)
    }

    fn note<T>(&self, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if let Poll::Ready(Err(error)) = &result
            && (self.is_distrust)(error)
        {
            // The first says why; what follows from it is no news.
            let _ = self.words.set(error.to_string());
        }
        result
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Attentive<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.io).poll_read(cx, into);
        self.note(read)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Attentive<I> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, slices);
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.io).poll_flush(cx);
        self.note(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
