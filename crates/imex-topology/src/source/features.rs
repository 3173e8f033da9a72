//! What an administrator noted at the nodes in Slurm: a feature or a comment that names the block.
//!
//! Read from `scontrol show nodes --json`. A pattern like `nvl-*` finds the text; what the star stands for is the key.

use std::sync::Arc;

use crate::inventory::{BlockKey, Evidence, NoBlock, Placement, SourceKind, SourceReport};
use crate::show_nodes;

use super::SourceError;

/// A pattern with one star.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    before: String,
    after: String,
}

/// A text that is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a pattern: it needs one `*` for the block's name, and something beside it")]
pub struct PatternError {
    text: String,
}

impl Pattern {
    /// What the star stands for in `text`, if the pattern fits and the star stands for something.
    fn key<'t>(&self, text: &'t str) -> Option<&'t str> {
        let key = text.strip_prefix(self.before.as_str())?.strip_suffix(self.after.as_str())?;
        (!key.is_empty()).then_some(key)
    }
}

impl std::str::FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let error = || PatternError { text: text.to_owned() };
        let (before, after) = text.split_once('*').ok_or_else(error)?;
        if after.contains('*') || text == "*" {
            return Err(error());
        }
        Ok(Pattern { before: before.to_owned(), after: after.to_owned() })
    }
}

/// Reads the output of `scontrol show nodes --json`. A node on which the pattern fits nothing is in no block; one on
/// which it fits twice with different keys is repeated.
///
/// # Errors
///
/// If the text is not that output.
pub fn parse(text: &str, pattern: &Pattern, from: &Arc<str>) -> Result<SourceReport, SourceError> {
    let mut report = SourceReport::default();
    for node in show_nodes::parse(text)? {
        let evidence = || Evidence { source: SourceKind::Features, from: Arc::clone(from), line: None };
        let texts = node.features.iter().chain([&node.comment, &node.extra]);
        for key in texts.filter_map(|text| pattern.key(text)) {
            report.place(&node.name, Placement::Block(BlockKey::Named(key.to_owned())), evidence());
        }
        report.place(&node.name, Placement::NoBlock(NoBlock::NotMember), evidence());
    }
    if report.nodes.is_empty() { Err(SourceError::Nothing) } else { Ok(report) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_star_is_the_block_in_a_feature_or_a_comment() {
        let json = r#"{"nodes": [
            {"name": "n1", "features": ["gpu", "nvl-a"], "comment": "", "extra": ""},
            {"name": "n2", "features": [], "comment": "nvl-b"},
            {"name": "n3", "features": ["nvl-"]},
            {"name": "n4", "features": ["nvl-a", "nvl-b"]}
        ]}"#;
        let report = parse(json, &"nvl-*".parse().unwrap(), &"scontrol".into()).unwrap();
        let named = |name: &str| Placement::Block(BlockKey::Named(name.to_owned()));
        assert_eq!(report.nodes["n1"].placement, named("a"));
        assert_eq!(report.nodes["n2"].placement, named("b"));
        assert_eq!(report.nodes["n3"].placement, Placement::NoBlock(NoBlock::NotMember));
        assert_eq!(report.repeated.len(), 1);
    }

    #[test]
    fn a_pattern_has_one_star_and_more() {
        for text in ["", "*", "nvl", "a*b*"] {
            assert!(text.parse::<Pattern>().is_err(), "{text}");
        }
    }
}
