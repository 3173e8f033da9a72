//! The authentication keys.

use super::{gss, munge};
use crate::chain::chain;
use crate::client::SecurityUnusable;
use crate::credential::{self, Credential, Pem, Place, Secrecy};
use crate::keys::{self, Group, Key, Kind, table as key};
use crate::machine::Machine;
use crate::problem::Severity;
use crate::security::{GssProtection, Identity, Security, Tls};
use crate::values::Values;

const CREDENTIALS: [Key; 6] = [
    key::IMEX_SERVER_KEY,
    key::IMEX_SERVER_CERT,
    key::IMEX_SERVER_CERT_AUTH,
    key::IMEX_CLIENT_KEY,
    key::IMEX_CLIENT_CERT,
    key::IMEX_CLIENT_CERT_AUTH,
];

/// Judges the authentication keys. What is wrong with them has been reported; then the result means nothing.
pub(super) fn resolve(values: &mut Values<'_>, machine: &impl Machine) -> Security {
    if let Some(munge) = munge::resolve(values) {
        report_unused(values, Instead::Munge);
        return Security::Munge(munge);
    }
    if !values.on(&key::IMEX_ENABLE_AUTH_ENCRYPTION) {
        report_unused(values, Instead::Nothing);
        return Security::Off;
    }
    let mode = values.text(&key::IMEX_AUTH_ENCRYPTION_MODE);
    match mode {
        "SSL_TLS" => tls(values, machine).map_or(Security::Off, |tls| Security::Tls(Box::new(tls))),
        "GSS_AUTH_ENCRYPT" => Security::Gss(gss::resolve(values, machine, GssProtection::Encrypt)),
        "GSS_AUTH_ONLY" => Security::Gss(gss::resolve(values, machine, GssProtection::AuthenticateOnly)),
        _ => {
            report_word(values, &key::IMEX_AUTH_ENCRYPTION_MODE, Severity::Error);
            Security::Off
        }
    }
}

/// The same for a control tool, which goes on where a daemon would not start. Where one of the keys is wrong it is not
/// known whether the daemon asks for security; that it does not is the one thing that must not be assumed.
pub(super) fn resolve_client(
    values: &mut Values<'_>,
    machine: &impl Machine,
) -> Result<Security, SecurityUnusable> {
    let security = resolve(values, machine);
    let about_security = |name: &str| {
        name == key::OPENIMEX_AUTH.name || keys::find(name).is_some_and(|key| key.group == Group::Security)
    };
    let wrong = values.problems.iter().find(|problem| {
        problem.severity == Severity::Error && problem.key.as_deref().is_some_and(about_security)
    });
    match wrong {
        None => Ok(security),
        Some(problem) => Err(SecurityUnusable { what: problem.what.clone() }),
    }
}

/// What is on instead of security that was prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instead {
    Nothing,
    Munge,
}

/// Security that was prepared but not switched on may have been forgotten.
fn report_unused(values: &mut Values<'_>, instead: Instead) {
    for key in [key::IMEX_AUTH_ENCRYPTION_MODE, key::IMEX_AUTH_SOURCE] {
        if values.non_empty(&key).is_some() {
            report_word(values, &key, Severity::Warning);
        }
    }
    if let Some(key) = CREDENTIALS.iter().find(|key| values.non_empty(key).is_some()) {
        let (why, hint) = match instead {
            Instead::Nothing => (
                "security is off",
                "set IMEX_ENABLE_AUTH_ENCRYPTION=1, or leave the keys and certificates empty",
            ),
            Instead::Munge => (
                "OPENIMEX_AUTH=munge needs none",
                "set OPENIMEX_AUTH=none and IMEX_ENABLE_AUTH_ENCRYPTION=1, or leave the keys and certificates empty",
            ),
        };
        let what = format!("{} is set, but {why}", key.name);
        values.report(Severity::Warning, key, what, hint.to_owned());
    }
}

