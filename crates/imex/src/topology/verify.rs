//! `imex topology verify`: does the controller hold the file, and does the file say what the sources say?

use std::io::{self, Write};

use imex_topology::diff::diff;
use imex_topology::resting::propose;
use imex_topology::{Diff, Inventory, Merged, Topologies};
use serde::Serialize;

use super::controller::{Controller, Held, HeldState, all_held, summary};
use super::lifecycle_args::VerifyArgs;
use super::{diff as changes, files, sources};
use crate::cli::format;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format};
use crate::run::block_on;

/// What was found.
#[derive(Debug, Serialize)]
struct Report {
    /// The exit code.
    exit_code: Exit,
    /// The file.
    file: String,
    /// How each of its topologies fares in the controller.
    controller: Vec<Held>,
    /// What the sources would change; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    sources: Option<Diff>,
    /// What the sources warn of.
    warnings: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(args: &VerifyArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Stop> {
    let merged = args.sources().map(|sources| sources::inventory(&sources)).transpose()?;
    if let Some(merged) = &merged {
        sources::warn(&merged.warnings, err);
        sources::agreed(merged)?;
    }
    let report = block_on(verify(args, merged))??;
    match format(args.json) {
        Format::Json => output::json(&report, out)?,
        Format::Text => report.write(out)?,
    }
    Ok(report.exit_code)
}

async fn verify(args: &VerifyArgs, merged: Option<Merged>) -> Result<Report, Failure> {
    let file = files::topologies(&args.file)?;
    let controller = Controller::new(&args.slurm);
    let held = controller.holds(&file).await.map_err(|error| error.failure())?;
    let (sources, warnings) = match merged {
        None => (None, Vec::new()),
        Some(Merged { inventory, warnings, .. }) => {
            (Some(from_sources(args, &inventory, &file, &controller).await?), warnings)
        }
    };
    let exit_code = match &sources {
        _ if !all_held(&held) => Exit::ControllerDiffers,
        Some(diff) if !diff.is_empty() => Exit::TopologyDiffers,
        Some(_) | None => Exit::Done,
    };
    Ok(Report { exit_code, file: args.file.display().to_string(), controller: held, sources, warnings })
}

/// What the sources would change, powered-down nodes kept.
async fn from_sources(
    args: &VerifyArgs,
    inventory: &Inventory,
    file: &Topologies,
    controller: &Controller,
) -> Result<Diff, Failure> {
    let resting = controller.resting().await.map_err(|error| error.failure())?;
    let proposal = propose(inventory, &args.shape.options(), Some(file), &resting);
    let proposal = proposal.map_err(|error| Failure::new(Exit::Failed, &error))?;
    Ok(diff(file, &proposal.topologies))
}

impl Report {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let file = &self.file;
        if all_held(&self.controller) {
            writeln!(out, "the controller holds {file}")?;
        } else {
            writeln!(out, "the controller does not hold {file}: {}", summary(&self.controller))?;
        }
        for Held { topology, state } in &self.controller {
            if let HeldState::Differs { difference } = state {
                let name = if topology.is_empty() { "topology" } else { topology };
                writeln!(out, "{name}, from the file to the controller:")?;
                changes::write_blocks(difference, out)?;
            }
        }
        match &self.sources {
            None => Ok(()),
            Some(diff) if diff.is_empty() => writeln!(out, "{file} says what the sources say"),
            Some(diff) => {
                writeln!(out, "the sources would change {file}:")?;
                changes::write(diff, out)
            }
        }
    }
}
