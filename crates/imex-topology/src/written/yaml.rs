//! `topology.yaml`: a list of topologies, each of one kind.

use imex_host::hostlist::Allowance;

use crate::lint::{Finding, Rule, rules};
use crate::model::ClusterDefault;
use crate::yaml::{self, Field, Node, Value, YamlError};

use super::{
    Kind, Text, Written, WrittenBlock, WrittenBlocks, WrittenSize, WrittenSwitch, WrittenTopology,
    WrittenTree, check_sizes, expand, short,
};

/// Reads a text.
pub(super) fn read(text: &str, findings: &mut Vec<Finding>) -> Written {
    let root = match yaml::parse(text) {
        Ok(root) => root,
        Err(error) => {
            findings.push(unreadable(error));
            return Written::default();
        }
    };
    more_documents(text, findings);
    let mut reader = Reader { findings, repeated: Vec::new(), allowance: Allowance::default() };
    let nodes = match root.value {
        // A single map counts as a list of one.
        Value::Map(_) => vec![root],
        Value::List(nodes) if nodes.is_empty() => {
            reader.say(&rules::EMPTY, root.line, "there is no topology in the list");
            Vec::new()
        }
        Value::List(nodes) => nodes,
        Value::Scalar(_) => {
            reader.say(&rules::FORM, root.line, "the file is a text where a list of topologies is needed");
            Vec::new()
        }
    };
    let last = nodes.len().saturating_sub(1);
    let mut topologies = Vec::new();
    for (index, node) in nodes.into_iter().enumerate() {
        let topology = reader.topology(node);
        let repeated = std::mem::take(&mut reader.repeated);
        let rule = if index == last { &rules::REPEATED_LIST } else { &rules::LOST_TOPOLOGY };
        let kept = index == last || repeated.is_empty();
        repeated.into_iter().for_each(|(line, what)| reader.say(rule, line, what));
        topologies.extend(topology.filter(|_| kept));
    }
    Written { topologies }
}

fn unreadable(error: YamlError) -> Finding {
    match error {
        YamlError::Empty => Finding::at(&rules::EMPTY, None, "there is no topology in the file"),
        YamlError::Syntax { line, message } => Finding::at(&rules::SYNTAX, line, message),
        YamlError::Alias { line } => Finding::at(&rules::ALIAS, line, "an alias"),
        YamlError::Key { line } => Finding::at(&rules::FORM, line, "a key is a list or a map"),
        YamlError::Depth { line } => Finding::at(&rules::SYNTAX, line, "it is nested too deep"),
    }
}

fn more_documents(text: &str, findings: &mut Vec<Finding>) {
    let starts = text.lines().enumerate().filter(|(_, line)| *line == "---" || line.starts_with("--- "));
    if let Some((index, _)) = starts.filter(|(index, _)| has_content_before(text, *index)).last() {
        findings.push(Finding::at(&rules::MORE_DOCUMENTS, index + 1, "another document begins here"));
    }
}

fn has_content_before(text: &str, line: usize) -> bool {
    text.lines().take(line).any(|line| !matches!(line.trim().chars().next(), None | Some('#' | '%')))
}

struct Reader<'f> {
    findings: &'f mut Vec<Finding>,
    /// Keys with a list that stand twice in the topology that is read: their lines, and what to say of them.
    repeated: Vec<(usize, String)>,
    /// What the lists of hosts may still stand for.
    allowance: Allowance,
}

/// The fields of one map, taken out by key.
struct Fields {
    line: usize,
    fields: Vec<Field>,
}

