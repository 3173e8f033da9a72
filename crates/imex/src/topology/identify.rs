//! `imex topology identify`: this node's fabric, as one line of JSON.

use std::io::Write;
use std::time::Duration;

use imex_host::{NoFabric, NodeReport, nvidia_smi};
use tokio::process::Command;

use super::args::IdentifyArgs;
use super::files;
use crate::clock;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::run::block_on;

/// How long nvidia-smi may take: without the persistence daemon it wakes every GPU, which takes seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs the command.
pub(crate) fn run(args: &IdentifyArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let text = match &args.nvidia_smi {
        Some(path) => files::read(path)?,
        None => block_on(ask())??,
    };
    let gpus = nvidia_smi::parse(&text).map_err(|error| Failure::new(Exit::SourceUnreadable, &error))?;
    let report = NodeReport::new(node(args)?, clock::timestamp(), gpus);
    serde_json::to_writer(&mut *out, &report).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(match &report.no_fabric {
        None => Exit::Done,
        Some(NoFabric::NotCompleted { .. }) => Exit::FabricPending,
        Some(NoFabric::NotSuccessful { .. } | NoFabric::Incomplete { .. } | NoFabric::Disagree { .. }) => {
            Exit::FabricFailed
        }
        Some(NoFabric::NoGpu | NoFabric::NotSupported { .. } | NoFabric::ZeroCluster { .. }) => {
            Exit::NoFabric
        }
    })
}

fn node(args: &IdentifyArgs) -> Result<String, Failure> {
    if let Some(name) = &args.node {
        return Ok(name.clone());
    }
    let name = nix::unistd::gethostname().map_err(|error| Failure::new(Exit::Failed, &error))?;
    let name = name.to_string_lossy();
    Ok(name.split('.').next().unwrap_or_default().to_owned())
}

async fn ask() -> Result<String, Failure> {
    let fail = |what: String| {
        Failure::because(Exit::SourceUnreadable, what)
            .hint("`--nvidia-smi FILE` reads its saved text instead")
    };
    let asked = Command::new("nvidia-smi").arg("-q").kill_on_drop(true).output();
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(output)) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(Ok(output)) => Err(fail(format!("nvidia-smi ended with {}", output.status))),
        Ok(Err(error)) => Err(fail(format!("nvidia-smi cannot be run: {error}"))),
        Err(_) => Err(fail(format!("nvidia-smi did not answer within {} s", PATIENCE.as_secs()))),
    }
}
