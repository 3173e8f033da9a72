//! The style budget: what a lint cannot count.

use std::path::Path;

use crate::error::TaskError;
use crate::tree;

/// The most lines of code in one file; blank lines and comments do not count. A reader holds about this much in mind.
const MOST_LINES: usize = 600;

/// The most lines of code in a `main.rs`: everything that can be tested lies in a library.
const MOST_MAIN_LINES: usize = 15;

pub(super) fn findings() -> Result<Vec<String>, TaskError> {
    let mut findings = Vec::new();
    for path in tree::rust_files()? {
        let text = tree::read(&path)?;
        let place = tree::relative(&path);
        findings.extend(judge(&path, &text).into_iter().map(|finding| format!("{place}: {finding}")));
    }
    Ok(findings)
}

fn judge(path: &Path, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    // `x/tests.rs` is a part of `x.rs`, and what `x.rs` says of itself holds for its tests.
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let most = if name == "main.rs" { MOST_MAIN_LINES } else { MOST_LINES };
    let lines = code_lines(text);
    if lines > most {
        findings.push(format!("{lines} lines of code, at most {most} are allowed"));
    }
    if name == "mod.rs" {
        findings.push("a module `x` lies in `x.rs`, beside its folder".to_owned());
    }
    if name != "tests.rs" && !has_module_doc(text) {
        findings.push("does not begin with a module doc (`//!`)".to_owned());
    }
    findings
}

fn code_lines(text: &str) -> usize {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

/// The module doc is the first thing in a file, except for attributes such as `#![no_main]`.
fn has_module_doc(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("#!["));
    lines.next().is_some_and(|line| line.starts_with("//! "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_blank_lines_are_free() {
        assert_eq!(code_lines("//! Doc.\n\n// why\nfn f() {\n    /// doc\n    g();\n}\n"), 3);
    }

    #[test]
    fn each_budget_has_a_finding() {
        let long = format!("//! Doc.\n{}", "x();\n".repeat(MOST_LINES + 1));
        assert_eq!(judge(Path::new("a.rs"), &long).len(), 1);
        let main = format!("//! Doc.\n{}", "x();\n".repeat(MOST_MAIN_LINES + 1));
        assert_eq!(judge(Path::new("main.rs"), &main).len(), 1);
        assert_eq!(judge(Path::new("a.rs"), &main), [""; 0]);
        assert_eq!(judge(Path::new("mod.rs"), "fn f() {}\n").len(), 2);
        assert_eq!(judge(Path::new("tests.rs"), "fn f() {}\n"), [""; 0]);
    }

    #[test]
    fn an_inner_attribute_may_stand_above_the_module_doc() {
        assert!(has_module_doc("#![no_main]\n//! Doc.\n"));
        assert!(!has_module_doc("use x;\n//! Doc.\n"));
    }
}
