//! Fuzzing what comes from outside, on stable Rust.
//!
//! The targets lie in a workspace of their own, `fuzz/`. They are built with the coverage counters that libFuzzer needs
//! (flags of LLVM's sanitizer coverage pass, which stable `rustc` passes on) into a build folder of their own, so that
//! these flags rebuild nothing else. Sanitizers for memory errors would need a nightly compiler and find little in a
//! workspace that forbids `unsafe`.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::error::TaskError;
use crate::process::Program;
use crate::report::Report;
use crate::tree;
use crate::verify::has_cxx;

/// What `rustc` is told: count edges and comparisons, check arithmetic as a debug build does.
const RUSTFLAGS: &str = "--cfg fuzzing \
    -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Cdebug-assertions -Ccodegen-units=1";

/// The most a target may hold. The largest input, a node file at its limit, needs a fraction of it.
const MEMORY_MIB: u32 = 1024;

/// The longest that one input may take. Normal inputs take microseconds.
const INPUT_SECONDS: u32 = 5;

/// The longest input that is made up; a peer's message may have 64 KiB, and most faults need far less.
const MAX_LEN: u32 = 16 * 1024;

/// How many inputs a smoke run tries, from a fixed seed. It shows that each target runs and that its corpus holds, in
/// a second or two; looking for what is new is the long form's business, and must not decide about an unrelated change.
const SMOKE_RUNS: u32 = 20_000;

/// The longest that a smoke run may take: many times what it needs.
const SMOKE_LIMIT: Duration = Duration::from_secs(60);

/// How much longer than asked the fuzzer may run before it counts as hanging.
const SLACK: Duration = Duration::from_secs(60);

/// How much of a failed target's output is shown: the panic and the inner half of its backtrace.
const EXPLAINED_LINES: usize = 40;

#[derive(Args)]
pub(crate) struct Options {
    /// How long to fuzz each target
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,
    /// Run one input again instead of fuzzing; needs exactly one target
    #[arg(long, value_name = "FILE", requires = "targets")]
    replay: Option<PathBuf>,
    /// Which targets; all by default
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// The same inputs each time, see [`SMOKE_RUNS`]
    #[arg(skip)]
    repeatable: bool,
}

impl Options {
    /// All targets, each for as long.
    pub(crate) fn all_for(time: Duration) -> Self {
        Options { seconds: time.as_secs(), replay: None, targets: Vec::new(), repeatable: false }
    }

    /// All targets with inputs that are the same each time: what passed once passes again.
    pub(crate) fn smoke() -> Self {
        Options { repeatable: true, ..Options::all_for(SMOKE_LIMIT) }
    }
}

/// Builds the targets and fuzzes them one after the other. What is new in coverage is kept in `target/fuzz/found`, what
/// fails in `target/fuzz/failed`; the seeds in `fuzz/corpus` stay as they are.
pub(crate) fn run(options: &Options, report: &mut Report) -> Result<(), TaskError> {
    let targets = chosen(&options.targets)?;
    if !has_cxx(report) {
        report.warning("fuzzing: libFuzzer needs a C++ compiler, and there is none");
        return Ok(());
    }
    build()?;
    match &options.replay {
        Some(input) => targets.iter().try_for_each(|target| Program::new(binary(target)).arg(input).run()),
        None => targets.iter().try_for_each(|target| fuzz(target, options, report)),
    }
}

fn build() -> Result<(), TaskError> {
    let build = Program::cargo()
        .words("build --release --locked --manifest-path fuzz/Cargo.toml --target-dir")
        .arg(folder());
    // With a target named, the flags do not reach build scripts and macros, which would not link.
    build.arg("--target").arg(host()?).env("RUSTFLAGS", RUSTFLAGS).run()
}

fn fuzz(target: &str, options: &Options, report: &mut Report) -> Result<(), TaskError> {
    let seconds = options.seconds;
    let found = folder().join(if options.repeatable { "smoke" } else { "found" }).join(target);
    let repeat = format!("-seed=1 -runs={SMOKE_RUNS}");
    if options.repeatable && found.exists() {
        fs::remove_dir_all(&found).map_err(TaskError::file("remove", &found))?;
    }
    let failed = folder().join("failed").join(target);
    for folder in [&found, &failed] {
        fs::create_dir_all(folder).map_err(TaskError::file("make", folder))?;
    }
    let log = folder().join(format!("{target}.log"));
    let result = Program::new(binary(target))
        .arg(&found)
        .arg(tree::root().join("fuzz/corpus").join(target))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={MAX_LEN}"))
        .arg(format!("-timeout={INPUT_SECONDS}"))
        .arg(format!("-rss_limit_mb={MEMORY_MIB}"))
        .arg(format!("-artifact_prefix={}/", failed.display()))
        .words("-print_final_stats=1")
        .words(if options.repeatable { &repeat } else { "" })
        .limit(Duration::from_secs(seconds) + SLACK)
        .log_to(&log)?
        .run();
    let said = tree::read(&log)?;
    match &result {
        Ok(()) => report.line(format_args!("{target}: {} inputs, no fault", inputs(&said))),
        Err(_) => explain(target, &said, report),
    }
    result
}

/// What libFuzzer counted (`stat::number_of_executed_units: 42`).
fn inputs(said: &str) -> &str {
    let count = said.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    count.map_or("an unknown number of", str::trim)
}

/// Shows the panic, where the input is, and how to run it again.
fn explain(target: &str, said: &str, report: &mut Report) {
    let from = said.find("panicked at").unwrap_or(0);
    for line in said[from..].lines().take(EXPLAINED_LINES) {
        report.line(format_args!("  {line}"));
    }
    match said.lines().find_map(|line| line.split_once("Test unit written to ")) {
        Some((_, input)) => {
            report.line(format_args!("The input lies in {input}"));
            report.line(format_args!("To run it again: cargo xtask fuzz --replay {input} {target}"));
        }
        None => report.line("No input was written"),
    }
}

/// The targets that the command line names, or all: one per file in `fuzz/targets`.
fn chosen(names: &[String]) -> Result<Vec<String>, TaskError> {
    let files = tree::files(&tree::root().join("fuzz/targets"))?;
    let stem = |path: &PathBuf| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let known: Vec<String> = files.iter().filter_map(stem).collect();
    if let Some(name) = names.iter().find(|name| !known.contains(name)) {
        return Err(TaskError::Unknown { kind: "fuzz target", name: name.clone(), known });
    }
    Ok(if names.is_empty() { known } else { names.to_vec() })
}

fn folder() -> PathBuf {
    tree::target().join("fuzz")
}

fn binary(target: &str) -> PathBuf {
    // One level of folders, named after the machine, because the build names its target.
    let host = host().unwrap_or_default();
    folder().join(host).join("release").join(target)
}

/// The machine this runs on, as rustc calls it.
fn host() -> Result<String, TaskError> {
    let version = Program::new("rustc").words("--version --verbose").stdout()?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let missing =
        || TaskError::Output { line: "rustc --version --verbose".to_owned(), why: "no host".to_owned() };
    host.map(str::to_owned).ok_or_else(missing)
}
