//! Lists of host names as Slurm writes them: `n[1-3,7]x[01-04],login`.
//!
//! [`HostList::parse`] reads such a list without expanding it; [`HostList::iter`] gives the names in the order in which
//! Slurm counts them. [`compress()`] is the way back: names in natural order, each once, in few
//! terms, with zero padding kept.
//!
//! The rules are those that `scontrol show hostnames` of Slurm 26.05 shows: an open range `[3-]` is its first number,
//! a `]` that nothing opened is part of the name and so is a `[` before another one, blanks before a number count for
//! its width, a range has at most [`MAX_RANGE`] numbers.

mod compress;

use std::fmt;

pub use compress::compress;

/// The most names that one list, or all lists of one [`Allowance`], may stand for. More than twice the largest cluster
/// that the tools are measured with; a mistyped range (`n[0-999999999]`) must not fill the memory.
pub const MAX_HOSTS: usize = 1 << 18;

/// The most numbers that Slurm accepts between the two ends of one range.
pub const MAX_RANGE: u64 = 1 << 16;

/// The most digits of a number in a range, so that it fits a machine word.
const MAX_DIGITS: usize = 18;

/// A list of host names, as written: terms with ranges.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct HostList {
    terms: Vec<Term>,
    hosts: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    parts: Vec<Part>,
    hosts: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Ranges(Vec<Range>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    low: u64,
    high: u64,
    /// Numbers are written with at least so many digits.
    width: usize,
}

/// Why a text is no list of hosts, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostListError {
    /// The place in the text: bytes from its start.
    pub position: usize,
    /// What is wrong there.
    pub what: HostListFault,
}

/// What can be wrong with a list of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostListFault {
    /// `[` without `]`.
    #[error("`[` is never closed")]
    Unclosed,
    /// Something else than a number where a range needs one.
    #[error("a number is missing")]
    NoNumber,
    /// More than 18 digits.
    #[error("a number has more than 18 digits")]
    TooLong,
    /// The range ends before it begins.
    #[error("a range ends before it begins")]
    Backwards,
    /// A range of more than [`MAX_RANGE`] numbers.
    #[error("a range has more than {MAX_RANGE} numbers")]
    TooWide,
    /// The list, or all of its [`Allowance`], stands for more than [`MAX_HOSTS`] names.
    #[error("more than {MAX_HOSTS} names in all")]
    TooMany,
}

/// What the lists of one file may still stand for, all together: [`MAX_HOSTS`] names at first. A few kilobytes of lists that
/// are all right for themselves must not fill the memory either.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowance {
    left: usize,
}

impl Default for Allowance {
    fn default() -> Self {
        Allowance { left: MAX_HOSTS }
    }
}

impl Allowance {
    /// Reads a list, if what it stands for is allowed.
    ///
    /// # Errors
    ///
    /// As [`HostList::parse`], and [`HostListFault::TooMany`] at the end of a list for which too little is left.
    pub fn parse(&mut self, text: &str) -> Result<HostList, HostListError> {
        let list = HostList::parse(text)?;
        let left = self.left.checked_sub(list.len());
        let too_many = HostListError { position: text.len(), what: HostListFault::TooMany };
        self.left = left.ok_or(too_many)?;
        Ok(list)
    }
}

impl fmt::Display for HostListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at character {}", self.what, self.position + 1)
    }
}

impl std::error::Error for HostListError {}

impl HostList {
    /// Reads a list: terms divided by commas or blanks, each a name with any number of bracketed ranges.
    ///
    /// # Errors
    ///
    /// The first fault, with its place.
    pub fn parse(text: &str) -> Result<Self, HostListError> {
        let mut list = HostList::default();
        let mut reader = Reader { text, position: 0 };
        while let Some(term) = reader.term()? {
            list.hosts += term.hosts;
            if list.hosts > MAX_HOSTS {
                return Err(reader.fault(HostListFault::TooMany));
            }
            list.terms.push(term);
        }
        Ok(list)
    }

    /// How many names it stands for, repeated ones counted again.
    pub fn len(&self) -> usize {
        self.hosts
    }

    /// If it stands for no name.
    pub fn is_empty(&self) -> bool {
        self.hosts == 0
    }

    /// The names, in order, repeated ones again.
    pub fn iter(&self) -> impl Iterator<Item = String> + '_ {
        self.terms.iter().flat_map(|term| (0..term.hosts).map(|index| term.name(index)))
    }
}

impl Term {
    /// The name with this number. The last bracket counts fastest, then the first, the second and so on: so does
    /// Slurm.
    fn name(&self, index: usize) -> String {
        let brackets = self.parts.iter().filter_map(|part| match part {
            Part::Ranges(ranges) => Some(ranges.as_slice()),
            Part::Text(_) => None,
        });
        let last = brackets.clone().next_back().map_or(1, count);
        let (mut before, within_last) = (index / last, index % last);
        let mut left = brackets.count();
        let mut name = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => name.push_str(text),
                Part::Ranges(ranges) => {
                    left -= 1;
                    let count = count(ranges);
                    let place = if left == 0 { within_last } else { before % count };
                    before /= count;
                    let (number, width) = pick(ranges, place);
                    name.push_str(&format!("{number:0width$}"));
                }
            }
        }
        name
    }
}

