//! Prints what a library says as JSON: `cargo run -p imex-nvml --example ask [LIBRARY [MILLISECONDS]]`.

use std::env;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    let mut words = env::args().skip(1);
    let library = words.next().map_or_else(|| imex_nvml::DEFAULT_LIBRARY.into(), PathBuf::from);
    let within = words.next().and_then(|word| word.parse().ok()).unwrap_or(10_000);
    let text = match imex_nvml::ask(&library, Duration::from_millis(within)) {
        Ok(answer) => serde_json::to_string_pretty(&answer).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    // Whoever closes the pipe has read enough.
    match text {
        Ok(text) => writeln!(io::stdout(), "{text}").map_or(ExitCode::SUCCESS, |()| ExitCode::SUCCESS),
        Err(text) => writeln!(io::stderr(), "{text}").map_or(ExitCode::FAILURE, |()| ExitCode::FAILURE),
    }
}
