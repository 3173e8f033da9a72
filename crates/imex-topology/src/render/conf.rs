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
        let names = [block.name.as_str()].into_iter().chain(block.nodes.iter());
        if let Some(name) = names.into_iter().find(|name| !can_stand(name)) {
            return Err(RenderError::Name { name: name.to_owned() });
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

/// If a name is read again as it is written. The form has no way to quote: blanks end a value, `#` begins a comment, and
/// quotes and backslashes mean something else at its edges.
fn can_stand(name: &str) -> bool {
    !name.is_empty() && !name.contains(|letter: char| letter.is_whitespace() || "\"#\\".contains(letter))
}

#[cfg(test)]
mod tests {
    use crate::model::{Block, BlockSizes, BlockTopology, ClusterDefault, NodeSet, TopologyKind};

    use super::*;

    #[test]
    fn a_name_that_would_be_read_as_another_is_refused() {
        for (name, nodes) in
            [("rack 1", "n1"), ("rack#1", "n1"), ("", "n1"), ("rack1", "\"n1"), ("rack1", "n#1")]
        {
            let refused = conf(&one_block(name, nodes), &[], &mut Vec::new()).unwrap_err();
            assert!(matches!(refused, RenderError::Name { .. }), "{name:?} {nodes:?}: {refused}");
        }
        conf(&one_block("rack1", "n[1-3],x{7"), &[], &mut Vec::new()).unwrap();
    }

    fn one_block(name: &str, nodes: &str) -> Topologies {
        let block =
            Block { name: name.to_owned(), nodes: nodes.split(',').map(str::to_owned).collect::<NodeSet>() };
        let kind = TopologyKind::Block(BlockTopology { sizes: BlockSizes::default(), blocks: vec![block] });
        Topologies { list: vec![Topology { name: String::new(), default: ClusterDefault::Yes, kind }] }
    }
}
