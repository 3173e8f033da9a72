//! The commented example of `config.cfg`, written from the key table.

use std::fmt::Write;

use crate::keys::{ALL, Group, Key};

const HEAD: &str = "\
# Configuration of the IMEX service (imexd).
#
# One KEY=value per line. Lines that begin with # are comments, and a comment needs a line of its own. Every key is
# set to its default here; a key that is left out has that default too. The file is read once, when the service
# starts. Check it, together with the node list, with: imexd --check -c FILE
#
# This file is generated from the table of keys in crates/imex-config.
";

/// The whole file: every key but the legacy ones, set to its default.
pub fn example() -> String {
    let mut text = HEAD.to_owned();
    let mut group = None;
    for key in ALL.iter().filter(|key| key.group != Group::Legacy) {
        if group != Some(key.group) {
            group = Some(key.group);
            let heading = key.group.heading();
            text.push_str(&format!("\n\n# {heading}\n# {}\n", "-".repeat(heading.len())));
        }
        write_key(&mut text, key).expect("a String takes all that is written");
    }
    text
}

fn write_key(text: &mut String, key: &Key) -> std::fmt::Result {
    writeln!(text)?;
    for line in key.doc {
        writeln!(text, "#{line}")?;
    }
    writeln!(text, "# Values: {}. Default: {}.", key.kind, shown(key.default))?;
    writeln!(text, "{}={}", key.name, key.default)
}

fn shown(default: &str) -> &str {
    if default.is_empty() { "empty" } else { default }
}