impl Reader<'_> {
    fn say(&mut self, rule: &'static Rule, line: usize, what: impl Into<String>) {
        self.findings.push(Finding::at(rule, line, what));
    }

    fn topology(&mut self, node: Node) -> Option<WrittenTopology> {
        let mut fields = self.map(node, "a topology")?;
        let name = fields.take(self, "topology").and_then(|node| self.text(node, "topology"));
        let default =
            fields.take(self, "cluster_default").map_or(ClusterDefault::No, |node| self.default(node));
        let kind = self.kind(&mut fields);
        let known = ["topology", "cluster_default", "block", "tree", "flat", "ring", "torus3d"];
        fields.unknown(self, &known);
        Some(WrittenTopology { line: fields.line, name, default, kind })
    }

    fn kind(&mut self, fields: &mut Fields) -> Kind {
        let mut kinds = Vec::new();
        for key in ["block", "tree", "ring", "torus3d"] {
            let Some(node) = fields.take(self, key) else { continue };
            let line = node.line;
            let body = serde_json::Value::from(&node);
            let Some(inner) = self.map(node, key) else { return Kind::Missing };
            if inner.fields.is_empty() {
                continue;
            }
            let kind = match key {
                "block" => self.blocks(inner),
                "tree" => self.tree(inner),
                _ => Kind::Other { kind: key.to_owned(), body },
            };
            kinds.push((key, line, kind));
        }
        if let Some((line, Flat::Yes)) = fields.take(self, "flat").map(|node| (node.line, self.flat(node))) {
            kinds.push(("flat", line, Kind::Flat));
        }
        if let [(first, ..), (second, line, _), ..] = kinds.as_slice() {
            self.say(&rules::SEVERAL_KINDS, *line, format!("`{second}` beside `{first}`"));
        }
        match kinds.into_iter().next() {
            Some((.., kind)) => kind,
            None => {
                self.say(&rules::NO_KIND, fields.line, "the topology has no kind");
                Kind::Missing
            }
        }
    }

    fn blocks(&mut self, mut fields: Fields) -> Kind {
        let sizes = fields.take(self, "block_sizes").map(|node| self.sizes(node)).unwrap_or_default();
        let sizes = check_sizes(sizes, self.findings);
        let nodes = self.list(&mut fields, "blocks");
        if nodes.is_empty() {
            self.say(&rules::NO_BLOCKS, fields.line, "there are no blocks");
        }
        let blocks = nodes.into_iter().filter_map(|node| self.block(node)).collect();
        fields.unknown(self, &["block_sizes", "blocks"]);
        Kind::Block(WrittenBlocks { line: fields.line, sizes, blocks })
    }

    fn block(&mut self, node: Node) -> Option<WrittenBlock> {
        let mut fields = self.map(node, "a block")?;
        let name = fields.take(self, "block");
        let line = fields.line;
        let (line, nodes) =
            fields.take(self, "nodes").map_or((line, Vec::new()), |node| self.hosts(node, "nodes"));
        fields.unknown(self, &["block", "nodes"]);
        let Some(name) = name else {
            self.say(&rules::NAMELESS_BLOCK, fields.line, "a block without a name");
            return None;
        };
        Some(WrittenBlock { name: self.text(name, "block")?, nodes, line })
    }

    fn tree(&mut self, mut fields: Fields) -> Kind {
        let nodes = self.list(&mut fields, "switches");
        if nodes.is_empty() {
            self.say(&rules::NO_BLOCKS, fields.line, "there are no switches");
        }
        let switches = nodes.into_iter().filter_map(|node| self.switch(node)).collect();
        fields.unknown(self, &["switches"]);
        Kind::Tree(WrittenTree { line: fields.line, switches })
    }

    fn switch(&mut self, node: Node) -> Option<WrittenSwitch> {
        let mut fields = self.map(node, "a switch")?;
        let name = fields.take(self, "switch");
        let mut hosts =
            |reader: &mut Self, key| fields.take(reader, key).map(|node| reader.hosts(node, key).1);
        let children = hosts(self, "children").unwrap_or_default();
        let nodes = hosts(self, "nodes").unwrap_or_default();
        fields.unknown(self, &["switch", "children", "nodes"]);
        let Some(name) = name else {
            self.say(&rules::NAMELESS_SWITCH, fields.line, "a switch without a name");
            return None;
        };
        Some(WrittenSwitch { name: self.text(name, "switch")?, children, nodes })
    }

    /// The list under a key; a map counts as a list of one.
    fn list(&mut self, fields: &mut Fields, key: &'static str) -> Vec<Node> {
        let Some(node) = fields.take(self, key) else { return Vec::new() };
        match node.value {
            Value::List(nodes) => nodes,
            Value::Map(_) => vec![node],
            Value::Scalar(_) => {
                self.say(&rules::FORM, node.line, format!("`{key}` is a text where a list is needed"));
                Vec::new()
            }
        }
    }

    fn sizes(&mut self, node: Node) -> Vec<WrittenSize> {
        match node.value {
            Value::List(nodes) => nodes.into_iter().filter_map(|node| self.size(&node)).collect(),
            Value::Scalar(_) => self.size(&node).into_iter().collect(),
            Value::Map(_) => {
                self.say(&rules::FORM, node.line, "`block_sizes` is a map where a list is needed");
                Vec::new()
            }
        }
    }

    fn size(&mut self, node: &Node) -> Option<WrittenSize> {
        let Value::Scalar(text) = &node.value else {
            self.say(&rules::SIZE_NOT_A_NUMBER, node.line, format!("a block size is {}", node.kind()));
            return None;
        };
        let size = number(text);
        if size.is_none() {
            self.say(&rules::SIZE_NOT_A_NUMBER, node.line, format!("`{}` is not a block size", short(text)));
        }
        size.map(|size| WrittenSize { size, line: node.line })
    }

    fn default(&mut self, node: Node) -> ClusterDefault {
        let line = node.line;
        let Some(text) = self.text(node, "cluster_default") else { return ClusterDefault::No };
        if !is_plain_boolean(&text.text) {
            self.say(&rules::ODD_BOOLEAN, line, format!("cluster_default is `{}`", short(&text.text)));
        }
        if is_false(&text.text) { ClusterDefault::No } else { ClusterDefault::Yes }
    }

    fn flat(&mut self, node: Node) -> Flat {
        match &node.value {
            Value::Scalar(text) if is_false(text) => Flat::No,
            Value::Scalar(text) => {
                if !is_plain_boolean(text) {
                    self.say(&rules::ODD_BOOLEAN, node.line, format!("flat is `{}`", short(text)));
                }
                Flat::Yes
            }
            Value::Map(_) => Flat::Yes,
            Value::List(_) => {
                self.say(&rules::FORM, node.line, "`flat` is a list where true or false is needed");
                Flat::No
            }
        }
    }

    fn hosts(&mut self, node: Node, key: &str) -> (usize, Vec<String>) {
        let line = node.line;
        let text = self.text(node, key);
        (line, text.map(|text| expand(&text, &mut self.allowance, self.findings)).unwrap_or_default())
    }

    fn text(&mut self, node: Node, key: &str) -> Option<Text> {
        let (line, kind) = (node.line, node.kind());
        match node.value {
            Value::Scalar(text) => Some(Text { text, line }),
            Value::List(_) | Value::Map(_) => {
                self.say(&rules::FORM, line, format!("`{key}` is {kind} where a text is needed"));
                None
            }
        }
    }

    fn map(&mut self, node: Node, what: &str) -> Option<Fields> {
        let (line, kind) = (node.line, node.kind());
        match node.value {
            Value::Map(fields) => Some(Fields { line, fields }),
            Value::Scalar(_) | Value::List(_) => {
                self.say(&rules::FORM, line, format!("{what} is {kind} where a map is needed"));
                None
            }
        }
    }
}

