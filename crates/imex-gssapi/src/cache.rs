//! Throwing tickets away: GSSAPI has no call for it, so this asks the library below.

use std::ffi::{CString, c_char, c_void};
use std::fmt;
use std::ptr;

use imex_clib::Library;

use crate::library::LoadError;

/// The library's name as its ABI fixes it. GSSAPI's needs it, so it is there wherever that one is.
const LIBRARY: &str = "libkrb5.so.3";

/// `krb5_context` and `krb5_ccache`: pointers to what only the library knows.
type Context = *mut c_void;
type Cache = *mut c_void;

/// The functions (krb5.h).
pub(crate) struct Caches {
    init_context: unsafe extern "C" fn(*mut Context) -> i32,
    free_context: unsafe extern "C" fn(Context),
    resolve: unsafe extern "C" fn(Context, *const c_char, *mut Cache) -> i32,
    destroy: unsafe extern "C" fn(Context, Cache) -> i32,
}

impl Caches {
    pub(crate) fn load() -> Result<Self, LoadError> {
        // SAFETY: as for GSSAPI's library, which has loaded this one already.
        let library = unsafe { Library::load(LIBRARY) }?;
        /// Finds one function, whose type is that of the field which it is for.
        macro_rules! find {
            ($symbol:literal) => {
                // SAFETY: the types of the fields are those of krb5.h.
                unsafe { library.function($symbol) }?
            };
        }
        Ok(Caches {
            init_context: find!("krb5_init_context"),
            free_context: find!("krb5_free_context"),
            resolve: find!("krb5_cc_resolve"),
            destroy: find!("krb5_cc_destroy"),
        })
    }

    /// Empties a cache and removes it. That it is not there is what is wanted.
    pub(crate) fn destroy(&self, name: &str) {
        let Ok(name) = CString::new(name) else { return };
        let mut context = ptr::null_mut();
        // SAFETY: it sets the context, or returns an error.
        if unsafe { (self.init_context)(&raw mut context) } != 0 {
            return;
        }
        let mut cache = ptr::null_mut();
        // SAFETY: the context is valid, the name outlives the call.
        if unsafe { (self.resolve)(context, name.as_ptr(), &raw mut cache) } == 0 {
            // SAFETY: the cache is valid and not used afterwards, whatever is returned.
            unsafe { (self.destroy)(context, cache) };
        }
        // SAFETY: the context is valid and not used afterwards.
        unsafe { (self.free_context)(context) };
    }
}

impl fmt::Debug for Caches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caches").finish_non_exhaustive()
    }
}
