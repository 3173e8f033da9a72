//! `imexctl`.

use std::process::ExitCode;

fn main() -> ExitCode {
    imex_ctl::run(std::env::args_os()).into()
}
