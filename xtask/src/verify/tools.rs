//! Tools that the steps need beyond Rust and a C compiler, installed where they are missing.

use crate::error::TaskError;
use crate::process::{self, Program};
use crate::report::Report;
use crate::tree;

/// Pinned: a newer version may judge differently.
const CARGO_DENY: &str = "0.20.2";

/// `cargo-deny`, built into `target/tools` at first use.
pub(super) fn cargo_deny(report: &mut Report) -> Result<Program, TaskError> {
    let folder = tree::target().join("tools");
    let program = folder.join("bin/cargo-deny");
    let installed = Program::new(&program).arg("--version").stdout();
    if !installed.is_ok_and(|version| version.contains(CARGO_DENY)) {
        report.line(format_args!("building cargo-deny {CARGO_DENY} into {}", tree::relative(&folder)));
        let install = Program::cargo().words("install --quiet --locked --force --root").arg(&folder);
        install.arg(format!("cargo-deny@{CARGO_DENY}")).run()?;
    }
    // Cargo tells a subcommand its name as the first argument; called directly, it needs none.
    Ok(Program::new(program))
}

/// Whether a C++ compiler is there, after trying to install one.
pub(crate) fn has_cxx(report: &mut Report) -> bool {
    has(report, &["c++", "g++"], "g++")
}

/// Whether what some tests need is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Everything.
    All,
    /// Something is missing and cannot be installed.
    NotAll,
}

/// What the tests of Kerberos and MUNGE need: a KDC and a munged. Where one cannot be had, its tests say that they are
/// skipped.
pub(super) fn authentication(report: &mut Report) -> Found {
    let mut found = Found::All;
    for (program, packages) in
        [("krb5kdc", "krb5-kdc krb5-admin-server"), ("kinit", "krb5-user"), ("munged", "munge")]
    {
        if !has(report, &[program], packages) {
            report.warning(format_args!("without {packages}, tests of authentication are skipped"));
            found = Found::NotAll;
        }
    }
    found
}

/// Whether one of these programs is there, after trying to install their package: on Debian, as root, without asking
/// anything.
pub(crate) fn has(report: &mut Report, programs: &[&str], package: &str) -> bool {
    let found = || programs.iter().any(|program| process::find(program).is_some());
    if found() {
        return true;
    }
    if Program::new("id").arg("-u").stdout().is_ok_and(|user| user.trim() == "0")
        && process::find("apt-get").is_some()
    {
        report.line(format_args!("installing {package} with apt-get"));
        let apt =
            |words: &str| Program::new("apt-get").words(words).env("DEBIAN_FRONTEND", "noninteractive").run();
        let install = format!("-qq install --yes --no-install-recommends {package}");
        if let Err(error) = apt("-qq update").and_then(|()| apt(&install)) {
            report.failure(&error);
        }
    }
    found()
}
