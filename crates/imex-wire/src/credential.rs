//! A proof that travels inside a hello, for the kinds of security that need one.

use bytes::Bytes;

use crate::field::FieldError;

/// Something that proves who sent a hello, bound to the connection that it came by. Opaque here: whoever asked for it
/// judges it. Never empty, at most [`Credential::MAX_BYTES`], so that it is bounded before anybody looks at it.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential(Bytes);

impl Credential {
    /// The most bytes: a MUNGE credential over a few hundred bytes has half of it.
    pub const MAX_BYTES: usize = 2048;

    /// Checks the length.
    pub fn new(bytes: impl Into<Bytes>) -> Result<Self, FieldError> {
        let (field, bytes) = ("credential", bytes.into());
        match bytes.len() {
            0 => Err(FieldError::Missing { field }),
            found if found > Self::MAX_BYTES => {
                Err(FieldError::TooLong { field, found, max: Self::MAX_BYTES })
            }
            _ => Ok(Credential(bytes)),
        }
    }

    /// The bytes as they travel.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn out(credential: Option<&Self>) -> Vec<u8> {
        credential.map(|credential| credential.0.to_vec()).unwrap_or_default()
    }

    /// An empty field is none.
    pub(crate) fn read(bytes: Vec<u8>) -> Result<Option<Self>, FieldError> {
        if bytes.is_empty() { Ok(None) } else { Self::new(bytes).map(Some) }
    }
}

/// Without its contents: a credential that was not used yet would be a secret.
impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Credential({} bytes)", self.0.len())
    }
}
