//! Names of principals.

use std::fmt;
use std::ptr;
use std::sync::Arc;

use crate::buffer::Filled;
use crate::failure::GssError;
use crate::library::{Api, Gssapi};
use crate::raw;

/// The name of a principal.
pub struct Name {
    api: Arc<Api>,
    pub(crate) raw: raw::NameHandle,
}

// SAFETY: a name is not tied to the thread that made it, and the library does not change one that exists; MIT's
// documentation of thread safety allows the use of one object from several threads if none of them changes it.
unsafe impl Send for Name {}
// SAFETY: as above.
unsafe impl Sync for Name {}

impl Gssapi {
    /// The name of a service on a host. What that becomes as a Kerberos principal (`service/host@REALM`), the site's
    /// krb5.conf decides: it may turn an address or a short name into a full one, and it knows the realm of a host.
    pub fn service(&self, service: &str, host: &str) -> Result<Name, GssError> {
        self.import(&format!("{service}@{host}"), &raw::HOST_BASED_SERVICE)
    }

    /// The name of a Kerberos principal, `service/host@REALM`.
    pub fn principal(&self, text: &str) -> Result<Name, GssError> {
        self.import(text, &raw::PRINCIPAL)
    }

    fn import(&self, text: &str, kind: &'static raw::Oid) -> Result<Name, GssError> {
        let text = raw::Buffer::lend(text.as_bytes());
        let mut name = Name::unset(&self.api);
        let mut minor = 0;
        // SAFETY: the text and the identifier live through the call, which only reads them.
        let major = unsafe {
            (self.api.import_name)(&raw mut minor, &raw const text, &raw const *kind, &raw mut name.raw)
        };
        GssError::check(&self.api, "gss_import_name", (major, minor))?;
        Ok(name)
    }
}

impl Name {
    /// A name for the library to fill in.
    pub(crate) fn unset(api: &Arc<Api>) -> Self {
        Name { api: Arc::clone(api), raw: ptr::null_mut() }
    }

    /// The same as a Kerberos principal. May ask the name service.
    pub fn principal(&self) -> Result<Name, GssError> {
        let mut principal = Name::unset(&self.api);
        let mut minor = 0;
        // SAFETY: the name is valid as long as `self` is; the result is released with `principal`.
        let major = unsafe {
            (self.api.canonicalize_name)(
                &raw mut minor,
                self.raw,
                &raw const raw::KERBEROS,
                &raw mut principal.raw,
            )
        };
        GssError::check(&self.api, "gss_canonicalize_name", (major, minor))?;
        Ok(principal)
    }

    /// The name as people write it: `service/host@REALM` for a principal; the realm may be empty where only the KDC
    /// knows it.
    pub fn text(&self) -> Result<String, GssError> {
        let mut text = Filled::empty(&self.api);
        let mut minor = 0;
        // SAFETY: the name is valid as long as `self` is; the text is released with its holder.
        let major =
            unsafe { (self.api.display_name)(&raw mut minor, self.raw, text.as_mut_ptr(), ptr::null_mut()) };
        GssError::check(&self.api, "gss_display_name", (major, minor))?;
        Ok(String::from_utf8_lossy(text.bytes()).into_owned())
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: null or a name of the library's, which is not used afterwards.
        unsafe { (self.api.release_name)(&raw mut minor, &raw mut self.raw) };
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Name").field(&self.text().ok()).finish()
    }
}
