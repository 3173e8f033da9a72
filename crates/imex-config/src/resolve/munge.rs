//! The keys of MUNGE, which is this service's own kind of security.

use std::os::unix::ffi::OsStrExt;

use crate::keys::table as key;
use crate::problem::Severity;
use crate::security::{Munge, MungeOrigin};
use crate::values::Values;

/// What the keys ask for; `None` where they do not ask for MUNGE, or ask for two kinds at once, which is reported.
pub(super) fn resolve(values: &mut Values<'_>) -> Option<Munge> {
    if values.text(&key::OPENIMEX_AUTH) != "munge" {
        return None;
    }
    if values.on(&key::IMEX_ENABLE_AUTH_ENCRYPTION) {
        let what = "OPENIMEX_AUTH=munge and IMEX_ENABLE_AUTH_ENCRYPTION=1 exclude each other".to_owned();
        let hint =
            "a domain has one kind of security: set OPENIMEX_AUTH=none or IMEX_ENABLE_AUTH_ENCRYPTION=0";
        values.report(Severity::Error, &key::OPENIMEX_AUTH, what, hint.to_owned());
        return None;
    }
    let socket = values.path(&key::OPENIMEX_MUNGE_SOCKET);
    if socket.as_os_str().as_bytes().contains(&0) {
        let what = "OPENIMEX_MUNGE_SOCKET: there is a NUL byte in the path".to_owned();
        values.report(Severity::Error, &key::OPENIMEX_MUNGE_SOCKET, what, None);
    }
    let socket = (!socket.as_os_str().is_empty()).then_some(socket);
    let origin = match values.text(&key::OPENIMEX_MUNGE_ORIGIN) {
        "peer" => MungeOrigin::Peer,
        _ => MungeOrigin::Any,
    };
    Some(Munge { socket, uid: values.number(&key::OPENIMEX_MUNGE_UID), origin })
}
