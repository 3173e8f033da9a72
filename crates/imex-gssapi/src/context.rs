//! Security contexts: two sides that have shown each other who they are, and the records between them.

use std::fmt;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use crate::buffer::Filled;
use crate::credential::Credential;
use crate::failure::GssError;
use crate::library::{Api, Gssapi};
use crate::name::Name;
use crate::raw;

/// How records are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protection {
    /// They cannot be changed, repeated or left out unnoticed.
    Integrity,
    /// Nor can they be read.
    Privacy,
}

/// The initiator's side, between its token and the answer.
#[derive(Debug)]
pub struct Initiation {
    handle: Handle,
    target: Name,
    credential: Credential,
    protection: Protection,
    binding: Vec<u8>,
}

/// What an acceptor makes of a good token.
#[derive(Debug)]
pub struct Accepted {
    /// The established context.
    pub context: Context,
    /// The answer, with which the initiator sees who the acceptor is.
    pub reply: Vec<u8>,
}

/// A token was refused.
#[derive(Debug)]
pub struct Refused {
    /// Why.
    pub error: GssError,
    /// What to tell the initiator, so that it knows too.
    pub reply: Option<Vec<u8>>,
}

/// An established context: both sides are known to each other.
pub struct Context {
    handle: Handle,
    protection: Protection,
    source: String,
    target: String,
    lifetime: Option<Duration>,
}

struct Handle {
    api: Arc<Api>,
    raw: raw::ContextHandle,
}

// SAFETY: a context is not tied to the thread that made it, and everything that changes one takes `&mut`.
unsafe impl Send for Handle {}

impl Gssapi {
    /// Begins a context to `target`: returns it with the token to send. May ask the KDC for a ticket.
    ///
    /// `binding` is what both sides must agree on about the connection; a difference is [`crate::Fault::OtherBinding`].
    pub fn initiate(
        &self,
        credential: Credential,
        target: Name,
        protection: Protection,
        binding: &[u8],
    ) -> Result<(Initiation, Vec<u8>), GssError> {
        let handle = Handle { api: Arc::clone(&self.api), raw: ptr::null_mut() };
        let mut initiation =
            Initiation { handle, target, credential, protection, binding: binding.to_owned() };
        let step = initiation.step(&[])?;
        match step.token {
            // Kerberos with mutual authentication always has a question and an answer (RFC 4121 section 4.1).
            Some(token) if step.major == raw::CONTINUE_NEEDED => Ok((initiation, token)),
            Some(_) | None => Err(initiation.handle.unexpected()),
        }
    }

