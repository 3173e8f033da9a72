//! Files that are made from the code and kept in the repository, so that packages and readers have them without a build.
//!
//! Each is made from the same definition that the program itself uses, and `verify` compares.

mod completions;
mod man;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use clap::{Args, Command, CommandFactory};
use imex_config::operator;

use crate::error::{TaskError, plural};
use crate::report::Report;
use crate::tree;

/// Generated files: each path from the root of the repository with what it is to hold.
type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Folders that hold generated files only: what is in them and is not generated any more is removed.
const FOLDERS: [&str; 2] = ["docs/man", "dist/completions"];

#[derive(Args)]
pub(crate) struct Options {
    /// Compare instead of writing, and fail if anything differs
    #[arg(long)]
    check: bool,
}

/// A program whose command line is documented.
struct Documented {
    command: Command,
    /// The section of the manual: 1 for what people use, 8 for what the system runs.
    section: &'static str,
}

/// The programs, as they define themselves.
fn programs() -> Vec<Documented> {
    vec![
        Documented { command: imex_daemon::args::Args::command(), section: "8" },
        Documented { command: imex_ctl::args::command(), section: "1" },
        Documented { command: imex::command(), section: "1" },
    ]
}

/// Writes or compares all generated files.
pub(crate) fn run(options: &Options, report: &mut Report) -> Result<(), TaskError> {
    let files = files()?;
    if options.check {
        report.line(format_args!("{} compared", plural(files.len(), "generated file")));
        return TaskError::from_findings(differences(&files)?);
    }
    for path in stale(&files)? {
        fs::remove_file(&path).map_err(TaskError::file("remove", &path))?;
    }
    for (path, bytes) in &files {
        let path = tree::root().join(path);
        let folder = path.parent().unwrap_or(tree::root());
        fs::create_dir_all(folder).map_err(TaskError::file("make", folder))?;
        fs::write(&path, bytes).map_err(TaskError::file("write", &path))?;
    }
    report.line(format_args!("{} written", plural(files.len(), "generated file")));
    Ok(())
}

/// Compares all generated files.
pub(crate) fn check(report: &mut Report) -> Result<(), TaskError> {
    run(&Options { check: true }, report)
}

fn files() -> Result<Files, TaskError> {
    let mut files = Files::new();
    files.insert("dist/conf/config.cfg".into(), imex_config::example().into_bytes());
    files.insert("dist/conf/openimex.toml".into(), operator::example().into_bytes());
    files.insert("docs/openimex-toml.md".into(), operator::reference().into_bytes());
    for program in programs() {
        completions::add(&program, &mut files);
        man::add(program, &mut files)?;
    }
    Ok(files)
}

fn differences(files: &Files) -> Result<Vec<String>, TaskError> {
    let differs = |(path, bytes): &(&PathBuf, &Vec<u8>)| {
        fs::read(tree::root().join(path)).ok().as_ref() != Some(*bytes)
    };
    let differing = files.iter().filter(differs).map(|(path, _)| format!("{}: not in step", path.display()));
    let stale = stale(files)?;
    let stale = stale.iter().map(|path| format!("{}: not generated any more", tree::relative(path)));
    let mut findings: Vec<String> = differing.chain(stale).collect();
    if !findings.is_empty() {
        findings.push("`cargo xtask generate` brings them in step".to_owned());
    }
    Ok(findings)
}

/// Files in the generated folders that are not generated.
fn stale(files: &Files) -> Result<Vec<PathBuf>, TaskError> {
    let mut stale = Vec::new();
    for folder in FOLDERS {
        stale.extend(tree::files(&tree::root().join(folder))?);
    }
    stale.retain(|path| path.strip_prefix(tree::root()).is_ok_and(|path| !files.contains_key(path)));
    Ok(stale)
}
