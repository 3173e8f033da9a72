//! Which crate may use which: the arrows of docs/ARCHITECTURE.md as a table.
//!
//! Cargo refuses circles by itself; this refuses the arrows that no circle would betray, such as the control tool
//! reaching into the daemon. It also holds the core to its promise: no runtime, no network, no chance, no log.

use serde_json::Value;

use crate::error::TaskError;
use crate::process::Program;

/// What a crate's own code may use of ours.
const ARROWS: &[(&str, &[&str])] = &[
    ("imex-aws", &[]),
    ("imex-core", &[]),
    ("imex-config", &["imex-core"]),
    ("imex-wire", &["imex-core"]),
    ("imex-sim", &["imex-core"]),
    ("imex-clib", &[]),
    ("imex-gssapi", &["imex-clib"]),
    ("imex-gss", &["imex-gssapi"]),
    ("imex-tls", &["imex-config", "imex-core"]),
    ("imex-host", &["imex-core"]),
    // One calls a C library, the other is one.
    ("imex-nvml", &["imex-clib", "imex-host"]),
    ("imex-fake-nvml", &[]),
    ("imex-munge", &["imex-clib", "imex-core"]),
    ("imex-slurm", &["imex-config", "imex-core", "imex-host"]),
    ("imex-topology", &["imex-config", "imex-core", "imex-host"]),
    ("imex-daemon", &["imex-config", "imex-core", "imex-gss", "imex-munge", "imex-tls", "imex-wire"]),
    ("imex-ctl", &["imex-config", "imex-core", "imex-tls", "imex-wire"]),
    ("imex-lab", &["imex-config", "imex-core", "imex-wire"]),
    // `cargo run --bin imex` builds no other program, and the lab needs the daemon: called `imexd`, imex is one.
    (
        "imex",
        &[
            "imex-aws",
            "imex-config",
            "imex-core",
            "imex-ctl",
            "imex-daemon",
            "imex-host",
            "imex-lab",
            "imex-nvml",
            "imex-slurm",
            "imex-tls",
            "imex-topology",
            "imex-wire",
        ],
    ),
    (
        "xtask",
        &[
            "imex",
            "imex-config",
            "imex-core",
            "imex-ctl",
            "imex-daemon",
            "imex-lab",
            "imex-sim",
            "imex-slurm",
            "imex-tls",
            "imex-topology",
            "imex-wire",
        ],
    ),
];

/// What a crate's tests may use beyond that. Tests of the core against the simulator lie in the simulator.
const TEST_ARROWS: &[(&str, &[&str])] = &[
    ("imex", &["imex-fake-nvml"]),
    ("imex-ctl", &["imex-lab"]),
    ("imex-gss", &["imex-lab"]),
    ("imex-munge", &["imex-lab"]),
    ("imex-daemon", &["imex-lab"]),
    ("imex-lab", &["imex-ctl"]),
    ("imex-nvml", &["imex-fake-nvml"]),
];

/// What must not be anywhere below the core.
const IMPURE: [&str; 10] =
    ["getrandom", "hyper", "log", "mio", "prost", "rand", "tokio", "tonic", "tracing", "tracing-core"];

pub(super) fn findings() -> Result<Vec<String>, TaskError> {
    let metadata = Program::cargo().words("metadata --no-deps --format-version 1 --offline").stdout()?;
    let mut findings = judge(&uses(&metadata)?);
    let core = Program::cargo()
        .words("tree --package imex-core --edges normal --prefix none --format {p}")
        .stdout()?;
    findings.extend(impurities(&core));
    findings.sort();
    Ok(findings)
}

/// One crate of the workspace uses another.
#[derive(Debug)]
struct Use {
    by: String,
    of: String,
    /// Only its tests do.
    in_tests: bool,
}

/// Every use of a workspace crate by another, and each crate itself with an empty `of`, so that a crate that the table
/// does not know is noticed.
fn uses(metadata: &str) -> Result<Vec<Use>, TaskError> {
    let broken = |why: String| TaskError::Output { line: "cargo metadata".to_owned(), why };
    let metadata: Value = serde_json::from_str(metadata).map_err(|error| broken(error.to_string()))?;
    let packages = metadata["packages"].as_array().ok_or_else(|| broken("no packages".to_owned()))?;
    let mut uses = Vec::new();
    for package in packages {
        let by = text(&package["name"]);
        uses.push(Use { by: by.clone(), of: String::new(), in_tests: false });
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            if !dependency["path"].is_null() {
                let in_tests = dependency["kind"] == "dev";
                uses.push(Use { by: by.clone(), of: text(&dependency["name"]), in_tests });
            }
        }
    }
    Ok(uses)
}

fn judge(uses: &[Use]) -> Vec<String> {
    let mut findings = Vec::new();
    for Use { by, of, in_tests } in uses {
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| name == by) else {
            if of.is_empty() {
                findings.push(format!("{by}: not in the table of arrows in xtask/src/check/arrows.rs"));
            }
            continue;
        };
        let more =
            TEST_ARROWS.iter().find(|(name, _)| *in_tests && name == by).map_or(&[][..], |(_, more)| more);
        if !of.is_empty() && !allowed.iter().chain(more).any(|name| name == of) {
            findings.push(format!("{by}: must not use {of}"));
        }
    }
    findings
}

fn impurities(tree: &str) -> Vec<String> {
    let names = tree.lines().filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| IMPURE.contains(name))
        .map(|name| format!("imex-core: {name} is in its tree"))
        .collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrow_that_the_table_lacks_is_found_in_code_and_in_tests() {
        let uses =
            [code("imex-ctl", "imex-wire"), code("imex-ctl", "imex-daemon"), test("imex-core", "imex-sim")];
        assert_eq!(judge(&uses), ["imex-ctl: must not use imex-daemon", "imex-core: must not use imex-sim"]);
    }

    #[test]
    fn an_arrow_for_tests_is_no_arrow_for_code() {
        assert_eq!(judge(&[test("imex-ctl", "imex-lab")]), [""; 0]);
        assert_eq!(judge(&[code("imex-ctl", "imex-lab")]), ["imex-ctl: must not use imex-lab"]);
    }

    #[test]
    fn a_crate_without_a_row_is_found() {
        assert_eq!(judge(&[code("imex-new", "")]).len(), 1);
    }

    #[test]
    fn the_core_is_found_out_by_what_cargo_prints() {
        assert_eq!(impurities("imex-core v0.1.0 (/x)\nsha2 v0.11.0\n"), [""; 0]);
        assert_eq!(impurities("imex-core v0.1.0\ntokio v1.54.0\n"), ["imex-core: tokio is in its tree"]);
    }

    #[test]
    fn uses_are_read_from_metadata() {
        let metadata = r#"{"packages":[{"name":"a","dependencies":[
            {"name":"b","path":"/b","kind":null},{"name":"c","path":"/c","kind":"dev"},{"name":"serde","kind":null}]}]}"#;
        let uses = uses(metadata).unwrap();
        let shown: Vec<_> = uses.iter().map(|u| (u.by.as_str(), u.of.as_str(), u.in_tests)).collect();
        assert_eq!(shown, [("a", "", false), ("a", "b", false), ("a", "c", true)]);
    }

    fn code(by: &str, of: &str) -> Use {
        Use { by: by.to_owned(), of: of.to_owned(), in_tests: false }
    }

    fn test(by: &str, of: &str) -> Use {
        Use { in_tests: true, ..code(by, of) }
    }
}
