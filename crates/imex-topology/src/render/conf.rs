//! `topology.conf` of topology/block, for Slurm before 25.05.

use std::io::Write;

use crate::model::{Topologies, Topology};

use super::{RenderError, lines};

/// Writes the file. `header` becomes comment lines.
///
/// # Errors
///
/// If the file cannot hold these topologies, or the output takes no more.
pub fn conf(topologies: &Topologies, header: &[String], out: &mut dyn Write) -> Result<(), RenderError> {
    let [topology] = topologies.list.as_slice() else {
        return Err(RenderError::Several { count: topologies.list.len() });
    };
    let Topology { name, .. } = topology;
    let blocks = topology.blocks().ok_or_else(|| RenderError::NotBlocks { name: name.clone() })?;
    lines(out, header)?;
    for block in &blocks.blocks {
        if block.name.is_empty()
            || block.name.contains(|letter: char| letter.is_whitespace() || "\"#\\".contains(letter))
        {
            return Err(RenderError::Name { name: block.name.clone() });
        }
        write!(out, "BlockName={}", block.name)?;
        if !block.nodes.is_empty() {
            write!(out, " Nodes={}", block.nodes.to_list())?;
        }
        writeln!(out)?;
    }
    let sizes: Vec<String> = blocks.sizes.as_slice().iter().map(usize::to_string).collect();
    if !sizes.is_empty() {
        writeln!(out, "BlockSizes={}", sizes.join(","))?;
    }
    Ok(())
}
