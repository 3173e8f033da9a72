//! Documents name only files that exist.
//!
//! Whatever stands in backticks in a document and looks like a path of this repository must be one: it begins with one
//! of the folders below. Links to files are checked as well.

use std::path::{Path, PathBuf};

use crate::error::TaskError;
use crate::tree;

/// Documents in the root; those in `docs/` are all checked.
const DOCUMENTS: [&str; 4] = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs"];

/// How a path of this repository begins.
const BEGINNINGS: [&str; 8] = [".cargo/", ".ci/", ".config/", "crates/", "dist/", "docs/", "fuzz/", "xtask/"];

pub(super) fn findings() -> Result<Vec<String>, TaskError> {
    let mut findings = Vec::new();
    for document in documents()? {
        let text = tree::read(&document)?;
        let folder = document.parent().unwrap_or(tree::root());
        for (number, line) in text.lines().enumerate() {
            let missing = named(line, folder).into_iter().filter(|(_, path)| !path.exists());
            let place = format!("{}:{}", tree::relative(&document), number + 1);
            findings.extend(missing.map(|(name, _)| format!("{place}: there is no {name}")));
        }
    }
    Ok(findings)
}

fn documents() -> Result<Vec<PathBuf>, TaskError> {
    let mut found = Vec::new();
    for name in DOCUMENTS {
        let path = tree::root().join(name);
        if path.is_dir() {
            found.extend(tree::files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    Ok(found)
}

/// What a line names: as written, and where it would lie.
fn named(line: &str, folder: &Path) -> Vec<(String, PathBuf)> {
    let quoted = line.split('`').skip(1).step_by(2).filter(|text| looks_like_a_path(text));
    let quoted = quoted.map(|text| (text.to_owned(), tree::root().join(text)));
    let linked = line.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    let linked = linked.filter(|target| !target.is_empty() && !target.contains(':'));
    let linked = linked.map(|target| (target.to_owned(), folder.join(target)));
    quoted.chain(linked).collect()
}

/// A placeholder, as in `crates/*/src` or `fuzz/corpus/TARGET`, is not a path.
fn looks_like_a_path(text: &str) -> bool {
    let plain =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "/._-".contains(c) || text.ends_with(".md");
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning)) && text.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_paths_and_links_are_named() {
        let line = "See `crates/imex-core/src/link.rs`, `cargo xtask`, [the map](ARCHITECTURE.md#links) and [x](https://x.y).";
        let names: Vec<_> = named(line, Path::new("docs")).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["crates/imex-core/src/link.rs", "ARCHITECTURE.md"]);
    }

    #[test]
    fn placeholders_are_not_paths() {
        assert_eq!(named("`fuzz/corpus/TARGET` and `crates/*/src`", Path::new(".")), []);
    }
}
