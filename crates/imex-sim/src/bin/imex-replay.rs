//! Looks at a run of the simulated cluster again.

use std::io;
use std::process::ExitCode;

use clap::Parser as _;
use imex_sim::replay::{Args, exit_code, run};

fn main() -> ExitCode {
    let result = run(&Args::parse(), &mut io::stdout().lock(), &mut io::stdin().lock());
    exit_code(result, &mut io::stderr().lock())
}
