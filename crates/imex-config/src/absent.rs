//! What a kind of security needs beside the configuration, as far as a look at this machine tells: nobody is asked.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::machine::Machine;
use crate::problem::{Problem, Severity};
use crate::resolve::key_tables;
use crate::security::Security;

/// Where munged listens unless it was built or told otherwise (munged(8), `--socket`).
const USUAL_SOCKET: &str = "/run/munge/munge.socket.2";

/// The key tables and the socket that are not there, as problems of the configuration `file` that asks for them.
///
/// What the environment or the configuration names is a warning. That the usual one is not there is a note: the service's
/// unit, krb5.conf or the library may name another.
pub fn absent(security: &Security, machine: &impl Machine, file: &Path) -> Vec<Problem> {
    match security {
        // Its six files have been read.
        Security::Off | Security::Tls(_) => Vec::new(),
        Security::Gss(_) => {
            // By both variables the same table may be meant; it counts as named if one of them does.
            let mut tables = BTreeMap::<PathBuf, Severity>::new();
            for (table, severity) in key_tables(machine).filter(|(table, _)| is_absent(table)) {
                let worst = tables.entry(table).or_insert(severity);
                *worst = severity.max(*worst);
            }
            tables.into_iter().map(|(table, severity)| no_table(&table, severity, file)).collect()
        }
        Security::Munge(munge) => {
            let (socket, severity) = match &munge.socket {
                Some(named) => (named.as_path(), Severity::Warning),
                None => (Path::new(USUAL_SOCKET), Severity::Note),
            };
            no_socket(socket, severity, file).into_iter().collect()
        }
    }
}

fn no_table(table: &Path, severity: Severity, file: &Path) -> Problem {
    let what = format!("there is no key table {}", table.display());
    let hint =
        "`ktadd` on the KDC exports this node's key; KRB5_CLIENT_KTNAME and KRB5_KTNAME name another table";
    Problem::new(severity, file, what).hint(hint.to_owned())
}

fn no_socket(socket: &Path, severity: Severity, file: &Path) -> Option<Problem> {
    let what = match fs::metadata(socket) {
        Ok(found) if found.file_type().is_socket() => return None,
        Ok(_) => format!("{} is no socket of munged's", socket.display()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            format!("there is no socket of munged's at {}", socket.display())
        }
        // What this user cannot see the service may.
        Err(_) => return None,
    };
    let hint = "start munged, which the service waits for; OPENIMEX_MUNGE_SOCKET names another socket";
    Some(Problem::new(severity, file, what).hint(hint.to_owned()))
}

fn is_absent(path: &Path) -> bool {
    fs::metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}
