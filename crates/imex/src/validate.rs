//! `imex validate`: is the domain of this job what the job needs, as every member itself sees it?
//!
//! Inside of a job it starts `imex validate member` once on every node, which tells that node's own row, its map, and if the
//! user can open the channel. [`verdict`] compares: a member that says of others that all is well proves nothing, so only
//! own rows count.

pub(crate) mod args;
mod bandwidth;
mod collect;
mod member;
mod script;
mod shown;
mod verdict;

use std::io::Write;

pub(crate) use args::ValidateArgs;
use args::ValidateCommand;

use crate::cli::format;
use crate::exit::Exit;
use crate::failure::Stop;
use crate::output::{self, Format};
use crate::run::block_on;
use shown::Validated;

/// Runs the command.
pub(crate) fn run(args: &ValidateArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    if let Some(ValidateCommand::Member(member)) = &args.command {
        return member::run(member, out);
    }
    if args.script {
        script::write(args, out)?;
        return Ok(Exit::Done);
    }
    let job = block_on(collect::whole(args, collect::job(args)?))??;
    let collected = block_on(collect::collect(args, &job))??;
    let bandwidth = if args.bandwidth { Some(block_on(bandwidth::measure(args, &job))?) } else { None };
    let validated = Validated::of(job, collected, bandwidth);
    match format(args.json) {
        Format::Json => output::json(&validated, out)?,
        Format::Text => validated.write(out)?,
    }
    Ok(validated.exit_code)
}
