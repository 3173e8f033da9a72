//! The verbose buffer: records above `LOG_LEVEL`, kept in memory until somebody wants them.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::lock;

/// The most bytes of text kept: some 2,000 records, the last minutes of a daemon in trouble, and little beside the
/// 10 MiB that a daemon may take. At the brim the oldest records go.
const MAX_BYTES: usize = 256 * 1024;

/// Records above `LOG_LEVEL`, the newest [`MAX_BYTES`] of them.
#[derive(Debug, Default)]
pub(super) struct VerboseBuffer {
    lines: VecDeque<String>,
    bytes: usize,
    dropped: u64,
}

impl VerboseBuffer {
    /// Adds a line with its end; drops the oldest ones if need be.
    pub(super) fn push(&mut self, line: String) {
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.bytes > MAX_BYTES {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.bytes -= oldest.len();
            self.dropped += 1;
        }
    }

    /// How many lines there are.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Puts older lines before those that have come since; the oldest go if there is no room.
    fn restore(&mut self, mut older: VerboseBuffer) {
        older.dropped += self.dropped;
        std::mem::take(&mut self.lines).into_iter().for_each(|line| older.push(line));
        *self = older;
    }

    /// Appends all lines to a file and forgets them; keeps them if that fails.
    pub(super) fn flush_to(&mut self, path: &Path) -> io::Result<usize> {
        if self.lines.is_empty() {
            return Ok(0);
        }
        let mut file = BufWriter::new(File::options().create(true).append(true).open(path)?);
        if self.dropped > 0 {
            writeln!(file, "({} older records did not fit the verbose buffer)", self.dropped)?;
        }
        self.lines.iter().try_for_each(|line| file.write_all(line.as_bytes()))?;
        file.flush()?;
        let count = self.lines.len();
        *self = VerboseBuffer::default();
        Ok(count)
    }
}

/// A verbose buffer's content on its way to a file.
#[derive(Debug)]
pub(super) struct Flush {
    taken: VerboseBuffer,
    home: Arc<Mutex<VerboseBuffer>>,
    path: PathBuf,
}

impl Flush {
    /// Takes all lines out of a buffer.
    pub(super) fn take(home: &Arc<Mutex<VerboseBuffer>>, path: &Path) -> Self {
        let taken = std::mem::take(&mut *lock(home));
        Flush { taken, home: Arc::clone(home), path: path.to_owned() }
    }

    /// How many lines were taken.
    pub(super) fn len(&self) -> usize {
        self.taken.len()
    }

    /// Writes them. A failure is a record of its own and loses nothing: the lines go back.
    pub(super) fn perform(mut self) {
        if let Err(error) = self.taken.flush_to(&self.path) {
            tracing::warn!(%error, file = %self.path.display(), "The verbose buffer could not be written to its file");
            self.give_up();
        }
    }

    /// Puts the lines back.
    pub(super) fn give_up(self) {
        lock(&self.home).restore(self.taken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_records_go_first_and_are_counted() {
        let mut buffer = VerboseBuffer::default();
        let line = "x".repeat(1023) + "\n";
        (0..300).for_each(|_| buffer.push(line.clone()));
        assert_eq!(buffer.bytes, MAX_BYTES);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("verbose.log");
        assert_eq!(buffer.flush_to(&path).unwrap(), 256);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("(44 older records did not fit"), "{}", &text[..80]);
    }

    #[test]
    fn a_flush_appends_and_empties_the_buffer() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("verbose.log");
        let mut buffer = VerboseBuffer::default();
        buffer.push("one\n".to_owned());
        assert_eq!(buffer.flush_to(&path).unwrap(), 1);
        buffer.push("two\n".to_owned());
        assert_eq!(buffer.flush_to(&path).unwrap(), 1);
        assert_eq!(buffer.flush_to(&path).unwrap(), 0);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
    }

    #[test]
    fn a_failed_flush_loses_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut buffer = VerboseBuffer::default();
        buffer.push("one\n".to_owned());
        assert!(buffer.flush_to(dir.path()).is_err());
        assert_eq!(buffer.flush_to(&dir.path().join("verbose.log")).unwrap(), 1);
    }
}
