//! `topology.yaml`, for Slurm 25.05 and later.

use std::io::{self, Write};

use crate::model::{BlockTopology, ClusterDefault, Switch, Topologies, Topology, TopologyKind, TreeTopology};

use super::{RenderError, lines};

/// Writes the file. `header` becomes comment lines.
///
/// # Errors
///
/// If the output takes no more.
pub fn yaml(topologies: &Topologies, header: &[String], out: &mut dyn Write) -> Result<(), RenderError> {
    lines(out, header)?;
    writeln!(out, "---")?;
    for topology in &topologies.list {
        one(topology, out)?;
    }
    Ok(())
}

fn one(topology: &Topology, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "- topology: {}", scalar(&topology.name))?;
    if topology.default == ClusterDefault::Yes {
        writeln!(out, "  cluster_default: true")?;
    }
    match &topology.kind {
        TopologyKind::Block(blocks) => block(blocks, out),
        TopologyKind::Tree(switches) => tree(switches, out),
        TopologyKind::Flat => writeln!(out, "  flat: true"),
        // JSON is YAML, and the reader gives no types to scalars.
        TopologyKind::Other { kind, body } => writeln!(out, "  {kind}: {body}"),
    }
}

fn block(blocks: &BlockTopology, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  block:")?;
    let sizes: Vec<String> = blocks.sizes.as_slice().iter().map(usize::to_string).collect();
    if !sizes.is_empty() {
        writeln!(out, "    block_sizes: [{}]", sizes.join(", "))?;
    }
    writeln!(out, "    blocks:")?;
    for block in &blocks.blocks {
        writeln!(out, "      - block: {}", scalar(&block.name))?;
        if !block.nodes.is_empty() {
            writeln!(out, "        nodes: {}", scalar(&block.nodes.to_list()))?;
        }
    }
    Ok(())
}

fn tree(tree: &TreeTopology, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  tree:\n    switches:")?;
    for Switch { name, children, nodes } in &tree.switches {
        writeln!(out, "      - switch: {}", scalar(name))?;
        for (key, set) in [("children", children), ("nodes", nodes)] {
            if !set.is_empty() {
                writeln!(out, "        {key}: {}", scalar(&set.to_list()))?;
            }
        }
    }
    Ok(())
}

/// A text as a scalar: plain if it cannot be misread, else in double quotes.
fn scalar(text: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.[],/".contains(letter);
    let starts = text.starts_with(|letter: char| letter.is_ascii_alphanumeric());
    if starts && text.chars().all(plain) {
        return text.to_owned();
    }
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{Block, BlockSizes, NodeSet};
    use crate::source::topology_file::parse;
    use crate::written::Form;

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            blocks in prop::collection::btree_map("[^\\[\u{85}\u{2028}\u{2029}\u{0}-\u{1f}\u{7f}]{1,6}", 1_u32..40, 1..6),
            default in any::<bool>(),
        ) {
            let block = |(name, size): (String, u32)| {
                let nodes = (0..size).map(|node| format!("{size}n{node}"));
                Block { name, nodes: NodeSet::from_iter(nodes) }
            };
            let blocks: Vec<Block> = blocks.into_iter().map(block).collect();
            let kind = TopologyKind::Block(BlockTopology { sizes: BlockSizes::steps(2, 4), blocks });
            let default = if default { ClusterDefault::Yes } else { ClusterDefault::No };
            let flat = Topology { name: "a b".to_owned(), default, kind: TopologyKind::Flat };
            let topologies = Topologies { list: vec![Topology { name: "t:1".to_owned(), default, kind }, flat] };
            let mut text = Vec::new();
            yaml(&topologies, &["made".to_owned()], &mut text).unwrap();
            let text = String::from_utf8(text).unwrap();
            prop_assert_eq!(parse(&text, Form::Yaml).unwrap(), topologies, "{}", text);
        }
    }
}
