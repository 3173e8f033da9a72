//! `imex lab status`.

use std::io::Write;

use imex_lab::LabClient;

use super::snapshot::Snapshot;
use crate::cli::{OfLab, format};
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format};
use crate::run::block_on;

/// Runs the command. It succeeds whenever the lab could be asked, whatever the state of its domain.
pub(crate) fn run(args: &OfLab, out: &mut dyn Write) -> Result<Exit, Stop> {
    let lab = LabClient::open(&args.dir).map_err(Failure::from)?;
    let snapshot = block_on(Snapshot::take(&lab))??;
    match format(args.json) {
        Format::Json => output::json(&snapshot, out)?,
        Format::Text => snapshot.write(out)?,
    }
    Ok(Exit::Done)
}
