//! What is done to this repository rather than by it: checks, generated files, fuzzing, benchmarks.
//!
//! `cargo xtask verify` is all of CI. Each task is one file; each file says what must hold and why. Nothing here is
//! shipped, and no other crate may use this one.

mod bench;
mod check;
mod clock;
mod differential;
mod e2e;
mod error;
mod fuzz;
mod generate;
mod lifecycle;
mod lint_differential;
mod process;
mod report;
mod slurm_lab;
mod tree;
mod verify;

use std::io;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::error::TaskError;
use crate::report::Report;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "Checks, generates and measures")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run everything that must hold before a change is merged; this is all of CI
    Verify(verify::Options),
    /// Run the checks that need no compilation: named paths, crate arrows, style budget
    Check,
    /// Write the man pages, the completions and the example configuration
    Generate(generate::Options),
    /// Measure what docs/benchmarks.md promises, and print the table
    Bench(bench::Options),
    /// Fuzz what comes from outside: files, peers' messages, commands
    Fuzz(fuzz::Options),
    /// Run a real Slurm in namespaces of its own: controller and nodes from Debian's packages
    SlurmLab(slurm_lab::Options),
    /// Try jobs on a real Slurm with real systemd: what a domain per job must withstand
    E2e(e2e::Options),
    /// Compare the planner with a real slurmctld over random jobs
    TopologyDifferential(differential::Options),
    /// Compare lint with a real slurmctld over generated topology files, good and bad
    TopologyLintDifferential(lint_differential::Options),
    /// Try apply, verify and watch on a real slurmctld
    TopologyLifecycle,
}

/// Runs the task that the command line names.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut report = Report::new(io::stdout());
    match run(arguments.task, &mut report) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report.failure(&error);
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task, report: &mut Report) -> Result<(), TaskError> {
    match task {
        Task::Verify(options) => verify::run(&options, report),
        Task::Check => check::run(report),
        Task::Generate(options) => generate::run(&options, report),
        Task::Bench(options) => bench::run(&options, report),
        Task::Fuzz(options) => fuzz::run(&options, report),
        Task::SlurmLab(options) => slurm_lab::run(options, report),
        Task::E2e(options) => e2e::run(&options, report),
        Task::TopologyDifferential(options) => differential::run(&options, report),
        Task::TopologyLintDifferential(options) => lint_differential::run(&options, report),
        Task::TopologyLifecycle => lifecycle::run(report),
    }
}
