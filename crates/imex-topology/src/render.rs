//! Writes topologies as Slurm's files.

mod conf;
mod yaml;

use std::io::{self, Write};

pub use conf::conf;
pub use yaml::yaml;

/// Why topologies cannot be written in a form.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// `topology.conf` holds one topology.
    #[error("topology.conf holds one topology, there are {count}")]
    Several {
        /// How many there are.
        count: usize,
    },
    /// `topology.conf` of topology/block holds blocks.
    #[error("topology.conf of topology/block cannot hold the topology `{name}`, which has no blocks")]
    NotBlocks {
        /// Its name.
        name: String,
    },
    /// A name cannot be written in `topology.conf`.
    #[error("topology.conf cannot hold the name `{name}`")]
    Name {
        /// The name.
        name: String,
    },
    /// The output takes no more.
    #[error("the output cannot be written")]
    Output(#[from] io::Error),
}

fn lines(out: &mut dyn Write, header: &[String]) -> io::Result<()> {
    header.iter().flat_map(|text| text.lines()).try_for_each(|line| writeln!(out, "# {line}"))
}
