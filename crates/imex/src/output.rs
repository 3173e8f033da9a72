//! What every command's output has in common.

use std::io::{self, Write};
use std::time::Duration;

use serde::Serialize;

use crate::clock;
use crate::failure::Failure;

/// The version of the JSON documents. It rises when a field changes its meaning or goes, not when one comes.
const SCHEMA_VERSION: u32 = 1;

/// How a result is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// An output on which no text of others can command a terminal: names of nodes come from tags, comments and files. Control
/// characters other than the ends of lines and tabs are shown as JSON writes them, `\u001b`.
#[derive(Debug)]
pub(crate) struct Plain<W>(pub(crate) W);

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match (0..bytes.len()).find(|at| control(&bytes[*at..]).is_some()).unwrap_or(bytes.len()) {
            0 => {}
            clean => return self.0.write(&bytes[..clean]),
        }
        let Some((character, length)) = control(bytes) else { return Ok(0) };
        write!(self.0, "\\u{character:04x}")?;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The control character with which bytes of UTF-8 begin, and how long it is.
fn control(bytes: &[u8]) -> Option<(u8, usize)> {
    match bytes {
        [b'\n' | b'\t', ..] => None,
        [byte, ..] if byte.is_ascii_control() => Some((*byte, 1)),
        // U+0080 to U+009F.
        [0xc2, second @ 0x80..=0x9f, ..] => Some((*second, 2)),
        _ => None,
    }
}

#[derive(Serialize)]
struct Document<'a, T> {
    schema_version: u32,
    /// When the document was written, RFC 3339.
    time: String,
    #[serde(flatten)]
    body: &'a T,
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    error: &'a Failure,
}

/// Writes `body`, which is a struct or a map, as a JSON document.
pub(crate) fn json(body: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let document =
        Document { schema_version: SCHEMA_VERSION, time: format!("{:.3}", clock::timestamp()), body };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}

/// Writes `body`, which is a struct or a map, as a JSON document on one line: one of many in a record.
pub(crate) fn json_line(body: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let document =
        Document { schema_version: SCHEMA_VERSION, time: format!("{:.3}", clock::timestamp()), body };
    serde_json::to_writer(&mut *out, &document)?;
    writeln!(out)?;
    out.flush()
}

/// Writes a failure as a JSON document.
pub(crate) fn error(failure: &Failure, out: &mut dyn Write) -> io::Result<()> {
    json(&ErrorBody { error: failure }, out)
}

/// A duration as people say it, to two digits or the second.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{} ms", time.as_millis()),
        1..10 => format!("{:.1} s", time.as_secs_f64()),
        10..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}

/// A number of things: `1 node`, `2 nodes`.
pub(crate) fn count(number: usize, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// Milliseconds, as JSON has them.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    #[test]
    fn durations_get_coarser_as_they_grow() {
        let told = [12, 1_234, 12_345, 123_456, 86_400_000].map(|ms| duration(Duration::from_millis(ms)));
        assert_eq!(told, ["12 ms", "1.2 s", "12 s", "2 min", "24 h"]);
    }

    #[test]
    fn what_others_named_commands_no_terminal() {
        let told = |text: &str| {
            let mut out = Plain(Vec::new());
            out.write_all(text.as_bytes()).unwrap();
            String::from_utf8(out.0).unwrap()
        };
        assert_eq!(told("n1\x1b[31mX\u{9b}0m\x7f\r\n"), "n1\\u001b[31mX\\u009b0m\\u007f\\u000d\n");
        let plain = "näme\t→ ✓ \u{a0}\n";
        assert_eq!(told(plain), plain);
        let json = serde_json::to_string("\u{9b}\u{7f}\u{1b}").unwrap();
        let read: String = serde_json::from_str(&told(&json)).unwrap();
        assert_eq!(read, "\u{9b}\u{7f}\u{1b}");
    }

    #[test]
    fn every_document_says_its_version_and_its_time() {
        let mut out = Vec::new();
        error(&Failure::because(Exit::NoLab, "no"), &mut out).unwrap();
        let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(document["schema_version"], 1);
        document["time"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        assert_eq!(document["error"]["exit_code"], 21);
    }
}
