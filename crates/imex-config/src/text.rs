//! From bytes to lines: what both files have in common.

use thiserror::Error;

/// Why bytes are no text file of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TextError {
    /// There are too many of them.
    #[error("file has more than {max} bytes")]
    TooLarge {
        /// The most that are allowed.
        max: usize,
    },
    /// There is a zero byte.
    #[error("file is binary: there is a zero byte in line {line}")]
    Binary {
        /// The line, from 1.
        line: usize,
    },
    /// They are not UTF-8.
    #[error("line {line} is not UTF-8 text: byte {byte:#04x} in column {column}")]
    NotUtf8 {
        /// The line, from 1.
        line: usize,
        /// The place of the byte in its line, in bytes from 1.
        column: usize,
        /// The byte.
        byte: u8,
    },
}

impl TextError {
    /// The line it is about, from 1.
    pub fn line(&self) -> Option<usize> {
        match *self {
            TextError::TooLarge { .. } => None,
            TextError::Binary { line } | TextError::NotUtf8 { line, .. } => Some(line),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            TextError::TooLarge { .. } => "is it the right file?",
            TextError::Binary { .. } | TextError::NotUtf8 { .. } => {
                "is it the right file, and was it written to the end?"
            }
        }
    }
}

/// The byte order mark that some editors put in front of UTF-8.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

/// Checks bytes and gives the text.
pub(crate) fn decode(bytes: &[u8], max: usize) -> Result<&str, TextError> {
    if bytes.len() > max {
        return Err(TextError::TooLarge { max });
    }
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(TextError::Binary { line: place(bytes, at).0 });
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let (line, column) = place(bytes, at);
        TextError::NotUtf8 { line, column, byte: bytes[at] }
    })
}

/// Line and column, both from 1, of the byte at `at`.
fn place(bytes: &[u8], at: usize) -> (usize, usize) {
    let before = &bytes[..at];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    (line, at - start + 1)
}

/// A line without its end, and its end: nothing, `\n` or `\r\n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) text: &'a str,
    pub(crate) ending: &'a str,
}

/// The lines of a text, which joined are the text.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    text.split_inclusive('\n').map(|line| {
        let bare = line.strip_suffix('\n').unwrap_or(line);
        let bare = bare.strip_suffix('\r').filter(|_| bare.len() < line.len()).unwrap_or(bare);
        let (text, ending) = line.split_at(bare.len());
        Line { text, ending }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_names_line_and_column() {
        assert_eq!(decode(b"a\nb\0", 9), Err(TextError::Binary { line: 2 }));
        let fault = TextError::NotUtf8 { line: 2, column: 3, byte: 0xff };
        assert_eq!(decode(b"ok\nab\xffc", 9), Err(fault));
        assert_eq!(decode(b"0123456789", 9), Err(TextError::TooLarge { max: 9 }));
    }

    #[test]
    fn lines_keep_their_ends_apart() {
        let found: Vec<_> = lines("a\r\n\nb\r").map(|line| (line.text, line.ending)).collect();
        assert_eq!(found, [("a", "\r\n"), ("", "\n"), ("b\r", "")]);
    }
}
