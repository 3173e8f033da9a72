//! `imex slurm metrics`: what the records of prologs, epilogs and sweeps come to, for Prometheus.

use std::io::Write;

use imex_slurm::metrics::Summary;

use super::args::MetricsArgs;
use super::configuration;
use crate::cli::format;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format};

/// Runs the command.
pub(super) fn run(args: &MetricsArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let operator = configuration(&args.config)?;
    let state = &operator.files.state;
    let summary = Summary::read(state)
        .map_err(|error| Failure::new(Exit::Failed, &error).about(&state.display().to_string()))?;
    if let Some(path) = &args.to {
        // As a whole: a collector never reads a part.
        imex_config::replace(path, summary.prometheus().as_bytes())
            .map_err(|error| Failure::new(Exit::Failed, &error))?;
        return Ok(Exit::Done);
    }
    match format(args.json) {
        Format::Json => output::json(&summary, out)?,
        Format::Text => out.write_all(summary.prometheus().as_bytes())?,
    }
    Ok(Exit::Done)
}
