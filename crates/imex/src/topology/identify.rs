//! `imex topology identify`: this node's fabric, as one line of JSON.

use std::io::Write;

use imex_host::{Asked, GpuFabric, NoFabric, NodeReport, Program, nvidia_smi};

use super::args::{ByArg, IdentifyArgs};
use super::files;
use crate::clock;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::pieces;
use crate::run::block_on;

/// Runs the command.
pub(crate) fn run(args: &IdentifyArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let (gpus, asked) = match (&args.nvidia_smi, args.by) {
        (Some(path), _) => (parse(&files::read(path)?)?, Asked::Text),
        (None, ByArg::NvidiaSmi) => (by_tool(args)?, Asked::NvidiaSmi),
        (None, by @ (ByArg::Auto | ByArg::Nvml)) => by_library(args, by)?,
    };
    let report = NodeReport::new(node(args)?, clock::timestamp(), gpus).asked(asked);
    let line = serde_json::to_string(&report).map_err(std::io::Error::from)?;
    match args.pieces {
        true => pieces::send(&report.node, &line, out)?,
        // As a whole: others may write into the same pipe.
        false => out.write_all(format!("{line}\n").as_bytes())?,
    }
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

/// Asks the library, and the tool where there is none. A library that fails is not passed over: the tool uses it, too.
fn by_library(args: &IdentifyArgs, by: ByArg) -> Result<(Vec<GpuFabric>, Asked), Failure> {
    match imex_nvml::ask(&args.library, args.timeout) {
        Ok(answer) => Ok((answer.gpus.into_iter().map(|gpu| gpu.fabric).collect(), Asked::Nvml)),
        Err(error) if error.is_missing() && by == ByArg::Auto => {
            match by_tool(args) {
                Ok(gpus) => Ok((gpus, Asked::NvidiaSmi)),
                Err(failure) => {
                    let missing = imex_config::chain(&error);
                    Err(Failure::because(Exit::SourceUnreadable, format!("{missing}; {}", failure.message()))
                    .hint("`--library` and `--path` say where they are, `--nvidia-smi FILE` reads a saved text"))
                }
            }
        }
        Err(error) => Err(Failure::new(Exit::SourceUnreadable, &error)),
    }
}

fn by_tool(args: &IdentifyArgs) -> Result<Vec<GpuFabric>, Failure> {
    let asked = Program::new("nvidia-smi").words(["-q"]).path(args.path.folders()).deadline(args.timeout);
    let said = block_on(asked.run())?.map_err(|error| {
        Failure::new(Exit::SourceUnreadable, &error).hint("`--nvidia-smi FILE` reads its saved text instead")
    })?;
    parse(&said.out)
}

fn parse(text: &str) -> Result<Vec<GpuFabric>, Failure> {
    nvidia_smi::parse(text).map_err(|error| Failure::new(Exit::SourceUnreadable, &error))
}
