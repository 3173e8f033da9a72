//! From the command line to the exit code.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::cli::{Cli, Command};
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format, Plain};
use crate::{channel, doctor, follow, lab, pki, slurm, topology, validate, wait};

/// Runs the program that this command line names: its first word decides.
pub fn main(line: Vec<OsString>) -> ExitCode {
    let name = line.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
    match name.to_str() {
        Some("imexd") => imex_daemon::run(line),
        Some("imexctl") => imex_ctl::run(line).into(),
        Some(_) | None => {
            let (mut out, mut err) = (Plain(io::stdout().lock()), Plain(io::stderr()));
            imex(line, &mut out, &mut err).into()
        }
    }
}

fn imex(line: Vec<OsString>, out: &mut dyn Write, err: &mut dyn Write) -> Exit {
    let cli = match Cli::read(line) {
        Ok(cli) => cli,
        Err(answer) => return help_or_misuse(&answer, out, err),
    };
    let format = cli.format();
    let done = match cli.command {
        Command::Wait(args) => wait::run(&args, out),
        Command::Lab(args) => lab::run(args, out, err),
        Command::Follow(args) => follow::run(&args, out),
        Command::Channel(args) => channel::run(&args.command, out),
        Command::Topology(args) => topology::run(&args.command, out, err),
        Command::Pki(args) => pki::run(&args.command, out),
        Command::Slurm(args) => slurm::run(&args.command, out, err),
        Command::Doctor(args) => doctor::run(&args, out),
        Command::Validate(args) => validate::run(&args, out),
    };
    match done.and_then(|exit| Ok(out.flush().map(|()| exit)?)) {
        Ok(exit) => exit,
        Err(Stop::Failed(failure)) => tell(&failure, format, out, err),
        // Whoever closes the pipe has read enough.
        Err(Stop::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
        Err(Stop::Output(error)) => {
            let failure = Failure::because(Exit::Failed, format!("the output could not be written: {error}"));
            tell(&failure, Format::Text, out, err)
        }
    }
}

fn help_or_misuse(answer: &clap::Error, out: &mut dyn Write, err: &mut dyn Write) -> Exit {
    let text = answer.render();
    // If nobody takes the text of a misuse there is nobody to tell.
    #[expect(clippy::wildcard_enum_match_arm, reason = "clap's kinds are foreign and open")]
    match answer.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            match write!(out, "{text}").and_then(|()| out.flush()) {
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Exit::Failed,
                Ok(()) | Err(_) => Exit::Done,
            }
        }
        _ => {
            drop(write!(err, "{text}"));
            Exit::Usage
        }
    }
}

fn tell(failure: &Failure, format: Format, out: &mut dyn Write, err: &mut dyn Write) -> Exit {
    // The exit code is told in any case.
    if format == Format::Json {
        drop(output::error(failure, out));
    }
    drop(failure.write(err));
    failure.exit()
}

/// Runs a command's waiting part on this thread alone: daemons end with the thread that started them.
pub(crate) fn block_on<F: Future>(future: F) -> Result<F::Output, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::because(Exit::Failed, format!("no runtime: {error}")))?;
    Ok(runtime.block_on(future))
}
