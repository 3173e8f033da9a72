//! The bytes under one HTTP/2 connection, held back so that what belongs together leaves together.
//!
//! The HTTP/2 layer flushes after each of its own steps: the preface, its settings, the acknowledgement of the
//! other's settings, each message. On a link that is being opened these are five segments and as many wake-ups of
//! the far end; held back until there is nothing left to do but wait they are two.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::io::Io;

/// How much is held back before it leaves anyway: one full HTTP/2 frame. Beyond it, copying costs more than a
/// system call saves.
const HELD_MAX: usize = 16 * 1024;

/// A byte stream whose writes leave when [`Wire::poll_release`] is called.
///
/// A handle: the HTTP/2 layer owns one, the driver of the link another. Both live in one task, so the lock is never
/// contended.
#[derive(Clone, Debug)]
pub(crate) struct Wire(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    io: Box<dyn Io>,
    held: BytesMut,
}

impl Wire {
    pub(crate) fn new(io: impl Io) -> Self {
        let held = BytesMut::new();
        let io = Box::new(io);
        Wire(Arc::new(Mutex::new(Inner { io, held })))
    }

    /// Lets everything that is held leave. Ready when the system has all of it.
    pub(crate) fn poll_release(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.lock().poll_release(cx)
    }

    /// The same for whoever is about to wait for the far end: ready with `ended` only if the connection is gone.
    pub(crate) fn poll_release_or<T>(&self, cx: &mut Context<'_>, ended: T) -> Poll<T> {
        match self.poll_release(cx) {
            Poll::Ready(Err(_)) => Poll::Ready(ended),
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Pending,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("no holder of the lock panics")
    }
}

impl Inner {
    fn poll_release(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.held.is_empty() {
            return Poll::Ready(Ok(()));
        }
        while !self.held.is_empty() {
            let written = ready!(Pin::new(&mut *self.io).poll_write(cx, &self.held))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.held.advance(written);
        }
        // Most links are idle most of the time: they hold no buffer then.
        self.held = BytesMut::new();
        Pin::new(&mut *self.io).poll_flush(cx)
    }
}

impl AsyncRead for Wire {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.lock().io).poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut inner = self.lock();
        if inner.held.len() >= HELD_MAX {
            ready!(inner.poll_release(cx))?;
        }
        inner.held.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut inner = self.lock();
        ready!(inner.poll_release(cx))?;
        Pin::new(&mut *inner.io).poll_shutdown(cx)
    }
}
