//! The sources of `--source KIND:FILE`, and those that are asked instead of read.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use clap::ValueEnum;
use imex_topology::source::aws_json::{self, NameBy};
use imex_topology::source::{SourceError, features, inventory_file, nvml_reports, topology_file};
use imex_topology::{Merged, SourceReport, Topology, merge};

use super::args::SourceArgs;
use super::aws::{self, Said};
use super::files;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::count;

/// One source.
#[derive(Clone, Debug)]
pub(crate) struct SourceArg {
    kind: Kind,
    /// The file, or the name of a PCS cluster; empty if EC2 itself is to be asked.
    path: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    Inventory,
    Nvml,
    Ec2,
    Pcs,
    Slurm,
    Features,
}

impl FromStr for SourceArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.eq_ignore_ascii_case("ec2") {
            return Ok(SourceArg { kind: Kind::Ec2, path: PathBuf::new() });
        }
        let (kind, path) = text.split_once(':').ok_or("not of the form KIND:FILE")?;
        let kind = Kind::from_str(kind, false)
            .map_err(|_| format!("`{kind}` is none of inventory, nvml, ec2, pcs, slurm, features"))?;
        if path.is_empty() {
            return Err("it names nothing behind the colon".to_owned());
        }
        Ok(SourceArg { kind, path: PathBuf::from(path) })
    }
}

/// [`NameBy`] by its word.
pub(crate) fn name_by(text: &str) -> Result<NameBy, String> {
    match (text, text.strip_prefix("tag:")) {
        ("dns", _) => Ok(NameBy::PrivateDns),
        ("id", _) => Ok(NameBy::InstanceId),
        (_, Some(key)) if !key.is_empty() => Ok(NameBy::Tag(key.to_owned())),
        (_, Some(_) | None) => Err("must be dns, id or tag:KEY".to_owned()),
    }
}

/// What a source said, before it is understood. Equal words mean equal reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    /// The text of a file.
    Read(String),
    /// What a service answered.
    Asked(SourceReport),
}

/// The inventory of all sources.
pub(crate) fn inventory(args: &SourceArgs) -> Result<Merged, Failure> {
    understand(args, &ask(args)?)
}

/// What all sources say now, in their order.
pub(crate) fn ask(args: &SourceArgs) -> Result<Vec<Words>, Failure> {
    args.sources.iter().map(|source| source.ask(args)).collect()
}

/// The inventory of what [`ask`] has gathered from the same sources.
pub(crate) fn understand(args: &SourceArgs, said: &[Words]) -> Result<Merged, Failure> {
    let reports = args.sources.iter().zip(said).map(|(source, words)| match words {
        Words::Read(text) => source.parse(args, text),
        Words::Asked(report) => Ok(report.clone()),
    });
    Ok(merge(reports.collect::<Result<Vec<_>, _>>()?))
}

/// Tells what the sources warn of, beside the output: that is often a file that nobody looks into.
pub(crate) fn warn(warnings: &[String], err: &mut dyn Write) {
    for warning in warnings {
        // The command has more to do than to tell this.
        drop(writeln!(err, "imex: warning: {warning}"));
    }
}

/// The failure of sources that disagree, if they do.
pub(crate) fn agreed(merged: &Merged) -> Result<(), Failure> {
    if merged.disagreements.is_empty() {
        return Ok(());
    }
    let mut what = format!("sources disagree about {}", count(merged.disagreements.len(), "node"));
    for one in &merged.disagreements {
        let (node, placed, by) = (&one.node, &one.placed, &one.by);
        what.push_str(&format!("\n  {node}: {placed} ({by}), but {} ({})", one.other, one.other_by));
    }
    Err(Failure::because(Exit::SourcesDisagree, what)
        .hint("correct the source that is wrong, or leave it out"))
}

impl SourceArg {
    fn ask(&self, args: &SourceArgs) -> Result<Words, Failure> {
        let name = self.path.to_string_lossy();
        let Said { ec2, from } = match self.kind {
            Kind::Ec2 if name.is_empty() => aws::region(&args.reading.aws)?,
            Kind::Pcs => aws::cluster(&args.reading.aws, &name)?,
            Kind::Nvml => return lines(&self.path).map(Words::Read),
            Kind::Inventory | Kind::Ec2 | Kind::Slurm | Kind::Features => {
                return files::read(&self.path).map(Words::Read);
            }
        };
        let unplaced = |error| Failure::new(Exit::SourceUnreadable, &error).about(&format!("EC2 in {from}"));
        ec2.report(&args.reading.ec2_name, &from).map(Words::Asked).map_err(unplaced)
    }

    /// The report of a file with this text.
    fn parse(&self, args: &SourceArgs, text: &str) -> Result<SourceReport, Failure> {
        let from: Arc<str> = self.path.display().to_string().into();
        let report = match self.kind {
            Kind::Inventory => inventory_file::parse(text, &from),
            Kind::Nvml => nvml_reports::parse(text, &from),
            Kind::Ec2 | Kind::Pcs => {
                aws_json::parse(text).and_then(|ec2| ec2.report(&args.reading.ec2_name, &from))
            }
            Kind::Features => features::parse(text, &args.reading.feature, &from),
            Kind::Slurm => files::parse(&self.path, text).and_then(|topologies| {
                let blocks = topologies.list.iter().find_map(Topology::blocks);
                blocks.map(|blocks| topology_file::report(blocks, &from)).ok_or(SourceError::Nothing)
            }),
        };
        report.map_err(|error| files::unreadable(&self.path, &error))
    }
}

/// The lines of a file, or of all files of a directory in the order of their names.
pub(crate) fn lines(path: &Path) -> Result<String, Failure> {
    if !path.is_dir() {
        return files::read(path);
    }
    let unreadable =
        |error| Failure::because(Exit::SourceUnreadable, format!("`{}`: {error}", path.display()));
    let entries = fs::read_dir(path).map_err(unreadable)?;
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(unreadable)?;
    paths.retain(|path| path.is_file());
    paths.sort();
    let texts: Vec<String> = paths.iter().map(|path| files::read(path)).collect::<Result<_, _>>()?;
    Ok(texts.join("\n"))
}
