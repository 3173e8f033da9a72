//! `topology.conf` of topology/block: `BlockName=… Nodes=…` lines and `BlockSizes=…`.
//!
//! Keys in any case, values plain or in double quotes, `#` begins a comment, `\` at the end continues a line.

use imex_host::hostlist::Allowance;

use crate::lint::{Finding, rules};
use crate::model::ClusterDefault;

use super::{
    Kind, Text, Written, WrittenBlock, WrittenBlocks, WrittenSize, WrittenTopology, check_sizes, expand,
    short,
};

/// Reads a text.
pub(super) fn read(text: &str, findings: &mut Vec<Finding>) -> Written {
    let mut reader = Reader {
        blocks: WrittenBlocks { line: 1, sizes: Vec::new(), blocks: Vec::new() },
        findings,
        allowance: Allowance::default(),
    };
    for (line, text) in logical_lines(text) {
        match pairs(&text) {
            Ok(pairs) => reader.line(&pairs, line),
            Err(rest) => {
                let what = format!("`{}` is no key=value", short(rest));
                reader.findings.push(Finding::at(&rules::SYNTAX, line, what));
            }
        }
    }
    let Reader { mut blocks, findings, .. } = reader;
    if blocks.blocks.is_empty() {
        findings.push(Finding::at(&rules::NO_BLOCKS, None, "there are no blocks"));
    }
    blocks.sizes = check_sizes(blocks.sizes, findings);
    let topology =
        WrittenTopology { line: 1, name: None, default: ClusterDefault::Yes, kind: Kind::Block(blocks) };
    Written { topologies: vec![topology] }
}

struct Reader<'f> {
    blocks: WrittenBlocks,
    findings: &'f mut Vec<Finding>,
    /// What the lists of hosts may still stand for.
    allowance: Allowance,
}

impl Reader<'_> {
    fn line(&mut self, pairs: &[(&str, &str)], line: usize) {
        let Some(((key, value), rest)) = pairs.split_first() else { return };
        match key.to_ascii_lowercase().as_str() {
            "blockname" => self.block(value, rest, line),
            "blocksizes" => self.sizes(value, rest, line),
            _ => self.unknown(key, line),
        }
    }

    fn block(&mut self, name: &str, rest: &[(&str, &str)], line: usize) {
        let mut nodes = None;
        for (key, value) in rest {
            if !key.eq_ignore_ascii_case("Nodes") {
                self.unknown(key, line);
            } else if nodes.replace(*value).is_some() {
                self.findings.push(Finding::at(&rules::REPEATED_KEY, line, "`Nodes` stands here again"));
            }
        }
        let list = nodes.map(|list| Text { text: list.to_owned(), line });
        let nodes = list.map(|list| expand(&list, &mut self.allowance, self.findings)).unwrap_or_default();
        let name = Text { text: name.to_owned(), line };
        self.blocks.blocks.push(WrittenBlock { name, nodes, line });
    }

    fn sizes(&mut self, list: &str, rest: &[(&str, &str)], line: usize) {
        rest.iter().for_each(|(key, _)| self.unknown(key, line));
        if !self.blocks.sizes.is_empty() {
            self.findings.push(Finding::at(&rules::REPEATED_KEY, line, "`BlockSizes` stands here again"));
        }
        let texts: Vec<&str> = list.split(',').filter(|text| !text.is_empty()).collect();
        if texts.is_empty() {
            self.findings.push(Finding::at(&rules::SIZE_NOT_A_NUMBER, line, "there is no block size"));
        }
        self.blocks.sizes = texts.into_iter().filter_map(|text| size(text, line, self.findings)).collect();
    }

    fn unknown(&mut self, key: &str, line: usize) {
        self.findings.push(Finding::at(&rules::CONF_KEY, line, format!("`{}` is unknown here", short(key))));
    }
}

/// A size as Slurm reads it from this file: leading digits count, what follows is dropped.
fn size(text: &str, line: usize, findings: &mut Vec<Finding>) -> Option<WrittenSize> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    let end = digits.bytes().take_while(u8::is_ascii_digit).count();
    let Ok(size) = digits[..end].parse() else {
        findings.push(Finding::at(
            &rules::SIZE_NOT_A_NUMBER,
            line,
            format!("`{}` is not a block size", short(text)),
        ));
        return None;
    };
    if end < digits.len() {
        findings.push(Finding::at(
            &rules::NUMBER_WITH_TAIL,
            line,
            format!("`{}` is read as {size}", short(text)),
        ));
    }
    Some(WrittenSize { size, line })
}

/// Lines without comments, continued ones joined, with the number of their first line.
pub(crate) fn logical_lines(text: &str) -> impl Iterator<Item = (usize, String)> + '_ {
    let mut lines = text.lines().enumerate();
    std::iter::from_fn(move || {
        let (index, first) = lines.next()?;
        let mut whole = without_comment(first).to_owned();
        while whole.ends_with('\\') {
            whole.pop();
            let Some((_, next)) = lines.next() else { break };
            whole.push_str(without_comment(next));
        }
        Some((index + 1, whole))
    })
}

fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or_default().trim_end()
}

/// The `key=value` pairs of a line, or the rest that is none. Blanks around `=` do not count.
pub(crate) fn pairs(line: &str) -> Result<Vec<(&str, &str)>, &str> {
    let mut pairs = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=').ok_or(rest)?;
        let key = key.trim_end();
        if key.is_empty() || key.contains(char::is_whitespace) {
            return Err(rest);
        }
        // Slurm knows `Key+=value` and the like, and takes them for `=` here.
        let key = key.strip_suffix(['+', '-', '*', '/']).unwrap_or(key);
        let after = after.trim_start();
        let quoted = after.strip_prefix('"').and_then(|quoted| quoted.split_once('"'));
        let end = || after.find(char::is_whitespace).unwrap_or(after.len());
        let (value, tail) = quoted.unwrap_or_else(|| after.split_at(end()));
        if value.is_empty() && !after.starts_with('"') {
            return Err(rest);
        }
        pairs.push((key, value));
        rest = tail.trim_start();
    }
    Ok(pairs)
}