impl Fields {
    /// Takes the value of a key. Of a repeated one the last counts, unless an earlier one is a list.
    fn take(&mut self, reader: &mut Reader<'_>, key: &str) -> Option<Node> {
        let mut taken: Option<Node> = None;
        let fields = self.fields.extract_if(.., |field| field.key == key);
        for field in fields {
            match taken.as_ref().map(|node| &node.value) {
                Some(Value::List(_)) => {
                    reader.repeated.push((field.line, format!("`{key}` stands here again")));
                }
                Some(Value::Scalar(_) | Value::Map(_)) => {
                    reader.say(&rules::REPEATED_KEY, field.line, format!("`{key}` stands here again"));
                }
                None => {}
            }
            taken = Some(field.node);
        }
        taken
    }

    /// Tells of the keys that were not taken.
    fn unknown(&self, reader: &mut Reader<'_>, known: &[&str]) {
        for field in &self.fields {
            // A key that differs only in its case is nearer than any other.
            let distance = |key: &&&str| strsim::levenshtein(key, &field.key.to_ascii_lowercase());
            let nearest = known.iter().min_by_key(distance).filter(|key| distance(key) <= 2);
            let hint = nearest.map(|key| format!("; `{key}` is known")).unwrap_or_default();
            reader.say(&rules::UNKNOWN_KEY, field.line, format!("`{}` is ignored{hint}", short(&field.key)));
        }
    }
}

enum Flat {
    Yes,
    No,
}

/// The words that Slurm takes for false; all others are true.
fn is_false(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    matches!(text.as_str(), "" | "~" | "null" | "n" | "no" | "f" | "false" | "off")
        || !text.is_empty() && text.bytes().all(|byte| byte == b'0')
}

fn is_plain_boolean(text: &str) -> bool {
    matches!(text.to_ascii_lowercase().as_str(), "true" | "false" | "yes" | "no" | "on" | "off")
}

/// A number as Slurm reads it from a text: decimal with an optional sign, or hexadecimal. A negative one is 0, which is
/// refused for the same reason.
fn number(text: &str) -> Option<usize> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'+' => (true, &text[1..]),
        b'-' => (false, &text[1..]),
        _ => (true, text),
    };
    let value = match digits.strip_prefix("0x").filter(|_| digits.len() == text.len()) {
        Some(hex) if !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            usize::from_str_radix(hex, 16).unwrap_or(usize::MAX)
        }
        Some(_) => return None,
        None if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().unwrap_or(usize::MAX)
        }
        None => return None,
    };
    Some(if sign { value } else { 0 })
}

impl From<&Node> for serde_json::Value {
    fn from(node: &Node) -> Self {
        match &node.value {
            Value::Scalar(text) => serde_json::Value::String(text.clone()),
            Value::List(nodes) => nodes.iter().map(serde_json::Value::from).collect(),
            Value::Map(fields) => {
                fields.iter().map(|field| (field.key.clone(), serde_json::Value::from(&field.node))).collect()
            }
        }
    }
}
