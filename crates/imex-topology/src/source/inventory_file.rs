//! An inventory that a person keeps: a YAML file of blocks with their nodes.
//!
//! ```yaml
//! blocks:
//!   - block: rack1                     # a name, which becomes the block's name
//!     nodes: n[1-18]
//!   - fabric: 5b1e6f4e-8d3a-4c0b-9a52-0123456789ab.32766
//!     nodes: n[19-36]
//! others: login[1-2]                   # nodes that are in no block
//! ```
//!
//! Unlike Slurm, this reader refuses unknown and repeated keys.

use std::sync::Arc;

use imex_host::FabricId;
use imex_host::hostlist::Allowance;

use crate::inventory::{BlockKey, Evidence, NoBlock, Placement, SourceKind, SourceReport};
use crate::yaml::{self, Field, Node, Value, YamlError};

use super::SourceError;

/// Reads the text of an inventory; `from` names it in evidence.
///
/// # Errors
///
/// If it is not an inventory, with the line.
pub fn parse(text: &str, from: &Arc<str>) -> Result<SourceReport, SourceError> {
    let root = yaml::parse(text).map_err(unreadable)?;
    let mut reader = Reader { report: SourceReport::default(), from, allowance: Allowance::default() };
    let line = root.line;
    let [blocks, others] = fields(root, ["blocks", "others"])?;
    match blocks {
        Some(Node { value: Value::List(nodes), .. }) => {
            nodes.into_iter().try_for_each(|node| reader.block(node))?;
        }
        Some(node) => {
            return Err(fault(node.line, format!("`blocks` is {} where a list is needed", node.kind())));
        }
        None => return Err(fault(line, "`blocks` is missing".to_owned())),
    }
    if let Some(node) = others {
        let line = node.line;
        reader.place(&text_of(node, "others")?, line, &Placement::NoBlock(NoBlock::NotMember))?;
    }
    if reader.report.nodes.is_empty() { Err(SourceError::Nothing) } else { Ok(reader.report) }
}

struct Reader<'f> {
    report: SourceReport,
    from: &'f Arc<str>,
    /// What the lists of nodes may still stand for.
    allowance: Allowance,
}

impl Reader<'_> {
    fn block(&mut self, node: Node) -> Result<(), SourceError> {
        let line = node.line;
        let [name, fabric, nodes] = fields(node, ["block", "fabric", "nodes"])?;
        let key = match (name, fabric) {
            (Some(name), None) => BlockKey::Named(text_of(name, "block")?),
            (None, Some(fabric)) => {
                let line = fabric.line;
                let id: Result<FabricId, _> = text_of(fabric, "fabric")?.parse();
                BlockKey::Fabric(id.map_err(|error| fault(line, error.to_string()))?)
            }
            (Some(_), Some(_)) | (None, None) => {
                return Err(fault(line, "a block needs either `block` or `fabric`".to_owned()));
            }
        };
        let nodes = nodes.ok_or_else(|| fault(line, "the block has no `nodes`".to_owned()))?;
        let line = nodes.line;
        self.place(&text_of(nodes, "nodes")?, line, &Placement::Block(key))
    }

    fn place(&mut self, list: &str, line: usize, placement: &Placement) -> Result<(), SourceError> {
        let list = self.allowance.parse(list).map_err(|error| fault(line, error.to_string()))?;
        for node in list.iter() {
            let evidence =
                Evidence { source: SourceKind::Inventory, from: Arc::clone(self.from), line: Some(line) };
            self.report.place(node, placement.clone(), evidence);
        }
        Ok(())
    }
}

/// The values of these keys of a map; another key, or one twice, is a fault.
fn fields<const N: usize>(node: Node, keys: [&str; N]) -> Result<[Option<Node>; N], SourceError> {
    let kind = node.kind();
    let Value::Map(fields) = node.value else {
        return Err(fault(node.line, format!("it is {kind} where a map is needed")));
    };
    let mut values = [const { None }; N];
    for Field { key, line, node } in fields {
        let Some(index) = keys.iter().position(|known| *known == key) else {
            return Err(fault(line, format!("`{key}` is unknown; known are {}", keys.join(", "))));
        };
        if values[index].replace(node).is_some() {
            return Err(fault(line, format!("`{key}` stands here again")));
        }
    }
    Ok(values)
}

fn text_of(node: Node, key: &str) -> Result<String, SourceError> {
    let (line, kind) = (node.line, node.kind());
    match node.value {
        Value::Scalar(text) if !text.is_empty() => Ok(text),
        Value::Scalar(_) => Err(fault(line, format!("`{key}` is empty"))),
        Value::List(_) | Value::Map(_) => {
            Err(fault(line, format!("`{key}` is {kind} where a text is needed")))
        }
    }
}

fn unreadable(error: YamlError) -> SourceError {
    match error {
        YamlError::Empty => SourceError::Nothing,
        YamlError::Syntax { line, message } => fault(line, message),
        YamlError::Alias { line } => fault(line, "an alias".to_owned()),
        YamlError::Key { line } => fault(line, "a key is a list or a map".to_owned()),
        YamlError::Depth { line } => fault(line, "it is nested too deep".to_owned()),
    }
}

fn fault(line: usize, what: String) -> SourceError {
    SourceError::Line { line, what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::Inventory;

    #[test]
    fn blocks_are_read_by_name_or_fabric_with_their_lines() {
        let report = parse(
            "blocks:\n\
             - block: rack1\n  nodes: n[1-2]\n\
             - fabric: 5b1e6f4e-8d3a-4c0b-9a52-0123456789ab.7\n  nodes: n3\n\
             others: login\n",
            &"site.yaml".into(),
        )
        .unwrap();
        let inventory = Inventory::from(report);
        let told: Vec<String> =
            inventory.blocks().iter().map(|(key, nodes)| format!("{key}: {nodes:?}")).collect();
        assert_eq!(told, [r#"5b1e6f4e-8d3a-4c0b-9a52-0123456789ab.7: ["n3"]"#, r#"rack1: ["n1", "n2"]"#]);
        assert_eq!(inventory.get("n2").unwrap().evidence[0].to_string(), "inventory site.yaml:3");
        assert_eq!(inventory.outside().map(|(node, _)| node).collect::<Vec<_>>(), ["login"]);
    }

    #[test]
    fn what_is_no_inventory_is_refused_with_its_line() {
        let cases = [
            ("", "it says nothing of any node"),
            ("blocks: []\n", "it says nothing of any node"),
            ("others: a\n", "line 1: `blocks` is missing"),
            ("blocks: x\n", "line 1: `blocks` is a text where a list is needed"),
            ("blocks:\n- block: a\n", "line 2: the block has no `nodes`"),
            ("blocks:\n- nodes: a\n", "line 2: a block needs either `block` or `fabric`"),
            ("blocks:\n- block: a\n  node: b\n", "line 3: `node` is unknown; known are block, fabric, nodes"),
            ("blocks:\n- block: a\n  nodes: 'b['\n", "line 3: `[` is never closed at character 2"),
            ("blocks: []\nblocks: []\n", "line 2: `blocks` stands here again"),
        ];
        for (text, why) in cases {
            assert_eq!(parse(text, &"x".into()).unwrap_err().to_string(), why, "{text}");
        }
    }
}
