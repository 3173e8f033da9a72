//! `imex slurm task-prolog`.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use imex_config::Operator;
use imex_host::boot;
use imex_slurm::context::Environment;
use imex_slurm::job_domain::{JobDomainFile, Stage};
use imex_slurm::service::ServiceManager;
use imex_slurm::task_prolog::{Admission, Export, Hints, LOOKS, Now, judge, same_run};
use serde::Serialize;
use tokio::time::sleep;

use super::args::ScriptArgs;
use super::{configuration, environment, manager};
use crate::cli::format;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format};
use crate::run::block_on;

/// How long systemd may take to tell how the service fares.
const WITHIN: Duration = Duration::from_secs(1);

/// How often a domain that is not UP is looked at, and the pause between: a restarted member is back within 150 ms, and each
/// task of the job waits here.
const TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_millis(250);

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
    let mut admission = judge(domain.as_ref(), &jobs(&environment), &boot, hints);
    if let (Admission::Admitted(_), Some(domain)) = (&admission, &domain)
        && domain.stage == Stage::Up
        && !environment::is_on(LOOKS)
    {
        admission = admission.now(domain, block_on(now(&operator))?);
    }
    let exports = match admission {
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

/// What the service shows. One that has just lost a member and gets it back is looked at again. Where systemd does not answer,
/// what the prolog has seen holds.
async fn now(operator: &Operator) -> Now {
    let Ok(mut manager) = manager(operator) else { return Now::Up };
    let mut tries = TRIES;
    loop {
        let facts = manager.facts(WITHIN).await;
        match facts.map(|facts| Now::of(&facts, operator.service.provider)) {
            Ok(Now::NotUp { .. }) if tries > 1 => tries -= 1,
            Ok(now) => return now,
            Err(_) => return Now::Up,
        }
        sleep(PAUSE).await;
    }
}

/// The job, and the components of a heterogeneous one: a node has one of them.
fn jobs(environment: &Environment) -> Vec<u32> {
    let of_job = |name: &str| name == "SLURM_JOB_ID" || name.starts_with("SLURM_JOB_ID_HET_GROUP_");
    let ids = environment.iter().filter(|(name, _)| of_job(name)).filter_map(|(_, id)| id.parse().ok());
    ids.collect()
}
