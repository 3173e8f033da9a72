//! The keys of Kerberos, and the key tables that the environment names.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use super::security::target_override;
use crate::chain::chain;
use crate::credential::{self, CredentialError};
use crate::keys::table as key;
use crate::machine::Machine;
use crate::problem::Severity;
use crate::security::{Gss, GssFailure, GssProtection};
use crate::values::Values;

/// Where the keys of a machine are unless the environment or krb5.conf says otherwise.
const USUAL_TABLE: &str = "/etc/krb5.keytab";

/// The variables that name a key table: to read others' tickets with, and to get own ones.
const TABLES: [&str; 2] = ["KRB5_KTNAME", "KRB5_CLIENT_KTNAME"];

/// What the keys ask for. A key table that others can read or change is reported, and no more: the library opens it, and the
/// machine's other services go by it too.
pub(super) fn resolve(values: &mut Values<'_>, machine: &impl Machine, protection: GssProtection) -> Gss {
    report_open_tables(values, machine);
    let ticket_cache = machine.variable("KRB5CCNAME").and_then(|name| name.into_string().ok());
    Gss {
        protection,
        service: values.text(&key::IMEX_GSS_SERVICE_NAME).to_owned(),
        timeout: values.seconds(&key::IMEX_GSS_TIMEOUT_SEC),
        retry_interval: values.seconds(&key::IMEX_GSS_RETRY_INTERVAL_SEC).unwrap_or(Duration::ZERO),
        context_lifetime: values.seconds(&key::IMEX_GSS_SEC_CONTEXT_LIFETIME_SEC),
        on_failure: match values.on(&key::IMEX_GSS_SHUTDOWN_ON_FAILURE) {
            true => GssFailure::Shutdown,
            false => GssFailure::DropPeer,
        },
        target_override: target_override(values),
        ticket_cache: ticket_cache.filter(|name| !name.is_empty()),
    }
}

fn report_open_tables(values: &mut Values<'_>, machine: &impl Machine) {
    let tables: BTreeSet<PathBuf> = key_tables(machine).map(|(table, _)| table).collect();
    for table in tables {
        // One that is not there, or cannot be read, the library reports when it looks for the key.
        if let Err(error @ (CredentialError::Owner { .. } | CredentialError::Open { .. })) =
            credential::judge_key_table(&table)
        {
            let hint = error.hint();
            values.report(Severity::Warning, &key::IMEX_AUTH_ENCRYPTION_MODE, chain(&error), hint);
        }
    }
}

/// The key tables that this environment names, or the usual one where it names none, and how bad it is if that is not
/// there. What names something that is no file is left out.
pub(crate) fn key_tables(machine: &impl Machine) -> impl Iterator<Item = (PathBuf, Severity)> {
    TABLES.iter().filter_map(|variable| {
        let named = machine.variable(variable).and_then(|name| name.into_string().ok());
        match named.filter(|name| !name.is_empty()) {
            Some(name) => Some((file(&name)?, Severity::Warning)),
            None => Some((PathBuf::from(USUAL_TABLE), Severity::Note)),
        }
    })
}

/// The file that a name of a key table means; `None` if it means none.
fn file(name: &str) -> Option<PathBuf> {
    match name.split_once(':') {
        // `FILE` and its kind for writing are the ones that are files (krb5's "keytab definition").
        Some(("FILE" | "WRFILE", path)) => Some(path.into()),
        Some(_) if !name.starts_with('/') => None,
        Some(_) | None => Some(name.into()),
    }
}
