//! What texts are written to.

use std::io::{self, Write};

use imex_core::Moment;

use super::file::RotatingFile;
use super::journal::Journal;

/// What texts are written to. Writing may take as long as it likes, and never fails for the caller.
#[derive(Debug)]
pub(super) enum Sink {
    /// A file of ours.
    File(RotatingFile),
    /// The journal; each text is an entry of its protocol.
    Journal(Journal),
    /// Standard error.
    Stderr,
}

impl Sink {
    /// Writes one text.
    pub(super) fn write(&mut self, text: &[u8], now: Moment) {
        match self {
            Sink::File(file) => file.write(text, now),
            Sink::Journal(journal) => journal.write(text),
            // A closed standard error leaves nowhere to report to.
            Sink::Stderr => _ = io::stderr().write_all(text),
        }
    }

    /// Notes that so many texts were lost on their way here, now or as soon as writing works.
    pub(super) fn miss(&mut self, count: u64, now: Moment) {
        match self {
            Sink::File(file) => file.miss(count, now),
            Sink::Journal(journal) => journal.miss(count),
            Sink::Stderr => _ = io::stderr().write_all(lost_line(count).as_bytes()),
        }
    }
}

/// What is written in place of texts that were lost.
pub(super) fn lost_note(count: u64) -> String {
    format!("({count} records could not be written here)")
}

/// The same as a line.
pub(super) fn lost_line(count: u64) -> String {
    lost_note(count) + "\n"
}
