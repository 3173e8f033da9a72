//! Types and numbers of RFC 2744, as MIT's library lays them out on Linux.

use std::ffi::{c_char, c_void};
use std::ptr;

/// `gss_buffer_desc`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Buffer {
    pub(crate) length: usize,
    pub(crate) value: *mut c_void,
}

/// `gss_OID_desc`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Oid {
    pub(crate) length: u32,
    pub(crate) elements: *const c_void,
}

/// `gss_OID_set_desc`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct OidSet {
    pub(crate) count: usize,
    pub(crate) elements: *const Oid,
}

/// `gss_key_value_element_desc` of MIT's extension for credential stores.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct KeyValue {
    pub(crate) key: *const c_char,
    pub(crate) value: *const c_char,
}

/// `gss_key_value_set_desc`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct KeyValueSet {
    pub(crate) count: u32,
    pub(crate) elements: *const KeyValue,
}

/// `gss_channel_bindings_struct`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct ChannelBindings {
    pub(crate) initiator_address_type: u32,
    pub(crate) initiator_address: Buffer,
    pub(crate) acceptor_address_type: u32,
    pub(crate) acceptor_address: Buffer,
    pub(crate) application_data: Buffer,
}

/// `gss_name_t`, `gss_cred_id_t`, `gss_ctx_id_t`: pointers to what only the library knows.
pub(crate) type NameHandle = *mut c_void;
pub(crate) type CredentialHandle = *mut c_void;
pub(crate) type ContextHandle = *mut c_void;

// SAFETY: it points to a constant that is never written.
unsafe impl Sync for Oid {}
// SAFETY: as above.
unsafe impl Sync for OidSet {}

impl Oid {
    const fn of(bytes: &'static [u8]) -> Self {
        // The identifiers below have ten bytes at most.
        #[expect(clippy::cast_possible_truncation, reason = "a constant of ten bytes")]
        Oid { length: bytes.len() as u32, elements: bytes.as_ptr().cast() }
    }
}

impl Buffer {
    pub(crate) const EMPTY: Buffer = Buffer { length: 0, value: ptr::null_mut() };

    /// Lends bytes to a call that does not write to them, as RFC 2744 section 3.2 says of input buffers.
    pub(crate) fn lend(bytes: &[u8]) -> Self {
        Buffer { length: bytes.len(), value: bytes.as_ptr().cast_mut().cast() }
    }
}

/// Kerberos 5, RFC 1964: 1.2.840.113554.1.2.2.
pub(crate) static KERBEROS: Oid = Oid::of(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02");
/// The set of Kerberos 5 alone.
pub(crate) static KERBEROS_ONLY: OidSet = OidSet { count: 1, elements: &raw const KERBEROS };
/// A name of the form `service@host`, RFC 2743 section 4.1: 1.2.840.113554.1.2.1.4.
pub(crate) static HOST_BASED_SERVICE: Oid = Oid::of(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04");

/// A Kerberos principal as `krb5_parse_name(3)` reads it, RFC 1964 section 2.1.1: 1.2.840.113554.1.2.2.1.
pub(crate) static PRINCIPAL: Oid = Oid::of(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01");

/// `GSS_C_INITIATE` and `GSS_C_ACCEPT`.
pub(crate) const INITIATE: i32 = 1;
pub(crate) const ACCEPT: i32 = 2;

/// `GSS_C_INDEFINITE`: as long as possible, or for ever.
pub(crate) const INDEFINITE: u32 = u32::MAX;

/// Flags of contexts, RFC 2744 section 5.19.
pub(crate) const MUTUAL: u32 = 2;
pub(crate) const REPLAY: u32 = 4;
pub(crate) const SEQUENCE: u32 = 8;
pub(crate) const CONFIDENTIALITY: u32 = 16;
pub(crate) const INTEGRITY: u32 = 32;

/// `GSS_C_GSS_CODE` and `GSS_C_MECH_CODE`: what kind of code is to be put into words.
pub(crate) const GSS_CODE: i32 = 1;
pub(crate) const MECHANISM_CODE: i32 = 2;

/// Status codes, RFC 2744 section 3.9.1.
pub(crate) const COMPLETE: u32 = 0;
pub(crate) const CONTINUE_NEEDED: u32 = 1;
pub(crate) const DUPLICATE_TOKEN: u32 = 1 << 1;
pub(crate) const OLD_TOKEN: u32 = 1 << 2;
pub(crate) const UNSEQUENTIAL_TOKEN: u32 = 1 << 3;
pub(crate) const GAP_TOKEN: u32 = 1 << 4;
/// Where the routine errors are in a status code.
pub(crate) const ROUTINE_SHIFT: u32 = 16;
/// Some of them, of which this crate finds the first and the last too: not what Kerberos sends; what only the mechanism can
/// tell; not protected as was asked for.
pub(crate) const DEFECTIVE_TOKEN: u32 = 9 << ROUTINE_SHIFT;
pub(crate) const FAILURE: u32 = 13 << ROUTINE_SHIFT;
pub(crate) const BAD_QOP: u32 = 14 << ROUTINE_SHIFT;
/// What is no supplementary information.
pub(crate) const ERROR_MASK: u32 = 0xffff_0000;
