//! The contexts of a stream, and the records that they protect.

use bytes::BytesMut;
use imex_gssapi::Context;

use crate::frame::{Header, Kind, MAX_RECORD, Purpose};
use crate::stream::StreamError;

/// The contexts of a stream: one, and for a moment two when an acceptor already writes in a new one but still reads in
/// the old.
#[derive(Debug)]
pub(crate) struct Records {
    current: Context,
    old: Option<Context>,
}

impl Records {
    pub(crate) fn new(context: Context) -> Self {
        Records { current: context, old: None }
    }

    /// Protects a record and appends its frame.
    pub(crate) fn protect(
        &mut self,
        purpose: Purpose,
        payload: &[u8],
        out: &mut BytesMut,
    ) -> Result<(), StreamError> {
        let mut record = Vec::with_capacity(1 + payload.len());
        record.push(purpose.number());
        record.extend_from_slice(payload);
        let protected = self.current.wrap(&record)?;
        out.extend_from_slice(&Header::new(Kind::Record, protected.len())?.bytes());
        out.extend_from_slice(&protected);
        Ok(())
    }

    /// What a protected record is for, and what it carries.
    pub(crate) fn reveal(&mut self, protected: &[u8]) -> Result<(Purpose, Vec<u8>), StreamError> {
        let context = self.old.as_mut().unwrap_or(&mut self.current);
        let mut record = context.unwrap(protected)?;
        let (purpose, payload) = Purpose::split(&record)?;
        if purpose == Purpose::Data && payload.len() > MAX_RECORD {
            return Err(StreamError::Oversized { found: payload.len() });
        }
        record.remove(0);
        Ok((purpose, record))
    }

    /// From now on everything is in the new context.
    pub(crate) fn go_over(&mut self, context: Context) {
        self.current = context;
        self.old = None;
    }

    /// From now on what leaves is in the new context, and what comes is until [`Records::forget_old`] in the old.
    pub(crate) fn go_over_writing(&mut self, context: Context) {
        self.old = Some(std::mem::replace(&mut self.current, context));
    }

    /// Whether a change of contexts is half done.
    pub(crate) fn has_old(&self) -> bool {
        self.old.is_some()
    }

    /// What comes is in the new context too.
    pub(crate) fn forget_old(&mut self) {
        self.old = None;
    }
}
