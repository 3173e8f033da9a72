//! libmunge, behind a safe face. All `unsafe` code for MUNGE is here.

#![expect(unsafe_code, reason = "the binding to libmunge, which has no other face")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt;
use std::net::Ipv4Addr;
use std::ptr;

use imex_clib::Library;
use thiserror::Error;

use crate::failure::{Fault, MungeError};

/// The library's name as its ABI fixes it: MUNGE since 0.5, in every distribution.
pub const LIBRARY: &str = "libmunge.so.2";

/// A credential that was opened, and is good.
#[derive(Clone, PartialEq, Eq)]
pub struct Opened {
    /// What it carries.
    pub payload: Vec<u8>,
    /// Who made it: the user's number, as the munged of that machine saw it.
    pub uid: u32,
    /// The group's number, likewise.
    pub gid: u32,
    /// The address that the munged of that machine calls its own. It knows one, of IPv4: that of the host's name, or what
    /// its option `--origin` says.
    pub origin: Ipv4Addr,
}

/// Why MUNGE cannot be used on this machine.
#[derive(Debug, Error)]
#[error(transparent)]
pub struct LoadError(#[from] imex_clib::LoadError);

impl LoadError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        "install MUNGE (Debian and Ubuntu: munge; Red Hat and SUSE: munge, munge-libs)"
    }
}

/// `munge_ctx_t`: a pointer to what only the library knows.
type ContextHandle = *mut c_void;

/// Options of contexts (munge.h, `munge_opt_t`; munge_ctx(3)).
const OPTION_ADDR4: c_int = 5;
const OPTION_SOCKET: c_int = 8;
const OPTION_UID_RESTRICTION: c_int = 9;

/// `EMUNGE_SUCCESS`.
const SUCCESS: c_int = 0;

/// The functions.
pub(crate) struct Api {
    encode: unsafe extern "C" fn(*mut *mut c_char, ContextHandle, *const c_void, c_int) -> c_int,
    decode: unsafe extern "C" fn(
        *const c_char,
        ContextHandle,
        *mut *mut c_void,
        *mut c_int,
        *mut u32,
        *mut u32,
    ) -> c_int,
    strerror: unsafe extern "C" fn(c_int) -> *const c_char,
    context_create: unsafe extern "C" fn() -> ContextHandle,
    context_destroy: unsafe extern "C" fn(ContextHandle),
    context_strerror: unsafe extern "C" fn(ContextHandle) -> *const c_char,
    context_get: unsafe extern "C" fn(ContextHandle, c_int, ...) -> c_int,
    context_set: unsafe extern "C" fn(ContextHandle, c_int, ...) -> c_int,
}

unsafe extern "C" {
    /// free(3): munge(3) leaves the memory of credentials and payloads to the caller.
    fn free(memory: *mut c_void);
}

impl Api {
    /// Loads the library from where the system's loader finds it.
    pub(crate) fn load() -> Result<Self, LoadError> {
        // SAFETY: libmunge has no initialisers that could do harm.
        let library = unsafe { Library::load(LIBRARY) }?;
        /// Finds one function, whose type is that of the field which it is for.
        macro_rules! find {
            ($symbol:literal) => {
                // SAFETY: the types of the fields are those of munge.h.
                unsafe { library.function($symbol) }?
            };
        }
        Ok(Api {
            encode: find!("munge_encode"),
            decode: find!("munge_decode"),
            strerror: find!("munge_strerror"),
            context_create: find!("munge_ctx_create"),
            context_destroy: find!("munge_ctx_destroy"),
            context_strerror: find!("munge_ctx_strerror"),
            context_get: find!("munge_ctx_get"),
            context_set: find!("munge_ctx_set"),
        })
    }

    /// Makes a credential that carries `payload` and that only the user `reader` can open. Blocks on munged.
    pub(crate) fn encode(
        &self,
        payload: &[u8],
        reader: u32,
        socket: Option<&CStr>,
    ) -> Result<Vec<u8>, MungeError> {
        const CALL: &str = "make a MUNGE credential";
        let length = c_int::try_from(payload.len())
            .map_err(|_| MungeError::new(CALL, Fault::Malformed, "the payload is too long"))?;
        let context = Context::new(self, CALL)?;
        context.choose_socket(socket)?;
        // SAFETY: the option takes a uid_t.
        let set = unsafe { (self.context_set)(context.raw, OPTION_UID_RESTRICTION, reader) };
        context.check(set)?;
        let mut credential = ptr::null_mut();
        // SAFETY: the payload outlives the call, which only reads as much of it as is said.
        let made =
            unsafe { (self.encode)(&raw mut credential, context.raw, payload.as_ptr().cast(), length) };
        let credential = Allocated(credential.cast());
        context.check(made)?;
        if credential.0.is_null() {
            return Err(MungeError::new(CALL, Fault::Other, "the library gave none"));
        }
        // SAFETY: on success it is a NUL-terminated string, which lives until `credential` is dropped.
        let text = unsafe { CStr::from_ptr(credential.0.cast()) };
        Ok(text.to_bytes().to_owned())
    }

