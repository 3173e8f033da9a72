//! Steps of the wall clock.
//!
//! No process can have a wall clock of its own (`time_namespaces(7)` has the monotonic clocks only), and a test must not
//! set the machine's. So the tests show that nothing can depend on it: who reads it, and that even the monotonic clocks
//! of two nodes may differ.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use imex_core::DomainState;

use crate::support::Rack;
use crate::support::namespace;

#[test]
fn the_wall_clock_is_read_in_one_file_which_serves_records_answers_and_certificates_only() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let parts = ["imex-core", "imex-config", "imex-wire", "imex-daemon"];
    let sources: Vec<PathBuf> =
        parts.iter().flat_map(|part| rust_files(&crates.join(part).join("src"))).collect();
    let having = |words: &[&str]| -> Vec<String> {
        let reads = |path: &&PathBuf| {
            let text = fs::read_to_string(path).unwrap();
            words.iter().any(|word| text.contains(word))
        };
        let name = |path: &PathBuf| path.strip_prefix(crates).unwrap().display().to_string();
        sources.iter().filter(reads).map(name).collect()
    };
    let readers = having(&["SystemTime::", "Zoned::now", "Timestamp::now", "CLOCK_REALTIME"]);
    assert_eq!(readers, ["imex-daemon/src/clock.rs"]);
    let users = having(&["WallTime::now"]);
    let expected = ["command/desk.rs", "driver/reload.rs", "lib.rs", "logging/line.rs", "logging.rs"]
        .map(|file| format!("imex-daemon/src/{file}"));
    assert_eq!(users, expected);
}

#[test]
fn nodes_whose_monotonic_clocks_are_years_apart_form_a_domain() {
    let shifted = ["--time", "--monotonic", "100000000", "--boottime", "100000000"];
    let possible = Command::new("unshare").args(shifted).arg("true").stderr(Stdio::null()).status();
    if !namespace::available() || !possible.is_ok_and(|status| status.success()) {
        return;
    }
    let rack = Rack::new(2);
    let first = rack.start(0);
    let mut outer = Command::new("unshare");
    outer.args(shifted);
    let second = rack.spawn(1, &mut namespace::append(outer, &rack.command(1)));
    first.await_domain(DomainState::Up);
    second.await_domain(DomainState::Up);
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let files = entries.into_iter().flat_map(|path| match path.is_dir() {
        true => rust_files(&path),
        false => vec![path],
    });
    files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}
