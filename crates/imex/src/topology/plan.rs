//! `imex topology plan`: where a job would land, or why it would not start.

mod asked;
mod shown;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use imex_topology::plan::{Outcome, Plan, plan, svg};

use super::args::PlanArgs;
use crate::cli::format;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format};
use asked::Asked;

/// Runs the command.
pub(crate) fn run(args: &PlanArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let asked = Asked::gather(args)?;
    let plan = plan(&asked.blocks, &asked.states, &asked.request);
    if let Some(path) = &args.svg {
        draw(path, &asked, &plan)?;
    }
    match format(args.json) {
        Format::Json => output::json(&shown::document(&asked, &plan), out)?,
        Format::Text => shown::write(&asked, &plan, out)?,
    }
    Ok(exit(&plan))
}

/// The exit code that tells what becomes of the job.
fn exit(plan: &Plan) -> Exit {
    match plan.outcome {
        Outcome::Starts => Exit::Done,
        Outcome::Waits(_) => Exit::JobWaits,
        Outcome::Refused(_) => Exit::JobRefused,
    }
}

fn draw(path: &Path, asked: &Asked, plan: &Plan) -> Result<(), Failure> {
    let drawn = File::create(path).and_then(|file| {
        let mut file = BufWriter::new(file);
        svg::write(plan, &shown::headline(asked, plan), &mut file)?;
        file.flush()
    });
    drawn.map_err(|error| {
        Failure::because(Exit::Failed, format!("`{}` cannot be written: {error}", path.display()))
    })
}
