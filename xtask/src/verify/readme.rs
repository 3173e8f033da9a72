//! What README shows for the rack in a box is what a person who types it sees.
//!
//! README shows a session in a fenced block that begins with "```console". Its lab command is run with `--once` added,
//! and what is printed must be what README shows: times, addresses and the width of blanks aside, and with a line `…`
//! standing for any number of lines.

use std::net::Ipv4Addr;

use crate::error::TaskError;
use crate::process::Program;
use crate::report::Report;
use crate::tree;

/// The command of README's first screen.
const COMMAND: &str = "cargo run --release --bin imex -- lab";

pub(super) fn run(report: &mut Report) -> Result<(), TaskError> {
    let readme = tree::read(&tree::root().join("README.md"))?;
    let Some(shown) = session(&readme, COMMAND) else {
        return Err(TaskError::Findings(vec![format!("README.md shows no output of `{COMMAND}`")]));
    };
    // Built first, so that what cargo says of it does not count.
    Program::cargo().words("build --release --locked --bin imex --bin imexd").run()?;
    let printed = Program::cargo().words("run --quiet --release --bin imex -- lab --once").stdout()?;
    report.line(&printed);
    TaskError::from_findings(differences(&shown, &printed))
}

/// The lines that a document shows below a command, up to the next command or the end of the block.
fn session(document: &str, command: &str) -> Option<String> {
    let blocks = document.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    let prompt = format!("$ {command}\n");
    let after = blocks.filter_map(|block| block.split_once(&prompt)).map(|(_, after)| after).next()?;
    Some(after.split("\n$ ").next().unwrap_or_default().to_owned())
}

/// The parts between two `…` lines must be printed in their order, the first at the beginning and the last at the end.
fn differences(shown: &str, printed: &str) -> Vec<String> {
    let printed: Vec<String> = printed.trim_end().lines().map(redacted).collect();
    let shown: Vec<String> = shown.trim_end().lines().map(redacted).collect();
    let parts: Vec<&[String]> = shown.split(|line| line == "…").collect();
    let mut from = 0;
    for (index, part) in parts.iter().enumerate() {
        let (first, last) = (index == 0, index + 1 == parts.len());
        let fits =
            |at: &usize| printed[*at..].starts_with(part) && (!last || at + part.len() == printed.len());
        let places = if first { 0..1 } else { from..printed.len() + 1 };
        match places.into_iter().find(fits) {
            Some(at) => from = at + part.len(),
            None => return vec![format!("README.md shows what is not printed there:\n{}", part.join("\n"))],
        }
    }
    Vec::new()
}

/// A line with one blank between words and with each address and each time replaced: `127.4.5.6`, `12:30:05`,
/// `03/17/2026`, `62 ms`, `1.2s`.
fn redacted(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let unit_next = |index: usize| words.get(index + 1).is_some_and(|next| is_unit(next));
    let replaced = words.iter().enumerate().map(|(index, word)| {
        let number = word.starts_with(|c: char| c.is_ascii_digit());
        let time = unit_next(index) || word.contains([':', '/']) || ends_in_unit(word);
        match number {
            true if word.parse::<Ipv4Addr>().is_ok() => "ADDRESS",
            true if time => "TIME",
            true | false => word,
        }
    });
    replaced.collect::<Vec<_>>().join(" ")
}

fn is_unit(word: &str) -> bool {
    ["ms", "s", "µs"].contains(&word.trim_end_matches([',', '.', ';', ')']))
}

fn ends_in_unit(word: &str) -> bool {
    is_unit(word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_at_the_next_prompt() {
        let readme = "text\n```console\n$ cargo one\na\nb\n$ cargo two\nc\n```\n";
        assert_eq!(session(readme, "cargo one").as_deref(), Some("a\nb"));
        assert_eq!(session(readme, "cargo two").as_deref(), Some("c\n"));
        assert_eq!(session(readme, "cargo three"), None);
    }

    #[test]
    fn times_and_addresses_differ_and_letters_do_not() {
        assert_eq!(differences("UP after 62 ms, 18 nodes\n", "UP after 7.1 ms, 18 nodes"), [""; 0]);
        assert_eq!(differences("03/17/2026 10:00:00", "11/30/2026 09:59:59"), [""; 0]);
        assert_eq!(differences("in 1.2s", "in 800ms"), [""; 0]);
        assert_eq!(differences("#0 * 127.1.2.3 * -", "#0 * 127.10.20.3  * -"), [""; 0]);
        assert_eq!(differences("Node #0  C  C", "Node #0  C  D").len(), 1);
        assert_eq!(differences("UP after 62 ms, 18 nodes", "UP after 62 ms, 17 nodes").len(), 1);
        assert_eq!(differences("one", "one\ntwo").len(), 1);
        assert_eq!(differences("one\ntwo", "one").len(), 1);
    }

    #[test]
    fn an_ellipsis_stands_for_any_lines_but_not_for_their_order() {
        assert_eq!(differences("a\n…\nc", "a\nb\nb\nc"), [""; 0]);
        assert_eq!(differences("a\n…\nc", "a\nc"), [""; 0]);
        assert_eq!(differences("…\nb\n…", "a\nb\nc"), [""; 0]);
        assert_eq!(differences("a\n…\nc\n…\nb", "a\nb\nc").len(), 1);
        assert_eq!(differences("a\n…\nc", "a\nb\nc\nd").len(), 1);
    }
}
