//! `imex lab`: a rack in a box.

mod act;
mod down;
mod foreground;
mod formation;
mod own;
mod snapshot;
mod status;
mod up;

use std::io::{self, Write};
use std::path::PathBuf;

use imex_lab::{Lab, LabBuilder};

use crate::cli::{LabArgs, LabCommand, RackArgs};
use crate::exit::Exit;
use crate::failure::{Failure, Stop};

/// Runs the command.
pub(crate) fn run(args: LabArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    match &args.command {
        None => foreground::run(&args, out),
        Some(LabCommand::Up(up)) => up::run(up, out),
        Some(LabCommand::Own(own)) => own::run(own, out),
        Some(LabCommand::Status(lab)) => status::run(lab, out),
        Some(LabCommand::Kill(kill)) => act::kill(kill, out),
        Some(LabCommand::Start(start)) => act::start(start, out),
        Some(LabCommand::Down(lab)) => down::run(lab, out),
    }
}

/// A lab as the options have it. This very program is its daemon and its control tool.
fn builder(rack: &RackArgs) -> Result<LabBuilder, Failure> {
    let this = this_program()?;
    let imexd = rack.imexd.as_ref().unwrap_or(&this);
    let lab = Lab::builder(imexd).imexctl(&this).nodes(rack.nodes).port(rack.port);
    let settings = rack.settings.iter();
    Ok(settings.fold(lab, |lab, (key, value)| lab.setting(key, value)))
}

fn this_program() -> Result<PathBuf, Failure> {
    let cannot = |error: io::Error| {
        Failure::because(Exit::LabFailed, format!("the path of this program is not known: {error}"))
    };
    std::env::current_exe().map_err(cannot)
}
