//! This machine's keys and tickets.

use std::ffi::{CString, c_char};
use std::fmt;
use std::ptr;
use std::sync::Arc;

use crate::failure::GssError;
use crate::library::{Api, Gssapi};
use crate::name::Name;
use crate::raw;

/// Where keys and tickets are kept. What is `None` is where the environment and krb5.conf say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Store {
    /// The key table with which this machine gets tickets for itself (`KRB5_CLIENT_KTNAME`).
    pub client_key_table: Option<String>,
    /// The key table with which it reads the tickets of others (`KRB5_KTNAME`).
    pub key_table: Option<String>,
    /// The cache of its own tickets (`KRB5CCNAME`), such as `MEMORY:name` or `FILE:/path`.
    pub ticket_cache: Option<String>,
}

/// What a credential is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// To show who this machine is; may ask the KDC.
    Initiate,
    /// To see who others are; asks nobody.
    Accept,
}

/// A credential.
pub struct Credential {
    api: Arc<Api>,
    pub(crate) raw: raw::CredentialHandle,
}

// SAFETY: a credential is not tied to the thread that made it; MIT's library locks what calls change in one.
unsafe impl Send for Credential {}
// SAFETY: as above.
unsafe impl Sync for Credential {}

impl Gssapi {
    /// The credential of `name`. A text of the store that holds a NUL byte is like an empty one.
    pub fn acquire(&self, name: &Name, usage: Usage, store: &Store) -> Result<Credential, GssError> {
        let texts = store.texts(usage);
        let pairs: Vec<raw::KeyValue> = texts.iter().map(|(key, value)| pair(key, value)).collect();
        // Three at most.
        let count = u32::try_from(pairs.len()).unwrap_or_default();
        let set = raw::KeyValueSet { count, elements: pairs.as_ptr() };
        let mut credential = Credential { api: Arc::clone(&self.api), raw: ptr::null_mut() };
        let mut minor = 0;
        let usage = match usage {
            Usage::Initiate => raw::INITIATE,
            Usage::Accept => raw::ACCEPT,
        };
        // SAFETY: `texts`, `pairs` and `set` outlive the call, which only reads them; the credential is released with
        // its holder.
        let major = unsafe {
            (self.api.acquire_cred_from)(
                &raw mut minor,
                name.raw,
                raw::INDEFINITE,
                &raw const raw::KERBEROS_ONLY,
                usage,
                &raw const set,
                &raw mut credential.raw,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        GssError::check(&self.api, "gss_acquire_cred_from", (major, minor))?;
        Ok(credential)
    }
}

impl Credential {
    /// Whose it is, `service/host@REALM`. For one that initiates this may ask the KDC.
    pub fn principal(&self) -> Result<String, GssError> {
        let mut name = Name::unset(&self.api);
        let mut minor = 0;
        // SAFETY: the credential is valid as long as `self` is; the name is released by its holder.
        let major = unsafe {
            (self.api.inquire_cred)(
                &raw mut minor,
                self.raw,
                &raw mut name.raw,
                ptr::null_mut(),
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        GssError::check(&self.api, "gss_inquire_cred", (major, minor))?;
        name.text()
    }
}

impl Store {
    fn texts(&self, usage: Usage) -> Vec<(CString, CString)> {
        let wanted: &[(&str, &Option<String>)] = match usage {
            Usage::Initiate => &[("client_keytab", &self.client_key_table), ("ccache", &self.ticket_cache)],
            Usage::Accept => &[("keytab", &self.key_table)],
        };
        let text = |text: &str| CString::new(text).unwrap_or_default();
        wanted.iter().filter_map(|(key, value)| Some((text(key), text(value.as_deref()?)))).collect()
    }
}

fn pair(key: &CString, value: &CString) -> raw::KeyValue {
    let as_ptr = |text: &CString| -> *const c_char { text.as_ptr() };
    raw::KeyValue { key: as_ptr(key), value: as_ptr(value) }
}

impl Drop for Credential {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: null or a credential of the library's, which is not used afterwards.
        unsafe { (self.api.release_cred)(&raw mut minor, &raw mut self.raw) };
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").finish_non_exhaustive()
    }
}
