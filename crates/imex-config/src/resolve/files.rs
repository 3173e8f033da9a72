//! Whether the files that a configuration names are different ones.
//!
//! The persist file is removed at a clean end, the socket takes the place of what a dead daemon left, and logs grow at
//! their ends: none of that may happen to a file that is read, or that has another purpose.

use std::path::{Path, PathBuf};

use super::{Written, socket};
use crate::keys::{Key, table as key};
use crate::problem::Severity;
use crate::values::Values;

/// Files to which anything may be appended: what stands in them belongs to people.
const APPENDED: [Key; 3] = [key::LOG_FILE_NAME, key::STATS_FILE_NAME, key::OPENIMEX_VERBOSE_LOG_FILE_NAME];

/// Reports every key that names a file which has another purpose already. Devices, such as `/dev/null`, have none.
pub(super) fn report_shared(values: &mut Values<'_>, written: &Written) {
    let mut taken = vec![
        ("the configuration file".to_owned(), written.service_path.clone()),
        (key::IMEX_NODE_CONFIG_FILE.name.to_owned(), written.nodes_path.clone()),
    ];
    let alone = [
        (key::IMEX_CMD_UNIX_DOMAIN_PATH, socket(values)),
        (key::OPENIMEX_PERSIST_FILE, values.path(&key::OPENIMEX_PERSIST_FILE)),
    ];
    for (key, path) in alone {
        report(values, &taken, &key, &path);
        report_device(values, &key, &path);
        taken.push((key.name.to_owned(), path));
    }
    for key in APPENDED {
        let path = values.path(&key);
        report(values, &taken, &key, &path);
    }
}

/// What is replaced or bound as a whole would take a device's place: who writes `/dev/null` wants no file, and would lose the
/// device for all programs of the machine.
fn report_device(values: &mut Values<'_>, key: &Key, path: &Path) {
    if path.starts_with("/dev") && !path.starts_with("/dev/shm") {
        let what = format!("{}: {} is among the devices", key.name, path.display());
        values.report(Severity::Error, key, what, "name a file of its own, best below /run".to_owned());
    }
}

fn report(values: &mut Values<'_>, taken: &[(String, PathBuf)], key: &Key, path: &Path) {
    let other = taken.iter().find(|(_, other)| other == path && !path.starts_with("/dev"));
    if let Some((purpose, _)) = other {
        let what = format!("{}: {} is {purpose} already", key.name, path.display());
        values.report(Severity::Error, key, what, "each needs a file of its own".to_owned());
    }
}