fn count(ranges: &[Range]) -> usize {
    let count = ranges
        .iter()
        .fold(0_u64, |sum, range| sum.saturating_add((range.high - range.low).saturating_add(1)));
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn pick(ranges: &[Range], index: usize) -> (u64, usize) {
    let mut left = u64::try_from(index).unwrap_or(u64::MAX);
    for range in ranges {
        let length = range.high - range.low + 1;
        if left < length {
            return (range.low + left, range.width);
        }
        left -= length;
    }
    unreachable!("the index is below the count of the ranges")
}

struct Reader<'t> {
    text: &'t str,
    position: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t [u8] {
        &self.text.as_bytes()[self.position..]
    }

    fn fault(&self, what: HostListFault) -> HostListError {
        HostListError { position: self.position, what }
    }

    fn skip(&mut self, wanted: impl Fn(u8) -> bool) -> &'t str {
        let start = self.position;
        self.position += self.rest().iter().take_while(|byte| wanted(**byte)).count();
        &self.text[start..self.position]
    }

    fn term(&mut self) -> Result<Option<Term>, HostListError> {
        self.skip(is_separator);
        let mut parts = Vec::new();
        let mut hosts = 1_usize;
        loop {
            // Only ASCII bytes end a text, so that it ends between characters.
            let text = self.skip(|byte| !is_separator(byte) && byte != b'[');
            if !text.is_empty() {
                parts.push(Part::Text(text.to_owned()));
            }
            match self.rest().first() {
                Some(b'[') if self.opens_another() => {
                    self.position += 1;
                    parts.push(Part::Text("[".to_owned()));
                }
                Some(b'[') => {
                    let start = self.position;
                    let ranges = self.ranges()?;
                    hosts = hosts.saturating_mul(count(&ranges));
                    if hosts > MAX_HOSTS {
                        return Err(HostListError { position: start, what: HostListFault::TooMany });
                    }
                    parts.push(Part::Ranges(ranges));
                }
                Some(_) | None => break,
            }
        }
        Ok(if parts.is_empty() { None } else { Some(Term { parts, hosts }) })
    }

    /// If the next bracket behind this `[` opens again.
    fn opens_another(&self) -> bool {
        self.rest()[1..].iter().find(|byte| matches!(byte, b'[' | b']')) == Some(&b'[')
    }

    /// From `[` to past `]`.
    fn ranges(&mut self) -> Result<Vec<Range>, HostListError> {
        let open = self.position;
        self.position += 1;
        let mut ranges = Vec::new();
        loop {
            ranges.push(self.range(open)?);
            match self.rest().first() {
                Some(b',') => self.position += 1,
                Some(b']') => {
                    self.position += 1;
                    return Ok(ranges);
                }
                Some(_) => return Err(self.fault(HostListFault::NoNumber)),
                None => return Err(HostListError { position: open, what: HostListFault::Unclosed }),
            }
        }
    }

    fn range(&mut self, open: usize) -> Result<Range, HostListError> {
        let start = self.position;
        let (low, mut width) = self.number(open)?;
        // What stands between the first number and the dash counts for its width only.
        let tail = self.rest().iter().take_while(|byte| !matches!(byte, b'-' | b',' | b']')).count();
        if self.rest().get(tail) == Some(&b'-') {
            self.position += tail;
            width += tail;
        }
        if self.rest().first() != Some(&b'-') {
            return Ok(Range { low, high: low, width });
        }
        self.position += 1;
        if matches!(self.rest().first(), Some(b',' | b']')) {
            return Ok(Range { low, high: low, width });
        }
        let (high, _) = self.number(open)?;
        let fault = |what| HostListError { position: start, what };
        if high < low {
            return Err(fault(HostListFault::Backwards));
        }
        if high - low >= MAX_RANGE {
            return Err(fault(HostListFault::TooWide));
        }
        Ok(Range { low, high, width })
    }

    fn number(&mut self, open: usize) -> Result<(u64, usize), HostListError> {
        let start = self.position;
        self.skip(|byte| byte == b' ');
        if self.rest().first() == Some(&b'+') {
            self.position += 1;
        }
        let digits = self.skip(|byte| byte.is_ascii_digit());
        let fault = |what| HostListError { position: start, what };
        match digits.len() {
            0 if self.rest().is_empty() => {
                Err(HostListError { position: open, what: HostListFault::Unclosed })
            }
            0 => Err(fault(HostListFault::NoNumber)),
            1..=MAX_DIGITS => {
                let number = digits.parse().map_err(|_| fault(HostListFault::TooLong))?;
                Ok((number, self.position - start))
            }
            _ => Err(fault(HostListFault::TooLong)),
        }
    }
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b',' | b' ' | b'\t' | b'\n' | b'\r')
}

/// If a list can hold `name` as a name of its own: it is not empty and has none of the characters that mean something
/// in a list.
pub fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| !is_separator(byte) && !matches!(byte, b'[' | b']') && !byte.is_ascii_control())
}

#[cfg(test)]
mod tests;
