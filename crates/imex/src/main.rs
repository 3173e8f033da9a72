//! The operator's tool, and under other names the programs that it brings along.

use std::process::ExitCode;

fn main() -> ExitCode {
    imex::main(std::env::args_os().collect())
}
