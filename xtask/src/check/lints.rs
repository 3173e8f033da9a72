//! Whether crates with a lint table of their own, because they call C or are C, keep to the workspace's: Cargo cannot inherit
//! a table in part.

use std::collections::BTreeSet;

use crate::error::TaskError;
use crate::tree;

/// The one lint that such a crate sets otherwise: it is why it has a table.
const OWN: &str = "unsafe_code";

pub(super) fn findings() -> Result<Vec<String>, TaskError> {
    let manifest = tree::root().join("Cargo.toml");
    let shared = lints(&tree::read(&manifest)?, "workspace.lints");
    let mut findings = Vec::new();
    for path in tree::files(&tree::root().join("crates"))? {
        if path.file_name().is_some_and(|name| name == "Cargo.toml") {
            let own = lints(&tree::read(&path)?, "lints");
            findings.extend(
                missing(&shared, &own).map(|lint| format!("{}: lacks {lint}", tree::relative(&path))),
            );
        }
    }
    findings.sort();
    Ok(findings)
}

/// The lints of a manifest with their levels, `rust: missing_docs = "warn"`; none where it inherits them.
fn lints(manifest: &str, table: &str) -> BTreeSet<String> {
    let mut lints = BTreeSet::new();
    let mut tool = None;
    for line in manifest.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if line.starts_with('[') {
            let name = line.trim_matches(['[', ']']).strip_prefix(table);
            tool = name.and_then(|rest| rest.strip_prefix('.'));
        } else if let Some(tool) = tool {
            lints.insert(format!("{tool}: {line}"));
        }
    }
    lints
}

/// What a table of its own lacks of the shared one.
fn missing<'a>(shared: &'a BTreeSet<String>, own: &'a BTreeSet<String>) -> impl Iterator<Item = &'a String> {
    let has_table = !own.is_empty();
    shared.difference(own).filter(move |lint| has_table && !lint.contains(OWN))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARED: &str = "[workspace.lints.rust]\nmissing_docs = \"warn\"\nunsafe_code = \"forbid\"\n\n\
                          [workspace.lints.clippy]\nexit = \"warn\"\n\n[profile.dev]\nopt-level = 2\n";

    #[test]
    fn a_table_of_its_own_has_all_of_the_shared_one_but_unsafe_code() {
        let missing = |manifest: &str| {
            let (shared, own) = (lints(SHARED, "workspace.lints"), lints(manifest, "lints"));
            missing(&shared, &own).cloned().collect::<Vec<_>>()
        };
        assert_eq!(missing("[lints]\nworkspace = true\n"), [""; 0], "it inherits");
        let rust = "[lints.rust]\nmissing_docs = \"warn\"\nunsafe_code = \"allow\"\n";
        assert_eq!(missing(rust), ["clippy: exit = \"warn\""]);
        let weaker = format!("{rust}[lints.clippy]\n# why\nexit = \"allow\"\nmore = \"warn\"\n");
        assert_eq!(missing(&weaker), ["clippy: exit = \"warn\""]);
        assert_eq!(missing(&weaker.replace("allow\"\nmore", "warn\"\nmore")), [""; 0]);
    }
}