    /// Opens a credential. Blocks on munged. One that is not good for whatever reason is an error.
    pub(crate) fn decode(&self, credential: &[u8], socket: Option<&CStr>) -> Result<Opened, MungeError> {
        const CALL: &str = "open a MUNGE credential";
        let credential = CString::new(credential)
            .map_err(|_| MungeError::new(CALL, Fault::Malformed, "there is a NUL byte in it"))?;
        let context = Context::new(self, CALL)?;
        context.choose_socket(socket)?;
        let (mut payload, mut length, mut uid, mut gid) = (ptr::null_mut(), 0, u32::MAX, u32::MAX);
        // SAFETY: the credential outlives the call, which only reads it; the rest is for it to fill.
        let opened = unsafe {
            (self.decode)(
                credential.as_ptr(),
                context.raw,
                &raw mut payload,
                &raw mut length,
                &raw mut uid,
                &raw mut gid,
            )
        };
        // Set for some errors too.
        let payload = Allocated(payload);
        context.check(opened)?;
        let length = usize::try_from(length).unwrap_or_default();
        let bytes = if payload.0.is_null() {
            Vec::new()
        } else {
            // SAFETY: on success the library has put so many bytes there, which live until `payload` is dropped.
            unsafe { std::slice::from_raw_parts(payload.0.cast::<u8>(), length) }.to_owned()
        };
        // A `struct in_addr`, in the order of the network.
        let mut address = [0_u8; 4];
        // SAFETY: the option takes a pointer to a struct in_addr, which is four bytes.
        let got = unsafe { (self.context_get)(context.raw, OPTION_ADDR4, address.as_mut_ptr()) };
        context.check(got)?;
        Ok(Opened { payload: bytes, uid, gid, origin: Ipv4Addr::from(address) })
    }
}

/// A context of libmunge for one call.
struct Context<'a> {
    api: &'a Api,
    raw: ContextHandle,
    call: &'static str,
}

impl<'a> Context<'a> {
    fn new(api: &'a Api, call: &'static str) -> Result<Self, MungeError> {
        // SAFETY: takes nothing.
        let raw = unsafe { (api.context_create)() };
        if raw.is_null() {
            return Err(MungeError::new(call, Fault::Other, "out of memory"));
        }
        Ok(Context { api, raw, call })
    }

    fn choose_socket(&self, socket: Option<&CStr>) -> Result<(), MungeError> {
        let Some(socket) = socket else { return Ok(()) };
        // SAFETY: the option takes a string, which the library copies.
        let set = unsafe { (self.api.context_set)(self.raw, OPTION_SOCKET, socket.as_ptr()) };
        self.check(set)
    }

    fn check(&self, number: c_int) -> Result<(), MungeError> {
        if number == SUCCESS {
            return Ok(());
        }
        // SAFETY: the context is valid; the text, if there is one, lives as long.
        let mut text = unsafe { (self.api.context_strerror)(self.raw) };
        if text.is_null() {
            // SAFETY: takes any number, and gives a constant.
            text = unsafe { (self.api.strerror)(number) };
        }
        let text = if text.is_null() {
            format!("error {number}")
        } else {
            // SAFETY: a NUL-terminated string as munge(3) and munge_ctx(3) say.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        Err(MungeError::numbered(self.call, number, text))
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        // SAFETY: made by the library, and not used afterwards.
        unsafe { (self.api.context_destroy)(self.raw) };
    }
}

/// Memory that the library allocated and left to its caller.
struct Allocated(*mut c_void);

impl Drop for Allocated {
    fn drop(&mut self) {
        // SAFETY: null or allocated with malloc(3), and not used afterwards.
        unsafe { free(self.0) };
    }
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").finish_non_exhaustive()
    }
}

/// Without the payload: it may be a secret.
impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened")
            .field("uid", &self.uid)
            .field("gid", &self.gid)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}
