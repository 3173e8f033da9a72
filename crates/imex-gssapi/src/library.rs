//! Finding the library and the functions in it.

use std::fmt;
use std::sync::Arc;

use imex_clib::Library;
use thiserror::Error;

use crate::cache::Caches;
use crate::raw::{
    Buffer, ChannelBindings, ContextHandle, CredentialHandle, KeyValueSet, NameHandle, Oid, OidSet,
};

/// The library's name as its ABI fixes it: MIT Kerberos since 1.2, in every distribution.
pub const LIBRARY: &str = "libgssapi_krb5.so.2";

/// The loaded library. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Gssapi {
    pub(crate) api: Arc<Api>,
    caches: Arc<Caches>,
}

/// Why Kerberos cannot be used on this machine.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct LoadError(#[from] imex_clib::LoadError);

impl LoadError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self.0 {
            imex_clib::LoadError::Library { .. } => {
                "install MIT Kerberos (Debian and Ubuntu: libgssapi-krb5-2; Red Hat and SUSE: krb5-libs)"
            }
            // It is older, or another implementation.
            imex_clib::LoadError::Function { .. } => {
                "MIT Kerberos 1.11 or newer is needed; Heimdal is not supported"
            }
        }
    }
}

/// Declares the functions that are used: a field each, and their loading.
macro_rules! api {
    ($( $field:ident = $symbol:literal($($argument:ty),+ $(,)?); )+) => {
        /// The functions. Each returns a status code.
        pub(crate) struct Api {
            $( pub(crate) $field: unsafe extern "C" fn(*mut u32, $($argument),+) -> u32, )+
        }

        impl Api {
            /// # Safety
            ///
            /// The library is an implementation of RFC 2744 with MIT's extensions and layout.
            unsafe fn find(library: &Library) -> Result<Self, LoadError> {
                Ok(Api {
                    // SAFETY: the caller's; the types are those of RFC 2744 and MIT's gssapi_ext.h.
                    $( $field: unsafe { library.function($symbol) }?, )+
                })
            }
        }
    };
}

api! {
    release_buffer = "gss_release_buffer"(*mut Buffer);
    import_name = "gss_import_name"(*const Buffer, *const Oid, *mut NameHandle);
    canonicalize_name = "gss_canonicalize_name"(NameHandle, *const Oid, *mut NameHandle);
    display_name = "gss_display_name"(NameHandle, *mut Buffer, *mut *const Oid);
    release_name = "gss_release_name"(*mut NameHandle);
    acquire_cred_from = "gss_acquire_cred_from"(
        NameHandle, u32, *const OidSet, i32, *const KeyValueSet, *mut CredentialHandle, *mut *mut OidSet, *mut u32,
    );
    inquire_cred = "gss_inquire_cred"(CredentialHandle, *mut NameHandle, *mut u32, *mut i32, *mut *mut OidSet);
    release_cred = "gss_release_cred"(*mut CredentialHandle);
    init_sec_context = "gss_init_sec_context"(
        CredentialHandle, *mut ContextHandle, NameHandle, *const Oid, u32, u32, *const ChannelBindings,
        *const Buffer, *mut *const Oid, *mut Buffer, *mut u32, *mut u32,
    );
    accept_sec_context = "gss_accept_sec_context"(
        *mut ContextHandle, CredentialHandle, *const Buffer, *const ChannelBindings, *mut NameHandle,
        *mut *const Oid, *mut Buffer, *mut u32, *mut u32, *mut CredentialHandle,
    );
    delete_sec_context = "gss_delete_sec_context"(*mut ContextHandle, *mut Buffer);
    inquire_context = "gss_inquire_context"(
        ContextHandle, *mut NameHandle, *mut NameHandle, *mut u32, *mut *const Oid, *mut u32, *mut i32, *mut i32,
    );
    wrap = "gss_wrap"(ContextHandle, i32, u32, *const Buffer, *mut i32, *mut Buffer);
    unwrap = "gss_unwrap"(ContextHandle, *const Buffer, *mut Buffer, *mut i32, *mut u32);
    display_status = "gss_display_status"(u32, i32, *const Oid, *mut u32, *mut Buffer);
}

impl Gssapi {
    /// Loads the library from where the system's loader finds it.
    pub fn load() -> Result<Self, LoadError> {
        // SAFETY: loading MIT's library runs its initialisers, which are written to be run in any program.
        let library = unsafe { Library::load(LIBRARY) }?;
        // SAFETY: the ABI name says that it is MIT's implementation.
        let api = unsafe { Api::find(&library) }?;
        Ok(Gssapi { api: Arc::new(api), caches: Arc::new(Caches::load()?) })
    }

    /// Throws the tickets of a cache away, such as `MEMORY:name`. Credentials that were made from it go on as they are.
    pub fn destroy_cache(&self, name: &str) {
        self.caches.destroy(name);
    }
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").finish_non_exhaustive()
    }
}
