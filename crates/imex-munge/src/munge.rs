//! munged behind threads and deadlines.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::failure::{Fault, MungeError};
use crate::library::{Api, LoadError, Opened};

/// How many calls run at once. munged answers in a fraction of a millisecond with two threads of its own; more calls
/// than that would only wait in its queue.
pub const BLOCKING_CALLS: usize = 4;

/// How long anybody waits for one call. munged asks nobody, so what takes longer does not come. Two nodes that meet make
/// four calls one after the other, for which the one that dials has 5 s. The library tries for some seconds more; the call
/// goes on, and what it brings is dropped.
pub const CALL_DEADLINE: Duration = Duration::from_secs(1);

/// The local munged. Cheap to clone; all clones are one.
#[derive(Clone, Debug)]
pub struct Munge(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    api: Api,
    socket: Option<CString>,
    places: Arc<Semaphore>,
}

impl Munge {
    /// Loads the library; munged may be started later. `socket` is munged's, where it is not the usual one, without a NUL
    /// byte.
    pub fn load(socket: Option<&Path>) -> Result<Self, LoadError> {
        let api = Api::load()?;
        // Whoever read the path has refused NUL bytes; an empty one names no socket.
        let socket = socket.map(|path| CString::new(path.as_os_str().as_bytes()).unwrap_or_default());
        Ok(Munge(Arc::new(Inner { api, socket, places: Arc::new(Semaphore::new(BLOCKING_CALLS)) })))
    }

    /// Makes a credential that carries `payload` and that only the user `reader` can open.
    pub async fn encode(&self, payload: Vec<u8>, reader: u32) -> Result<Vec<u8>, MungeError> {
        self.call("make a MUNGE credential", move |inner| {
            inner.api.encode(&payload, reader, inner.socket.as_deref())
        })
        .await
    }

    /// Opens a credential, which munged lets happen once on each machine.
    pub async fn decode(&self, credential: Vec<u8>) -> Result<Opened, MungeError> {
        self.call("open a MUNGE credential", move |inner| {
            inner.api.decode(&credential, inner.socket.as_deref())
        })
        .await
    }

    /// Runs a call on a thread of its own, within the deadline. One that takes longer keeps its place, so that calls
    /// that nobody waits for do not pile up.
    async fn call<T: Send + 'static>(
        &self,
        name: &'static str,
        call: impl FnOnce(&Inner) -> Result<T, MungeError> + Send + 'static,
    ) -> Result<T, MungeError> {
        let silent = move || MungeError::new(name, Fault::NotRunning, "munged does not answer");
        let inner = Arc::clone(&self.0);
        let called = timeout(CALL_DEADLINE, async move {
            let place = Arc::clone(&inner.places).acquire_owned().await.map_err(|_| silent())?;
            let thread = tokio::task::spawn_blocking(move || {
                let result = call(&inner);
                drop(place);
                result
            });
            // A call that panicked has given up its place, and no answer.
            thread.await.map_err(|_| silent())?
        });
        called.await.unwrap_or_else(|_| Err(silent()))
    }
}
