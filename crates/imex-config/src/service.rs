//! `config.cfg` as it is written: lines of `KEY=value`, comments and blanks, kept as they are.
//!
//! This is the raw type. It knows no key and judges no value; it keeps every byte, so that a key can be set in place
//! as a job's prolog does, and what comes out differs in that value only.

use std::fmt;
use std::ops::Range;

use thiserror::Error;

use crate::text::{self, TextError};

/// A configuration file, line by line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceFile {
    byte_order_mark: bool,
    lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    text: String,
    ending: String,
    content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    /// A comment or a blank line.
    Nothing,
    /// Where key and value stand in the text.
    Assignment { key: Range<usize>, value: Range<usize> },
    /// Something else.
    Malformed,
}

/// One `KEY=value` of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment<'a> {
    /// Its line, from 1.
    pub line: usize,
    /// The key.
    pub key: &'a str,
    /// The value without blanks around it; may be empty.
    pub value: &'a str,
}

/// Why a key was not set.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SetError {
    /// Keys are made of letters, digits and `_`.
    #[error("{key:?} is no key: only letters, digits and '_' are allowed")]
    BadKey {
        /// The key.
        key: String,
    },
    /// A value is one line of text.
    #[error("value of {key} holds the control character {found:?}")]
    ControlCharacter {
        /// The key.
        key: String,
        /// The character.
        found: char,
    },
}

impl ServiceFile {
    /// The largest file in bytes: a hundred times the commented example.
    pub const MAX_BYTES: usize = 1 << 20;

    /// Reads a file. Lines that are no assignment are kept, see [`ServiceFile::malformed`].
    pub fn parse(bytes: &[u8]) -> Result<Self, TextError> {
        let text = text::decode(bytes, Self::MAX_BYTES)?;
        let (byte_order_mark, text) = match text.strip_prefix(text::BYTE_ORDER_MARK) {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let lines = text::lines(text)
            .map(|line| Line {
                text: line.text.to_owned(),
                ending: line.ending.to_owned(),
                content: content(line.text),
            })
            .collect();
        Ok(ServiceFile { byte_order_mark, lines })
    }

    /// Every assignment, in order, the overruled ones included.
    pub fn assignments(&self) -> impl DoubleEndedIterator<Item = Assignment<'_>> {
        self.lines.iter().enumerate().filter_map(|(index, line)| match &line.content {
            Content::Assignment { key, value } => Some(Assignment {
                line: index + 1,
                key: &line.text[key.clone()],
                value: &line.text[value.clone()],
            }),
            Content::Nothing | Content::Malformed => None,
        })
    }

    /// The assignment of a key that counts: the last one.
    pub fn get(&self, key: &str) -> Option<Assignment<'_>> {
        self.assignments().rev().find(|assignment| assignment.key == key)
    }

    /// Lines that are neither an assignment nor a comment nor blank: their numbers, from 1, and texts.
    pub fn malformed(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.lines.iter().enumerate();
        lines
            .filter(|(_, line)| line.content == Content::Malformed)
            .map(|(index, line)| (index + 1, line.text.as_str()))
    }

    /// Whether lines end in the manner of Windows.
    pub fn has_carriage_returns(&self) -> bool {
        self.lines.iter().any(|line| line.ending == "\r\n")
    }

    /// Gives a key a value, in the place of the assignment that counts, or in a new last line.
    ///
    /// Everything else stays as it is: comments (`#KEY=` is one), order, blanks, line ends. Blanks around the value
    /// are dropped. The value is not judged; that is done by [`crate::keys::Key::judge`].
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), SetError> {
        if !is_key(key) {
            return Err(SetError::BadKey { key: key.to_owned() });
        }
        if let Some(found) = value.chars().find(|c| c.is_control()) {
            let key = key.to_owned();
            return Err(SetError::ControlCharacter { key, found });
        }
        let value = value.trim();
        match self.get(key).map(|assignment| assignment.line - 1) {
            Some(index) => self.lines[index].replace_value(value),
            None => self.append(key, value),
        }
        Ok(())
    }

    fn append(&mut self, key: &str, value: &str) {
        let ending = if self.has_carriage_returns() { "\r\n" } else { "\n" };
        if let Some(last) = self.lines.last_mut().filter(|last| last.ending.is_empty()) {
            ending.clone_into(&mut last.ending);
        }
        let text = format!("{key}={value}");
        self.lines.push(Line { content: content(&text), text, ending: ending.to_owned() });
    }
}

impl Line {
    fn replace_value(&mut self, value: &str) {
        if let Content::Assignment { value: place, .. } = &mut self.content {
            self.text.replace_range(place.clone(), value);
            place.end = place.start + value.len();
        }
    }
}

impl fmt::Display for ServiceFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.byte_order_mark {
            write!(f, "{}", text::BYTE_ORDER_MARK)?;
        }
        let mut lines = self.lines.iter();
        lines.try_for_each(|line| write!(f, "{}{}", line.text, line.ending))
    }
}

fn content(text: &str) -> Content {
    let trimmed = text.trim();
    if trimmed.is_empty() || trimmed.starts_with('#') {
        return Content::Nothing;
    }
    let Some((key, value)) = text.split_once('=') else {
        return Content::Malformed;
    };
    if !is_key(key.trim()) {
        return Content::Malformed;
    }
    let start = key.len() - key.trim_start().len();
    let value_start = key.len() + 1 + (value.len() - value.trim_start().len());
    Content::Assignment {
        key: start..start + key.trim().len(),
        value: value_start..value_start + value.trim().len(),
    }
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests;
