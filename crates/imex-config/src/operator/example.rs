//! The commented example of `openimex.toml`, and the table of its keys for the documents.

use std::fmt::Write;

use super::keys::{ALL, OperatorKey};

const HEAD: &str = "\
# How the IMEX domains of this node's jobs are made: read by imex slurm, imex channel, imex validate and imex doctor.
#
# Every key has its default here; a key that is left out, or a file that is not there, means the same. An unknown key is an
# error, so that no setting is lost to a slip. The file must be the same on all nodes of a job.
#
# This file is generated from the table of keys in crates/imex-config.
";

/// The whole file: every key, set to its default.
pub fn example() -> String {
    let mut text = HEAD.to_owned();
    let mut table = "";
    for key in ALL {
        if key.table != table {
            table = key.table;
            text.push_str(&format!("\n[{table}]\n"));
        }
        write_key(&mut text, key).expect("a String takes all that is written");
    }
    text
}

fn write_key(text: &mut String, key: &OperatorKey) -> std::fmt::Result {
    for line in key.doc {
        writeln!(text, "#{line}")?;
    }
    writeln!(text, "# Values: {}.", key.kind)?;
    writeln!(text, "{} = {}", key.name, key.default)
}

const REFERENCE_HEAD: &str = "\
# openimex.toml

`/etc/openimex/openimex.toml` says how the IMEX domains of a node's jobs are made. `imex slurm`, `imex channel`, `imex
validate` and `imex doctor` read it. A key that is left out has its default, and so has every key where there is no file. An
unknown key is an error. `dist/conf/openimex.toml` is an example with every key set to its default.

This page is generated from the table of keys in crates/imex-config.

";

/// The page of the documents: every key as a row of a table in Markdown.
pub fn reference() -> String {
    let mut text =
        REFERENCE_HEAD.to_owned() + "| key | default | values | what it is for |\n|---|---|---|---|\n";
    for key in ALL {
        let doc = key.doc.concat();
        let row = format!("| `{key}` | `{}` | {} | {} |\n", key.default, key.kind, doc.trim());
        text.push_str(&row);
    }
    text
}
