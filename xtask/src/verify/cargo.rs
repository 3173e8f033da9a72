//! The steps that are one run of cargo.

use super::tools::Found;
use crate::error::TaskError;
use crate::process::Program;

pub(super) fn format() -> Result<(), TaskError> {
    Program::cargo().words("fmt --all --check").run()?;
    Program::cargo().words("fmt --all --check --manifest-path fuzz/Cargo.toml").run()
}

pub(super) fn lints() -> Result<(), TaskError> {
    Program::cargo().words("clippy --locked --workspace --all-targets -- --deny warnings").run()
}

/// Private items too: their docs are for whoever changes the code, and a broken link there misleads just as much.
pub(super) fn docs() -> Result<(), TaskError> {
    let doc = Program::cargo().words("doc --locked --workspace --no-deps --document-private-items");
    doc.env("RUSTDOCFLAGS", "--deny warnings").run()
}

/// All programs before any test: the tests of one crate start the programs of another, and cargo builds for a crate's
/// tests only its own. The targets are those of the test step, so that nothing is built twice.
pub(super) fn build() -> Result<(), TaskError> {
    Program::cargo().words("build --locked --workspace --all-targets").run()
}

/// Golden files are compared here and never rewritten. What authentication is tested with, where it is there, must be
/// found: a test that skips itself then has failed.
pub(super) fn tests(authentication: Found) -> Result<(), TaskError> {
    let tests = Program::cargo().words("test --locked --workspace --no-fail-fast").env("INSTA_UPDATE", "no");
    match authentication {
        Found::All => tests.env("OPENIMEX_TEST_AUTHENTICATION", "1").run(),
        Found::NotAll => tests.run(),
    }
}