    /// Takes an initiator's token. Reads the key table and writes the replay cache.
    pub fn accept(
        &self,
        credential: &Credential,
        token: &[u8],
        protection: Protection,
        binding: &[u8],
    ) -> Result<Accepted, Refused> {
        let mut handle = Handle { api: Arc::clone(&self.api), raw: ptr::null_mut() };
        let input = raw::Buffer::lend(token);
        let bindings = bind(binding);
        let mut output = Filled::empty(&self.api);
        let (mut minor, mut flags) = (0, 0);
        // SAFETY: all inputs outlive the call, which only reads them; what it returns is released by its holders.
        let major = unsafe {
            (self.api.accept_sec_context)(
                &raw mut minor,
                &raw mut handle.raw,
                credential.raw,
                &raw const input,
                &raw const bindings,
                ptr::null_mut(),
                ptr::null_mut(),
                output.as_mut_ptr(),
                &raw mut flags,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        let reply = output.token();
        let established = GssError::check(&self.api, "gss_accept_sec_context", (major, minor))
            .and_then(|()| reply.clone().ok_or_else(|| handle.unexpected()));
        match established.and_then(|reply| Ok((Context::established(handle, protection, flags)?, reply))) {
            Ok((context, reply)) => Ok(Accepted { context, reply }),
            Err(error) => Err(Refused { error, reply }),
        }
    }
}

/// What one step of an initiation gave.
struct Step {
    major: u32,
    token: Option<Vec<u8>>,
    flags: u32,
}

impl Initiation {
    /// Takes the acceptor's answer, and with it sees who the acceptor is.
    pub fn finish(mut self, token: &[u8]) -> Result<Context, GssError> {
        let step = self.step(token)?;
        if step.major != raw::COMPLETE || step.token.is_some() {
            return Err(self.handle.unexpected());
        }
        Context::established(self.handle, self.protection, step.flags)
    }

    fn step(&mut self, token: &[u8]) -> Result<Step, GssError> {
        let api = Arc::clone(&self.handle.api);
        let input = raw::Buffer::lend(token);
        let bindings = bind(&self.binding);
        let mut output = Filled::empty(&api);
        let (mut minor, mut flags) = (0, 0);
        // SAFETY: all inputs outlive the call, which only reads them; what it returns is released by its holders.
        let major = unsafe {
            (api.init_sec_context)(
                &raw mut minor,
                self.credential.raw,
                &raw mut self.handle.raw,
                self.target.raw,
                &raw const raw::KERBEROS,
                wanted(self.protection),
                raw::INDEFINITE,
                &raw const bindings,
                &raw const input,
                ptr::null_mut(),
                output.as_mut_ptr(),
                &raw mut flags,
                ptr::null_mut(),
            )
        };
        if major != raw::CONTINUE_NEEDED {
            GssError::check(&api, "gss_init_sec_context", (major, minor))?;
        }
        Ok(Step { major, token: output.token(), flags })
    }
}

/// What a context must be able to do.
fn wanted(protection: Protection) -> u32 {
    let always = raw::MUTUAL | raw::REPLAY | raw::SEQUENCE | raw::INTEGRITY;
    match protection {
        Protection::Integrity => always,
        Protection::Privacy => always | raw::CONFIDENTIALITY,
    }
}

/// Channel bindings of nothing but the application's own data (RFC 2744 section 3.11).
fn bind(data: &[u8]) -> raw::ChannelBindings {
    raw::ChannelBindings {
        initiator_address_type: 0,
        initiator_address: raw::Buffer::EMPTY,
        acceptor_address_type: 0,
        acceptor_address: raw::Buffer::EMPTY,
        application_data: raw::Buffer::lend(data),
    }
}

impl Context {
    /// A context that the library calls complete. It must have everything that was asked for, and its names.
    fn established(handle: Handle, protection: Protection, flags: u32) -> Result<Self, GssError> {
        if flags & wanted(protection) != wanted(protection) {
            return Err(GssError::new(&handle.api, "check what the context protects", (raw::BAD_QOP, 0)));
        }
        let (mut source, mut target) = (Name::unset(&handle.api), Name::unset(&handle.api));
        let (mut minor, mut lifetime) = (0, 0);
        // SAFETY: the context is established; the names are released by their holders.
        let major = unsafe {
            (handle.api.inquire_context)(
                &raw mut minor,
                handle.raw,
                &raw mut source.raw,
                &raw mut target.raw,
                &raw mut lifetime,
                ptr::null_mut(),
                ptr::null_mut(),
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        GssError::check(&handle.api, "gss_inquire_context", (major, minor))?;
        let (source, target) = (source.text()?, target.text()?);
        let lifetime = (lifetime != raw::INDEFINITE).then(|| Duration::from_secs(lifetime.into()));
        Ok(Context { handle, protection, source, target, lifetime })
    }

    /// The initiator's principal, `service/host@REALM`.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The acceptor's principal.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// How long the ticket behind it was still valid when it was established; `None` means for ever.
    pub fn lifetime(&self) -> Option<Duration> {
        self.lifetime
    }

    /// How its records are protected.
    pub fn protection(&self) -> Protection {
        self.protection
    }

    /// Protects a record.
    pub fn wrap(&mut self, record: &[u8]) -> Result<Vec<u8>, GssError> {
        let api = Arc::clone(&self.handle.api);
        let input = raw::Buffer::lend(record);
        let mut output = Filled::empty(&api);
        let (mut minor, mut private) = (0, 0);
        // SAFETY: the context is established; the record outlives the call, which only reads it.
        let major = unsafe {
            (api.wrap)(
                &raw mut minor,
                self.handle.raw,
                i32::from(self.protection == Protection::Privacy),
                0,
                &raw const input,
                &raw mut private,
                output.as_mut_ptr(),
            )
        };
        GssError::check(&api, "gss_wrap", (major, minor))?;
        self.check_privacy(private)?;
        Ok(output.bytes().to_vec())
    }

    /// The record in a protected one. It must be the next one, and protected as this context protects: a record that is
    /// only intact, where it should be private too, is refused.
    pub fn unwrap(&mut self, protected: &[u8]) -> Result<Vec<u8>, GssError> {
        let api = Arc::clone(&self.handle.api);
        let input = raw::Buffer::lend(protected);
        let mut output = Filled::empty(&api);
        let (mut minor, mut private) = (0, 0);
        // SAFETY: as for `wrap`.
        let major = unsafe {
            (api.unwrap)(
                &raw mut minor,
                self.handle.raw,
                &raw const input,
                output.as_mut_ptr(),
                &raw mut private,
                ptr::null_mut(),
            )
        };
        // Whatever is not complete is refused: repeated, old and missing records are told by bits beside the error.
        GssError::check(&api, "gss_unwrap", (major, minor))?;
        self.check_privacy(private)?;
        Ok(output.bytes().to_vec())
    }

    fn check_privacy(&self, private: i32) -> Result<(), GssError> {
        match (self.protection, private) {
            (Protection::Privacy, 0) => {
                Err(GssError::new(&self.handle.api, "check that the record is private", (raw::BAD_QOP, 0)))
            }
            (Protection::Privacy | Protection::Integrity, _) => Ok(()),
        }
    }
}

impl Handle {
    /// The mechanism wants to go on where Kerberos does not.
    fn unexpected(&self) -> GssError {
        GssError::new(&self.api, "end the authentication", (raw::DEFECTIVE_TOKEN, 0))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: null or a context of the library's, which is not used afterwards.
        unsafe { (self.api.delete_sec_context)(&raw mut minor, &raw mut self.raw, ptr::null_mut()) };
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("source", &self.source)
            .field("target", &self.target)
            .field("protection", &self.protection)
            .finish_non_exhaustive()
    }
}
