//! `imex lab down`.

use std::io::Write;

use imex_lab::LabClient;
use serde::Serialize;

use crate::cli::{OfLab, format};
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format, count};
use crate::run::block_on;

/// How a lab was ended.
#[derive(Debug, Serialize)]
struct Down {
    /// Its directory, which stays.
    dir: String,
    /// How many nodes had to be killed because they did not leave in time.
    killed: usize,
}

/// Runs the command.
pub(crate) fn run(args: &OfLab, out: &mut dyn Write) -> Result<Exit, Stop> {
    let lab = LabClient::open(&args.dir).map_err(Failure::from)?;
    let killed = block_on(lab.down())?.map_err(Failure::from)?;
    let dir = lab.layout().dir().display().to_string();
    let down = Down { dir, killed };
    match format(args.json) {
        Format::Json => output::json(&down, out)?,
        Format::Text => down.write(out)?,
    }
    Ok(Exit::Done)
}

impl Down {
    fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let Down { dir, killed } = self;
        writeln!(out, "the lab has ended; its files are in {dir}")?;
        match *killed {
            0 => Ok(()),
            late => writeln!(out, "{} did not leave in time and were killed", count(late, "node")),
        }
    }
}
