//! What can go wrong, by name.

use std::sync::Arc;

use thiserror::Error;

use crate::buffer::Filled;
use crate::library::Api;
use crate::raw;

/// A call failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{call}: {text}")]
pub struct GssError {
    /// The function.
    call: &'static str,
    /// The status of GSSAPI.
    major: u32,
    /// The status of the mechanism.
    minor: u32,
    /// Both in the library's words.
    text: String,
}

/// What a failed call comes down to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// No KDC of the realm answers.
    KdcUnreachable,
    /// The key table has no key for the name, or cannot be read.
    NoKey,
    /// There is neither a ticket nor a key to get one with.
    NoCredential,
    /// The KDC does not know this machine's principal.
    ClientUnknown,
    /// The KDC does not know the other side's principal.
    ServiceUnknown,
    /// There is no way from one realm to the other.
    RealmUnknown,
    /// A key is not, or no longer, the one that the KDC has.
    WrongKey,
    /// A ticket has expired.
    Expired,
    /// A ticket is not valid yet.
    NotYetValid,
    /// The clocks of two machines differ by more than Kerberos allows.
    ClockSkew,
    /// What came has come before.
    Replay,
    /// Records came in another order than they left, or some are missing.
    OutOfOrder,
    /// What came is malformed, or has been changed on its way.
    BadToken,
    /// The other side protects less than was agreed.
    Unprotected,
    /// The two sides do not agree about the connection that they are on.
    OtherBinding,
    /// krb5.conf cannot be read, or does not say what is needed.
    Configuration,
    /// Something else; the text says what.
    Other,
}

impl GssError {
    pub(crate) fn check(
        api: &Arc<Api>,
        call: &'static str,
        (major, minor): (u32, u32),
    ) -> Result<(), GssError> {
        if major == raw::COMPLETE { Ok(()) } else { Err(GssError::new(api, call, (major, minor))) }
    }

    pub(crate) fn new(api: &Arc<Api>, call: &'static str, (major, minor): (u32, u32)) -> Self {
        let mut of_mechanism = if minor == 0 { Vec::new() } else { words(api, minor, raw::MECHANISM_CODE) };
        of_mechanism.retain(|words| words != "Success");
        // GSS_S_FAILURE says only that the mechanism knows more.
        let knows_more = (major & raw::ERROR_MASK) == raw::FAILURE && !of_mechanism.is_empty();
        let mut texts = if knows_more { Vec::new() } else { words(api, major, raw::GSS_CODE) };
        texts.append(&mut of_mechanism);
        GssError { call, major, minor, text: texts.join("; ") }
    }

    /// What it comes down to.
    pub fn fault(&self) -> Fault {
        let of_status = fault_of_status(self.major);
        match (of_status, fault_of_mechanism(self.minor)) {
            // The mechanism calls a changed record what it calls a wrong key.
            (Fault::BadToken, Some(Fault::WrongKey)) | (_, None) => of_status,
            (_, Some(fault)) => fault,
        }
    }
}

/// A status in the library's words, which come in one or more lines.
fn words(api: &Arc<Api>, status: u32, kind: i32) -> Vec<String> {
    /// More lines than any status has, in case the library does not come to an end.
    const MAX_LINES: usize = 8;
    let mut lines = Vec::new();
    let mut more = 0;
    for _ in 0..MAX_LINES {
        let mut line = Filled::empty(api);
        let mut minor = 0;
        // SAFETY: the identifier is a constant, `more` is the library's own mark in the series of lines.
        let major = unsafe {
            (api.display_status)(
                &raw mut minor,
                status,
                kind,
                &raw const raw::KERBEROS,
                &raw mut more,
                line.as_mut_ptr(),
            )
        };
        if major != raw::COMPLETE {
            break;
        }
        lines.push(String::from_utf8_lossy(line.bytes()).trim_end_matches('.').to_owned());
        if more == 0 {
            break;
        }
    }
    lines
}

