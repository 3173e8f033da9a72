//! Whether the files that a configuration names are different ones.
//!
//! The persist file is removed at a clean end, the socket takes the place of what a dead daemon left, and logs grow at
//! their ends: none of that may happen to a file that is read, or that has another purpose. A file has many names (links, `..`,
//! relative ones), so that files that exist are told apart by device and number.

use std::path::{Path, PathBuf};

use super::{Written, socket};
use crate::keys::{Key, table as key};
use crate::machine::{FileId, Machine};
use crate::problem::Severity;
use crate::values::Values;

/// Files to which anything may be appended: what stands in them belongs to people.
const APPENDED: [Key; 3] = [key::LOG_FILE_NAME, key::STATS_FILE_NAME, key::OPENIMEX_VERBOSE_LOG_FILE_NAME];

/// A file that a configuration names.
struct Named {
    purpose: String,
    path: PathBuf,
    /// Which one it is, if it exists.
    file: Option<FileId>,
}

/// Reports every key that names a file which has another purpose already. Devices, such as `/dev/null`, have none.
pub(super) fn report_shared(values: &mut Values<'_>, written: &Written, machine: &impl Machine) {
    let named =
        |purpose: &str, path: PathBuf| Named { file: machine.file(&path), purpose: purpose.to_owned(), path };
    let mut taken = vec![
        named("the configuration file", written.service_path.clone()),
        named(key::IMEX_NODE_CONFIG_FILE.name, written.nodes_path.clone()),
    ];
    let alone = [
        (key::IMEX_CMD_UNIX_DOMAIN_PATH, socket(values)),
        (key::OPENIMEX_PERSIST_FILE, values.path(&key::OPENIMEX_PERSIST_FILE)),
    ];
    for (key, path) in alone {
        let named = named(key.name, path);
        report(values, &taken, &key, &named);
        report_device(values, &key, &named.path);
        taken.push(named);
    }
    for key in APPENDED {
        let path = values.path(&key);
        report(values, &taken, &key, &named(key.name, path));
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

fn report(values: &mut Values<'_>, taken: &[Named], key: &Key, named: &Named) {
    let Named { path, file, .. } = named;
    let is_it = |other: &&Named| other.path == *path || (file.is_some() && other.file == *file);
    // Two may go to the same device, or to what the daemon's standard output and error are.
    let of_the_system = |other: &&Named| path.starts_with("/dev") && other.path.starts_with("/dev");
    if let Some(other) = taken.iter().find(|other| is_it(other) && !of_the_system(other)) {
        let spelled =
            if other.path == *path { String::new() } else { format!(" ({})", other.path.display()) };
        let what = format!("{}: {} is {}{spelled} already", key.name, path.display(), other.purpose);
        values.report(Severity::Error, key, what, "each needs a file of its own".to_owned());
    }
}
