//! `imex doctor explain`: what a code of CUDA means on these machines.

use std::io::{self, Write};

use serde::Serialize;

use super::args::ExplainArgs;
use super::codes::{self, Cause, Code};
use crate::cli::format;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format};

/// What is printed: one code, or all.
#[derive(Debug, Serialize)]
struct Explained<'a> {
    codes: &'a [Code],
}

/// Runs the command.
pub(super) fn run(args: &ExplainArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let codes = match &args.code {
        None => codes::ALL,
        Some(text) => {
            let code = codes::find(text).ok_or_else(|| {
                Failure::because(
                    Exit::NoSuchCode,
                    format!("`{text}` is no code that a domain has to do with"),
                )
                .hint("`imex doctor explain` lists those that are")
            })?;
            std::slice::from_ref(code)
        }
    };
    match (format(args.json), codes) {
        (Format::Json, codes) => output::json(&Explained { codes }, out)?,
        (Format::Text, [code]) => whole(code, out)?,
        (Format::Text, codes) => codes
            .iter()
            .try_for_each(|code| writeln!(out, "{:>4}  {:<28}  {}", code.number, code.name, code.means))?,
    }
    Ok(Exit::Done)
}

fn whole(code: &Code, out: &mut dyn Write) -> io::Result<()> {
    let Code { number, name, means, causes } = code;
    writeln!(out, "{number} {name}: {means}")?;
    for (index, Cause { what, told_by, next }) in causes.iter().enumerate() {
        writeln!(out)?;
        writeln!(out, "{}. {what}", index + 1)?;
        writeln!(out, "   told by: {told_by}")?;
        writeln!(out, "   next:    {next}")?;
    }
    Ok(())
}
