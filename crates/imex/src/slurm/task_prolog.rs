//! `imex slurm task-prolog`.

use std::io::Write;
use std::path::Path;

use imex_host::boot;
use imex_slurm::context::Environment;
use imex_slurm::job_domain::JobDomainFile;
use imex_slurm::task_prolog::{Admission, Export, Hints, judge, same_run};
use serde::Serialize;

use super::args::ScriptArgs;
use super::{configuration, environment};
use crate::cli::format;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format};

/// What a task is told.
#[derive(Debug, Serialize)]
struct Done {
    exit_code: Exit,
    exports: serde_json::Map<String, serde_json::Value>,
}

/// Runs the command.
pub(super) fn run(args: &ScriptArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let operator = configuration(&args.config)?;
    let environment = environment::read();
    let file = JobDomainFile::within(&operator.files.state);
    let domain = file.read().map_err(|error| Failure::new(Exit::TaskRefused, &error))?;
    let boot = boot::id(Path::new(boot::DEFAULT_ID_PATH))
        .map_err(|error| Failure::new(Exit::TaskRefused, &error))?;
    let sluid = environment.get("SLURM_JOB_SLUID").map(String::as_str);
    let domain = domain.filter(|domain| same_run(domain, sluid));
    let hints = if operator.nccl_hints { Hints::Nccl } else { Hints::None };
    let exports = match judge(domain.as_ref(), &jobs(&environment), &boot, hints) {
        Admission::NoDomain => Vec::new(),
        Admission::Admitted(exports) => exports,
        Admission::Refused { why } => {
            let failure = Failure::because(Exit::TaskRefused, why);
            return Err(failure.hint("the job's log on this node, and `imex doctor`, tell more").into());
        }
    };
    // What the user has set is the user's choice.
    let exports = exports.into_iter().filter(|export| !environment::is_set(export.name));
    match format(args.json) {
        Format::Json => {
            let exports = exports.map(|Export { name, value }| (name.to_owned(), value.into())).collect();
            output::json(&Done { exit_code: Exit::Done, exports }, out)?;
        }
        Format::Text => {
            for Export { name, value } in exports {
                writeln!(out, "export {name}={value}")?;
            }
        }
    }
    Ok(Exit::Done)
}

/// The job, and the components of a heterogeneous one: a node has one of them.
fn jobs(environment: &Environment) -> Vec<u32> {
    let of_job = |name: &str| name == "SLURM_JOB_ID" || name.starts_with("SLURM_JOB_ID_HET_GROUP_");
    let ids = environment.iter().filter(|(name, _)| of_job(name)).filter_map(|(_, id)| id.parse().ok());
    ids.collect()
}
