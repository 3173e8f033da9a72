//! The journal's native protocol: one datagram per record, with fields
//! (systemd's documents: `JOURNAL_NATIVE_PROTOCOL`, `systemd.journal-fields(7)`).

use std::fmt::{self, Write};
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};

use tracing::field::{Field, Visit};
use tracing::{Event, Metadata};

use super::line::{Grade, MESSAGE};
use super::sink::lost_note;

/// Where the journal listens.
pub(super) const SOCKET: &str = "/run/systemd/journal/socket";

/// How our own fields begin, so that none is taken for one of the journal's.
const PREFIX: &str = "IMEX_";

/// The most bytes of one value; more is cut. The largest that we write, a block of statistics, has a few thousand, and
/// some values come from outside. A datagram of Linux takes about 200 KiB.
const MAX_VALUE: usize = 16 * 1024;

/// The journal. Writing waits until it takes the record.
#[derive(Debug)]
pub(super) struct Journal {
    socket: UnixDatagram,
    path: PathBuf,
    lost: u64,
}

impl Journal {
    /// Fails if nobody listens at `path`.
    pub(super) fn reach(path: &Path) -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        // Only tried, not kept: a journal that is restarted listens at the same path with another socket.
        UnixDatagram::unbound()?.connect(path)?;
        Ok(Journal { socket, path: path.to_owned(), lost: 0 })
    }

    /// Writes an entry. One that cannot be written is counted; the count goes before the next one that can.
    pub(super) fn write(&mut self, entry: &[u8]) {
        if self.tell_lost().and_then(|()| self.send(entry)).is_err() {
            self.lost += 1;
        }
    }

    /// Notes that so many entries were lost.
    pub(super) fn miss(&mut self, count: u64) {
        self.lost += count;
        // What is still not told stays counted.
        let _ = self.tell_lost();
    }

    fn tell_lost(&mut self) -> io::Result<()> {
        if self.lost > 0 {
            let mut entry = Entry::begin(Grade::Warning);
            entry.add(format_args!("MESSAGE"), &lost_note(self.lost));
            self.send(&entry.0)?;
            self.lost = 0;
        }
        Ok(())
    }

    fn send(&self, entry: &[u8]) -> io::Result<()> {
        loop {
            match self.socket.send_to(entry, &self.path) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                sent => return sent.map(drop),
            }
        }
    }
}

/// The entry of a record.
pub(super) fn entry(grade: Grade, event: &Event<'_>) -> Vec<u8> {
    let mut entry = Entry::begin(grade);
    entry.add_origin(event.metadata());
    event.record(&mut entry);
    entry.0
}

/// An entry in the making.
struct Entry(Vec<u8>);

impl Entry {
    fn begin(grade: Grade) -> Self {
        let mut entry = Entry(Vec::with_capacity(320));
        entry.add(format_args!("PRIORITY"), &priority(grade).to_string());
        entry.add(format_args!("SYSLOG_IDENTIFIER"), "imexd");
        entry
    }

    fn add_origin(&mut self, metadata: &Metadata<'_>) {
        self.add(format_args!("TID"), &nix::unistd::gettid().to_string());
        self.add(format_args!("TARGET"), metadata.target());
        self.add(format_args!("CODE_FILE"), metadata.file().unwrap_or_default());
        self.add(format_args!("CODE_LINE"), &metadata.line().unwrap_or_default().to_string());
    }

    /// A value with a line end has its length before it, any other a line of its own.
    fn add(&mut self, name: fmt::Arguments<'_>, value: &str) {
        let value = cut(value);
        let Entry(bytes) = self;
        bytes.extend(name.to_string().bytes().map(|byte| byte.to_ascii_uppercase()));
        if value.contains('\n') {
            bytes.push(b'\n');
            bytes.extend((value.len() as u64).to_le_bytes());
        } else {
            bytes.push(b'=');
        }
        bytes.extend(value.as_bytes());
        bytes.push(b'\n');
    }
}

impl Visit for Entry {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut text = String::new();
        // Writing to a string does not fail; a value whose own rendering fails is left as it is.
        let _ = write!(text, "{value:?}");
        self.record_str(field, &text);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            MESSAGE => self.add(format_args!("MESSAGE"), value),
            name => self.add(format_args!("{PREFIX}{name}"), value),
        }
    }
}

/// The levels of `syslog(3)`.
fn priority(grade: Grade) -> u8 {
    match grade {
        Grade::Off | Grade::Critical => 2,
        Grade::Error => 3,
        Grade::Warning => 4,
        Grade::Info => 6,
        Grade::Debug => 7,
    }
}

fn cut(value: &str) -> &str {
    let whole = (0..=MAX_VALUE.min(value.len())).rev().find(|end| value.is_char_boundary(*end));
    &value[..whole.unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_with_a_line_end_carries_its_length() {
        let mut entry = Entry(Vec::new());
        entry.add(format_args!("{PREFIX}peer"), "3");
        entry.add(format_args!("MESSAGE"), "a\nb");
        assert_eq!(entry.0, b"IMEX_PEER=3\nMESSAGE\n\x03\0\0\0\0\0\0\0a\nb\n");
    }

    #[test]
    fn a_value_of_any_length_fits_a_datagram() {
        let long = "ä".repeat(MAX_VALUE);
        let mut entry = Entry(Vec::new());
        entry.add(format_args!("MESSAGE"), &long);
        assert_eq!(entry.0.len(), "MESSAGE=\n".len() + MAX_VALUE);
    }

    #[test]
    fn a_journal_that_was_away_is_told_how_many_records_it_missed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        assert!(Journal::reach(&path).is_err());
        let first = UnixDatagram::bind(&path).unwrap();
        let mut journal = Journal::reach(&path).unwrap();
        drop(first);
        journal.write(b"MESSAGE=lost\n");
        std::fs::remove_file(&path).unwrap();
        journal.write(b"MESSAGE=lost too\n");
        let second = UnixDatagram::bind(&path).unwrap();
        journal.write(b"MESSAGE=back\n");
        let heard = [0, 1].map(|_| {
            let mut buffer = [0; 500];
            let size = second.recv(&mut buffer).unwrap();
            String::from_utf8_lossy(&buffer[..size]).into_owned()
        });
        assert!(heard[0].contains("PRIORITY=4\n"), "{}", heard[0]);
        assert!(heard[0].contains("MESSAGE=(2 records could not be written here)\n"), "{}", heard[0]);
        assert_eq!(heard[1], "MESSAGE=back\n");
    }
}
