//! One record as one line: `[Sep 18 2026 06:40:33] [INFO] [tid 4711] text key=value`.

use std::fmt::{self, Write};

use imex_config::settings::LogLevel;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata};

use super::CRITICAL;
use crate::clock::WallTime;

/// How grave a record is, gravest first, in the original's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grade {
    /// Not the grade of any record: shows nothing.
    Off,
    /// See the table in [`crate::logging`].
    Critical,
    /// See there.
    Error,
    /// See there.
    Warning,
    /// See there.
    Info,
    /// See there.
    Debug,
}

impl Grade {
    /// The least grave records that a `LOG_LEVEL` shows.
    pub(super) fn shown_by(level: LogLevel) -> Self {
        match level {
            LogLevel::Off => Grade::Off,
            LogLevel::Critical => Grade::Critical,
            LogLevel::Error => Grade::Error,
            LogLevel::Warning => Grade::Warning,
            LogLevel::Info => Grade::Info,
        }
    }

    /// The grade of a record.
    pub(super) fn of(metadata: &Metadata<'_>) -> Self {
        match *metadata.level() {
            Level::ERROR if metadata.target() == CRITICAL => Grade::Critical,
            Level::ERROR => Grade::Error,
            Level::WARN => Grade::Warning,
            Level::INFO => Grade::Info,
            Level::DEBUG | Level::TRACE => Grade::Debug,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Grade::Off => "OFF",
            Grade::Critical => "CRITICAL",
            Grade::Error => "ERROR",
            Grade::Warning => "WARNING",
            Grade::Info => "INFO",
            Grade::Debug => "DEBUG",
        }
    }
}

/// The line of a record, its end included.
pub(super) fn render(grade: Grade, event: &Event<'_>) -> String {
    let mut line = Line(String::with_capacity(160));
    let (time, tid) = (WallTime::now().stamp(), nix::unistd::gettid());
    line.raw(format_args!("[{time}] [{}] [tid {tid}] ", grade.word()));
    event.record(&mut MessageOf(&mut line));
    event.record(&mut FieldsOf(&mut line));
    line.0.push('\n');
    line.0
}

/// A line in the making. Control characters are escaped, so that no value from outside can forge a line.
struct Line(String);

impl Line {
    fn raw(&mut self, text: fmt::Arguments<'_>) {
        // Writing to a string does not fail; a value whose own rendering fails is left as it is.
        let _ = self.0.write_fmt(text);
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            if c.is_control() {
                self.0.extend(c.escape_default());
            } else {
                self.0.push(c);
            }
        }
        Ok(())
    }
}

/// The name that tracing gives a record's text.
pub(super) const MESSAGE: &str = "message";

struct MessageOf<'a>(&'a mut Line);

impl Visit for MessageOf<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == MESSAGE {
            let _ = write!(self.0, "{value:?}");
        }
    }
}

struct FieldsOf<'a>(&'a mut Line);

impl Visit for FieldsOf<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() != MESSAGE {
            let _ = write!(self.0, " {}={value:?}", field.name());
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() != MESSAGE {
            let _ = write!(self.0, " {}={value}", field.name());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_shows_what_is_as_grave_or_graver() {
        let shown = |level| {
            let all = [Grade::Critical, Grade::Error, Grade::Warning, Grade::Info, Grade::Debug];
            all.into_iter().filter(|grade| *grade <= Grade::shown_by(level)).count()
        };
        let levels = [LogLevel::Off, LogLevel::Critical, LogLevel::Error, LogLevel::Warning, LogLevel::Info];
        assert_eq!(levels.map(shown), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_value_with_a_line_end_stays_on_its_line() {
        let mut line = Line(String::new());
        line.write_str("a\nb\u{1b}[31m").unwrap();
        assert_eq!(line.0, "a\\nb\\u{1b}[31m");
    }
}
