//! The IMEX daemon: serves as one node of a domain.
//!
//! What is decided about links and states is decided in `imex-core`; what goes over the wire is in `imex-wire`; what the
//! files mean is in `imex-config`. This crate gives them a process: it reads the files, takes the ports, keeps the
//! connections, and carries out what the core asks for. It must never decide anything about a peer itself.
//!
//! From `main` to READY: [`args`] are read, the files are judged as a whole, then [`serve`](self) checks the machine,
//! takes the ports, tells the parent process if it is to run in the background, and enters the driver loop. Long-lived
//! tasks, all on one thread:
//!
//! | task | waits for | how many |
//! |---|---|---|
//! | the driver loop (`driver`) | events of all others, signals, the next deadline | 1 |
//! | the signals (`signals`) | signals | 1 |
//! | the peers' door (`peer::accept`) | connections | 1 |
//! | a stranger (`peer::accept`) | a hello, for 2 s | bounded, 8 per source |
//! | a dial (`peer::dial`) | an answer, until the core gives it up | at most 1 per node |
//! | a stream (`peer::listen`) | messages | 2 per node |
//! | the command listeners (`command`) | connections | 1 |
//! | a command connection (`command`) | requests | at most 15 per listener |
//!
//! Beside that thread there is one that writes logs and statistics (`logging::writer`), and up to four that look up names.

pub mod args;
mod clock;
mod command;
mod daemonize;
mod driver;
mod echo;
pub mod exit;
mod failure;
mod fence;
mod gpu;
mod identity;
mod limits;
mod logging;
mod notify;
mod peer;
mod persist;
mod ports;
mod serve;
mod signals;
mod stats;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use imex_config::{Loaded, Overrides, Problem, Security, Severity, Strictness, ThisMachine};

use args::Args;
use exit::Exit;
use failure::StartError;

/// Runs the daemon with a command line, the program's name first, until it is told to stop.
pub fn run(line: impl IntoIterator<Item = OsString>) -> ExitCode {
    let line: Vec<OsString> = line.into_iter().collect();
    match Args::read(line.iter().cloned()) {
        Ok(args) => obey(&args, &line).into(),
        Err(error) => {
            // A closed terminal leaves nobody to tell.
            let _ = error.print();
            if error.use_stderr() { Exit::Usage.into() } else { Exit::Success.into() }
        }
    }
}

fn obey(args: &Args, line: &[OsString]) -> Exit {
    if args.version {
        let told = say(io::stdout(), &args::version_line());
        return told.map_or(Exit::Failure, |()| Exit::Success);
    }
    if args.check {
        return check(args);
    }
    match serve::serve(args, line) {
        Ok(()) => Exit::Success,
        Err(error) => {
            complain(&error);
            error.exit()
        }
    }
}

/// Loads the files and judges them, with the credentials that they name: nothing is bound before all is known to be good.
pub(crate) fn load(args: &Args) -> Loaded {
    let mut loaded = imex_config::load(&args.config, &Overrides { port: args.port }, &ThisMachine);
    let Some(settings) = &loaded.settings else { return loaded };
    if let Security::Tls(tls) = &settings.security {
        let now = clock::WallTime::now().timestamp();
        fence::problems(settings, tls, &args.config, now)
            .into_iter()
            .for_each(|problem| loaded.problems.push(problem));
    }
    if loaded.problems.fail(Strictness::Lenient) {
        loaded.settings = None;
    }
    loaded
}

/// `--check`: every problem of both files, warnings counted as failures.
fn check(args: &Args) -> Exit {
    let mut loaded = load(args);
    if let Some(settings) = &loaded.settings
        && let Some((what, hint)) = fence::missing_library(&settings.security)
    {
        loaded.problems.push(Problem::new(Severity::Error, &args.config, what).hint(hint));
    }
    if let Some(settings) = &loaded.settings {
        let absent = imex_config::absent(&settings.security, &ThisMachine, &args.config);
        absent.into_iter().for_each(|problem| loaded.problems.push(problem));
    }
    if !loaded.problems.is_empty() && say(io::stdout(), &loaded.problems.to_string()).is_err() {
        return Exit::Failure;
    }
    if loaded.problems.fail(Strictness::Strict) { Exit::Configuration } else { Exit::Success }
}

fn complain(error: &StartError) {
    if let Some(text) = error.last_words() {
        // There is nobody else to tell.
        let _ = say(io::stderr(), &text);
    }
}

/// A closed pipe is no failure.
fn say(mut to: impl Write, text: &str) -> io::Result<()> {
    match writeln!(to, "{text}") {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
