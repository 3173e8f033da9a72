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

use imex_config::keys;
use imex_lab::{Lab, LabBuilder};

use crate::cli::{LabArgs, LabCommand, RackArgs};
use crate::exit::Exit;
use crate::failure::{Failure, Stop};

/// Runs the command.
pub(crate) fn run(args: LabArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Stop> {
    match &args.command {
        None => {
            warn(&args.rack, err);
            foreground::run(&args, out)
        }
        Some(LabCommand::Up(up)) => {
            warn(&up.rack, err);
            up::run(up, out)
        }
        Some(LabCommand::Own(own)) => own::run(own, out),
        Some(LabCommand::Status(lab)) => status::run(lab, out),
        Some(LabCommand::Kill(kill)) => act::kill(kill, out),
        Some(LabCommand::Start(start)) => act::start(start, out),
        Some(LabCommand::Down(lab)) => down::run(lab, out),
    }
}

/// Tells of keys that no daemon of ours knows: it only logs that, and a lab's logs are not looked into. Another daemon may.
fn warn(rack: &RackArgs, err: &mut dyn Write) {
    if rack.imexd.is_some() {
        return;
    }
    for (key, _) in rack.settings.iter().filter(|(key, _)| keys::find(key).is_none()) {
        let nearest =
            keys::nearest(key).map(|key| format!("; did you mean {}?", key.name)).unwrap_or_default();
        // The lab has more to do than to tell this.
        drop(writeln!(err, "imex: warning: --set: {key} is no key of config.cfg{nearest}"));
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
