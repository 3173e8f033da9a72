//! The IMEX daemon.

use std::process::ExitCode;

fn main() -> ExitCode {
    imex_daemon::run(std::env::args_os())
}
