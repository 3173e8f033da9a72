//! What happened in a run, line by line.

use std::collections::VecDeque;
use std::fmt;

use imex_core::Moment;

use crate::Address;

/// How much of a run is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Nothing; nothing is formatted either.
    Nothing,
    /// The last so many lines.
    Last(usize),
    /// Everything.
    All,
}

/// One line of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When.
    pub at: Moment,
    /// At which host; `None` for what happened to the network.
    pub host: Option<Address>,
    /// What.
    pub text: String,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.since_origin();
        write!(f, "{:>4}.{:09} ", at.as_secs(), at.subsec_nanos())?;
        match self.host {
            Some(host) => write!(f, "[{host:>2}] {}", self.text),
            None => write!(f, "     {}", self.text),
        }
    }
}

/// The recorded part of a run.
#[derive(Debug)]
pub struct Log {
    keep: Keep,
    lines: VecDeque<Line>,
}

impl Log {
    /// An empty log.
    pub fn new(keep: Keep) -> Self {
        Log { keep, lines: VecDeque::new() }
    }

    /// The lines that were kept, oldest first.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &Line> {
        self.lines.iter()
    }

    /// Takes out the lines that were kept.
    pub fn take(&mut self) -> VecDeque<Line> {
        std::mem::take(&mut self.lines)
    }

    pub(crate) fn write(&mut self, at: Moment, host: Option<Address>, text: impl fmt::Display) {
        let limit = match self.keep {
            Keep::Nothing => return,
            Keep::Last(limit) => limit,
            Keep::All => usize::MAX,
        };
        while self.lines.len() >= limit.max(1) {
            self.lines.pop_front();
        }
        let text = text.to_string();
        self.lines.push_back(Line { at, host, text });
    }
}