/// Reports a word that is none of its key's.
fn report_word(values: &mut Values<'_>, key: &Key, severity: Severity) {
    let (Kind::SecurityWord(words), value) = (key.kind, values.text(key)) else {
        return;
    };
    if words.contains(&value) {
        return;
    }
    let words = words.join(", ");
    let what = match value {
        "" => format!("{}: value is empty, but security is on", key.name),
        value => format!("{}: {value:?} is none of {words}", key.name),
    };
    let hint = match (severity, value) {
        (Severity::Error, "") => Some(format!("choose one of {words}")),
        (Severity::Error, _) => None,
        _ => Some("the service will not start once security is on".to_owned()),
    };
    values.report(severity, key, what, hint);
}

fn tls(values: &mut Values<'_>, machine: &impl Machine) -> Option<Tls> {
    let source = match values.text(&key::IMEX_AUTH_SOURCE) {
        "FILE" => Source::File,
        "ENV_PATH" => Source::VariablePath,
        "ENV_VAL" => Source::VariableValue,
        _ => {
            report_word(values, &key::IMEX_AUTH_SOURCE, Severity::Error);
            return None;
        }
    };
    // All six are judged before any of them is missed.
    let [server_key, server_cert, server_auth, client_key, client_cert, client_auth] =
        CREDENTIALS.map(|key| credential(values, &key, source, machine));
    Some(Tls {
        server: Identity { key: server_key?, certificate: server_cert?, authority: server_auth? },
        client: Identity { key: client_key?, certificate: client_cert?, authority: client_auth? },
        target_override: target_override(values),
    })
}

/// What the six keys hold.
#[derive(Clone, Copy, Debug)]
enum Source {
    File,
    VariablePath,
    VariableValue,
}

fn credential(
    values: &mut Values<'_>,
    key: &Key,
    source: Source,
    machine: &impl Machine,
) -> Option<Credential> {
    let (what, hint) = match judge_credential(values.text(key), (key, source), machine) {
        Ok((place, secrecy, pem)) => {
            return Some(Credential { key: key.name, line: values.line(key), place, secrecy, pem });
        }
        Err(Fault { what, hint }) => (what, hint),
    };
    let hint = hint.unwrap_or_else(|| {
        let about = match source {
            Source::File => "IMEX_AUTH_SOURCE=FILE: give the path of a PEM file",
            Source::VariablePath => {
                "IMEX_AUTH_SOURCE=ENV_PATH: give the name of a variable that holds a path"
            }
            Source::VariableValue => {
                "IMEX_AUTH_SOURCE=ENV_VAL: give the name of a variable that holds PEM text"
            }
        };
        about.to_owned()
    });
    values.report(Severity::Error, key, format!("{}: {what}", key.name), hint);
    None
}

/// What is wrong with a credential.
struct Fault {
    what: String,
    hint: Option<String>,
}

fn judge_credential(
    text: &str,
    (key, source): (&Key, Source),
    machine: &impl Machine,
) -> Result<(Place, Secrecy, Pem), Fault> {
    let fault = |what| Fault { what, hint: None };
    if text.is_empty() {
        return Err(fault("value is empty, but security is on".to_owned()));
    }
    let place = match source {
        Source::File => Place::File(text.into()),
        Source::VariablePath => match machine.variable(text) {
            Some(path) => Place::File(path.into()),
            None => return Err(fault(format!("environment variable {text} is not set"))),
        },
        Source::VariableValue => Place::Variable(text.to_owned()),
    };
    let secret = [key::IMEX_SERVER_KEY.name, key::IMEX_CLIENT_KEY.name].contains(&key.name);
    let secrecy = if secret { Secrecy::Secret } else { Secrecy::Public };
    let pem = credential::read(&place, secrecy, machine)
        .map_err(|error| Fault { what: chain(&error), hint: error.hint() })?;
    Ok((place, secrecy, pem))
}

pub(super) fn target_override(values: &Values<'_>) -> Option<String> {
    values.non_empty(&key::IMEX_SECURITY_TARGET_OVERRIDE).map(str::to_owned)
}
