//! `imex topology generate`: Slurm's file for what the sources say.

use std::collections::BTreeMap;
use std::io::Write;

use imex_topology::generate::{Options, Outside, SizeSource, generate};
use imex_topology::inventory::NoBlock;
use imex_topology::naming::Names;
use imex_topology::{Generated, Topologies, render};
use serde::Serialize;

use super::args::{GenerateArgs, NamesArg, ShapeArgs};
use super::{files, sources};
use crate::cli::format;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format};

/// What was made.
#[derive(Debug, Serialize)]
struct Made {
    /// The name that the file has to have.
    file: &'static str,
    /// The file.
    text: String,
    /// How many blocks it has.
    blocks: usize,
    /// How the block sizes came about.
    sizes: &'static str,
    /// The nodes that are in no block, by reason.
    outside: BTreeMap<String, String>,
    /// What the sources warn of.
    warnings: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(args: &GenerateArgs, out: &mut dyn Write, err: &mut dyn Write) -> Result<Exit, Stop> {
    let merged = sources::inventory(&args.sources)?;
    sources::warn(&merged.warnings, err);
    sources::agreed(&merged)?;
    let previous = args.previous.as_ref().map(|path| files::topologies(path)).transpose()?;
    let options = args.shape.options();
    let generated = generate(&merged.inventory, &options, previous.as_ref()).map_err(|error| {
        Failure::new(Exit::Failed, &error).hint("ask the sources why: `--json` has no block to show")
    })?;
    let made = Made::new(&generated, &args.shape, merged.warnings)?;
    match format(args.json) {
        Format::Json => output::json(&made, out)?,
        Format::Text => out.write_all(made.text.as_bytes())?,
    }
    Ok(Exit::Done)
}

impl Made {
    fn new(generated: &Generated, shape: &ShapeArgs, warnings: Vec<String>) -> Result<Self, Failure> {
        let outside = outside(&generated.outside);
        let sizes = match generated.sizes {
            SizeSource::Given => "given",
            SizeSource::Kept => "those of the previous topology",
            SizeSource::Smallest => "the smallest block is the base",
            SizeSource::MostFrequent => "the most frequent size is the base; some blocks differ",
        };
        let mut header =
            vec!["Written by imex topology generate.".to_owned(), format!("Block sizes: {sizes}.")];
        header.extend(outside.iter().map(|(why, nodes)| format!("In no block: {nodes}: {why}")));
        header.extend(warnings.iter().map(|warning| format!("Warning: {warning}.")));
        let made = generated.topologies.get(&shape.name).and_then(|topology| topology.blocks());
        Ok(Made {
            file: if shape.slurm_version.reads_yaml() { "topology.yaml" } else { "topology.conf" },
            text: shape.text(&generated.topologies, &header)?,
            blocks: made.map_or(0, |blocks| blocks.blocks.len()),
            sizes,
            outside,
            warnings,
        })
    }
}

impl ShapeArgs {
    /// What is wanted.
    pub(crate) fn options(&self) -> Options {
        Options {
            name: self.name.clone(),
            names: match self.names {
                NamesArg::Key => Names::Key,
                NamesArg::Short => Names::Short,
            },
            sizes: self.sizes.clone(),
            outside: self.flat.clone().map_or(Outside::LeaveOut, Outside::Flat),
        }
    }

    /// The text of Slurm's file, in the form that its version reads.
    pub(crate) fn text(&self, topologies: &Topologies, header: &[String]) -> Result<String, Failure> {
        let mut text = Vec::new();
        let written = if self.slurm_version.reads_yaml() {
            render::yaml(topologies, header, &mut text)
        } else {
            render::conf(topologies, header, &mut text)
        };
        written.map_err(|error| Failure::new(Exit::Failed, &error))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

fn outside(nodes: &[(String, NoBlock)]) -> BTreeMap<String, String> {
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (node, why) in nodes {
        reasons.entry(why.to_string()).or_default().push(node);
    }
    reasons.into_iter().map(|(why, nodes)| (why, imex_host::compress(nodes))).collect()
}