/// Error codes of the krb5 library (RFC 4120 section 7.5.9 counted from the base of its table, then the library's own).
fn fault_of_mechanism(minor: u32) -> Option<Fault> {
    /// `ERROR_TABLE_BASE_krb5`.
    const BASE: i32 = -1_765_328_384;
    /// The table's codes are so many at most.
    const CODES: i32 = 256;
    let code = minor.cast_signed().wrapping_sub(BASE);
    if !(0..CODES).contains(&code) {
        return None;
    }
    let fault = match code {
        // C_PRINCIPAL_UNKNOWN, CLIENT_REVOKED
        6 | 18 => Fault::ClientUnknown,
        // S_PRINCIPAL_UNKNOWN
        7 => Fault::ServiceUnknown,
        // KEY_EXP, PREAUTH_FAILED, BAD_INTEGRITY, MODIFIED, BADKEYVER, the library's PREAUTH_FAILED, KVNONOTFOUND
        23 | 24 | 31 | 41 | 44 | 210 | 230 => Fault::WrongKey,
        // NAME_EXP, SERVICE_EXP, TKT_EXPIRED
        1 | 2 | 32 => Fault::Expired,
        // CLIENT_NOTYET, TKT_NYV
        21 | 33 => Fault::NotYetValid,
        // AP_ERR_REPEAT, RC_REPLAY
        34 | 163 => Fault::Replay,
        // AP_ERR_NOT_US, AP_ERR_NOKEY, KT_NOTFOUND, KT_BADNAME, KT_IOERR, KT_FORMAT
        35 | 45 | 181 | 179 | 184 | 235 => Fault::NoKey,
        // AP_ERR_SKEW, KDCREP_SKEW
        37 | 148 => Fault::ClockSkew,
        // BADMATCH, BADVERSION, MSG_TYPE, BADORDER, MUT_FAIL, BADDIRECTION, INAPP_CKSUM, KDCREP_MODIFIED
        36 | 39 | 40 | 42 | 46 | 47 | 50 | 147 => Fault::BadToken,
        // CONFIG_CANTOPEN, CONFIG_BADFORMAT, CONFIG_NODEFREALM
        135 | 136 | 224 => Fault::Configuration,
        // CC_NOTFOUND, NO_TKT_SUPPLIED, CC_IO, FCC_NOFILE
        141 | 143 | 193 | 195 => Fault::NoCredential,
        // WRONG_REALM, ERR_HOST_REALM_UNKNOWN
        68 | 217 => Fault::RealmUnknown,
        // REALM_UNKNOWN, KDC_UNREACH, REALM_CANT_RESOLVE
        154 | 156 | 220 => Fault::KdcUnreachable,
        _ => return None,
    };
    Some(fault)
}

/// What RFC 2744 section 3.9.1 says.
fn fault_of_status(major: u32) -> Fault {
    match (major & raw::ERROR_MASK) >> raw::ROUTINE_SHIFT {
        // DEFECTIVE_TOKEN, BAD_SIG, BAD_MECH
        9 | 6 | 1 => Fault::BadToken,
        // BAD_QOP
        14 => Fault::Unprotected,
        // BAD_BINDINGS
        4 => Fault::OtherBinding,
        // NO_CRED, DEFECTIVE_CREDENTIAL
        7 | 10 => Fault::NoCredential,
        // CREDENTIALS_EXPIRED, CONTEXT_EXPIRED
        11 | 12 => Fault::Expired,
        0 if major & (raw::DUPLICATE_TOKEN | raw::OLD_TOKEN) != 0 => Fault::Replay,
        0 if major & (raw::UNSEQUENTIAL_TOKEN | raw::GAP_TOKEN) != 0 => Fault::OutOfOrder,
        _ => Fault::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_the_mechanism_say_more_than_the_status() {
        // KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN, KRB5KRB_AP_ERR_SKEW, KRB5_KDC_UNREACH, as the headers have them.
        let of = |minor: i32| {
            GssError { call: "", major: 13 << 16, minor: minor.cast_unsigned(), text: String::new() }.fault()
        };
        assert_eq!(of(-1_765_328_377), Fault::ServiceUnknown);
        assert_eq!(of(-1_765_328_347), Fault::ClockSkew);
        assert_eq!(of(-1_765_328_228), Fault::KdcUnreachable);
        assert_eq!(of(-1_765_328_154), Fault::WrongKey);
        assert_eq!(of(0), Fault::Other);
        assert_eq!(of(-1_765_328_385), Fault::Other);
    }

    #[test]
    fn supplementary_information_alone_is_a_fault() {
        assert_eq!(fault_of_status(raw::DUPLICATE_TOKEN), Fault::Replay);
        assert_eq!(fault_of_status(raw::GAP_TOKEN), Fault::OutOfOrder);
        assert_eq!(fault_of_status(9 << 16), Fault::BadToken);
    }
}
