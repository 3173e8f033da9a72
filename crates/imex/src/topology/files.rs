//! Reading what the command line names.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use imex_topology::source::{SourceError, show_topology, topology_file};
use imex_topology::{ClusterDefault, Form, Topologies, Topology, TopologyKind};

use crate::exit::Exit;
use crate::failure::Failure;

/// The most bytes of one source: 70 MB are the NVML reports of 100,000 nodes.
const MOST: u64 = 1 << 28;

/// The text of a file; `-` is standard input.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    let text = if path == Path::new("-") { bounded(io::stdin()) } else { File::open(path).and_then(bounded) };
    text.map_err(|error| {
        Failure::because(Exit::SourceUnreadable, format!("`{}` cannot be read: {error}", path.display()))
    })
}

fn bounded(from: impl Read) -> io::Result<String> {
    let mut text = String::new();
    let read = from.take(MOST + 1).read_to_string(&mut text)?;
    if read as u64 > MOST {
        return Err(io::Error::other(format!("it has more than {} MiB", MOST >> 20)));
    }
    Ok(text)
}

/// What a text has to be, by its file's name and else by its first words.
pub(crate) fn form(path: &Path, text: &str) -> Form {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("yaml" | "yml" | "json") => Form::Yaml,
        Some("conf") => Form::Conf,
        Some(_) | None => {
            let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
            let conf = line.is_some_and(|line| {
                let line = line.to_ascii_lowercase();
                line.starts_with("blockname") || line.starts_with("blocksizes")
            });
            if conf { Form::Conf } else { Form::Yaml }
        }
    }
}

/// The topologies of a file of Slurm's, or of what the controller showed.
pub(crate) fn topologies(path: &Path) -> Result<Topologies, Failure> {
    let text = read(path)?;
    parse(path, &text).map_err(|error| unreadable(path, &error))
}

/// The topologies of a text that has, or is to get, this name.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Topologies, SourceError> {
    if !text.lines().any(|line| line.contains(" BlockIndex=")) {
        return topology_file::parse(text, form(path, text));
    }
    let kind = TopologyKind::Block(show_topology::parse(text)?);
    Ok(Topologies { list: vec![Topology { name: String::new(), default: ClusterDefault::Yes, kind }] })
}

/// The failure to understand a file.
pub(crate) fn unreadable(path: &Path, error: &SourceError) -> Failure {
    let failure = Failure::new(Exit::SourceUnreadable, error).about(&path.display().to_string());
    match error {
        SourceError::Refused { .. } => {
            failure.hint("`imex topology lint` tells everything that is wrong with it")
        }
        SourceError::Json { .. } | SourceError::Line { .. } | SourceError::Nothing => failure,
    }
}
