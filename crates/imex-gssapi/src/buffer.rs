//! Memory that the library allocated, until it is copied and given back.

use std::fmt;
use std::sync::Arc;

use crate::library::Api;
use crate::raw;

/// A buffer for the library to fill; what it then holds is released at the end.
pub(crate) struct Filled {
    api: Arc<Api>,
    raw: raw::Buffer,
}

impl Filled {
    pub(crate) fn empty(api: &Arc<Api>) -> Self {
        Filled { api: Arc::clone(api), raw: raw::Buffer::EMPTY }
    }

    /// For the call that fills it.
    pub(crate) fn as_mut_ptr(&mut self) -> *mut raw::Buffer {
        &raw mut self.raw
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        if self.raw.value.is_null() {
            return &[];
        }
        // SAFETY: the library has set both, and keeps what they describe until the release in `drop`.
        unsafe { std::slice::from_raw_parts(self.raw.value.cast(), self.raw.length) }
    }

    /// The bytes, unless there are none.
    pub(crate) fn token(&self) -> Option<Vec<u8>> {
        Some(self.bytes().to_vec()).filter(|bytes| !bytes.is_empty())
    }
}

impl Drop for Filled {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: the buffer is empty or was filled by the library; it is not used afterwards.
        unsafe { (self.api.release_buffer)(&raw mut minor, &raw mut self.raw) };
    }
}

impl fmt::Debug for Filled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filled").field("length", &self.raw.length).finish_non_exhaustive()
    }
}
