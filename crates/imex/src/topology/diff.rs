//! `imex topology diff`: what changes, by node and block.

use std::io::{self, Write};

use imex_topology::Diff;
use imex_topology::diff::{BlocksDiff, Change, Listed, Moved, TopologyDiff, diff};

use super::args::DiffArgs;
use super::files;
use crate::cli::format;
use crate::exit::Exit;
use crate::failure::Stop;
use crate::output::{self, Format, count};

/// Runs the command.
pub(crate) fn run(args: &DiffArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let (mut old, mut new) = (files::topologies(&args.old)?, files::topologies(&args.new)?);
    // What the controller shows and topology.conf have no names: the only topologies of both sides are the same.
    if let ([old], [new]) = (old.list.as_mut_slice(), new.list.as_mut_slice())
        && (old.name.is_empty() || new.name.is_empty())
    {
        old.name.clone_from(&new.name);
        new.name.clone_from(&old.name);
        new.default = old.default;
    }
    let diff = diff(&old, &new);
    match format(args.json) {
        Format::Json => output::json(&diff, out)?,
        Format::Text => write(&diff, out)?,
    }
    Ok(if diff.is_empty() { Exit::Done } else { Exit::TopologyDiffers })
}

/// Writes the changes for people.
pub(super) fn write(diff: &Diff, out: &mut dyn Write) -> io::Result<()> {
    for TopologyDiff { name, change } in &diff.topologies {
        let name = if name.is_empty() { "topology" } else { name };
        match change {
            Change::New { blocks: 0 } => writeln!(out, "{name}: new")?,
            Change::New { blocks } => writeln!(out, "{name}: new, {}", count(*blocks, "block"))?,
            Change::Gone => writeln!(out, "{name}: gone")?,
            Change::Replaced => writeln!(out, "{name}: of another kind, or changed inside")?,
            Change::Default => writeln!(out, "{name}: cluster_default changes")?,
            Change::Blocks(blocks) => {
                writeln!(out, "{name}:")?;
                write_blocks(blocks, out)?;
            }
        }
    }
    Ok(())
}

pub(super) fn write_blocks(diff: &BlocksDiff, out: &mut dyn Write) -> io::Result<()> {
    let BlocksDiff { sizes, new, gone, moved, joined, left, reordered, default } = diff;
    if *default {
        writeln!(out, "  cluster_default changes")?;
    }
    if let Some((before, after)) = sizes {
        writeln!(out, "  block sizes {before:?} become {after:?}")?;
    }
    for (mark, what, listed) in
        [("+", "block", new), ("-", "block", gone), ("+", "nodes of", joined), ("-", "nodes of", left)]
    {
        for Listed { block, nodes, count: number } in listed {
            writeln!(out, "  {mark} {what} {block}: {nodes} ({})", count(*number, "node"))?;
        }
    }
    for Moved { from, to, nodes, count: number } in moved {
        writeln!(out, "  > {nodes} ({}) from {from} to {to}", count(*number, "node"))?;
    }
    if *reordered {
        writeln!(out, "  blocks change their order")?;
    }
    Ok(())
}
