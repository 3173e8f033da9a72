//! What a task tells the person who started it.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write};
use std::time::Duration;

/// Writes headings, lines and tables. Programs that a task starts write to the same place, so everything is flushed
/// before one starts.
pub(crate) struct Report {
    out: io::Stdout,
}

impl Report {
    pub(crate) fn new(out: io::Stdout) -> Self {
        Report { out }
    }

    /// Begins a step.
    pub(crate) fn heading(&mut self, title: impl Display) {
        self.write(format_args!("\n=== {title}\n"));
    }

    /// One line.
    pub(crate) fn line(&mut self, text: impl Display) {
        self.write(format_args!("{text}\n"));
    }

    /// What a program that was run for somebody wrote, each stream to its own.
    pub(crate) fn pass_on(&mut self, out: &str, err: &str) {
        self.write(format_args!("{out}"));
        // As for `write`.
        let _ = io::stderr().write_all(err.as_bytes());
    }

    /// A line that must not be overlooked: something was not checked.
    pub(crate) fn warning(&mut self, text: impl Display) {
        self.write(format_args!("!!! NOT CHECKED: {text}\n"));
    }

    /// An error with all that led to it.
    pub(crate) fn failure(&mut self, error: &dyn Error) {
        self.write(format_args!("failed: {error}\n"));
        let mut source = error.source();
        while let Some(cause) = source {
            self.write(format_args!("  because: {cause}\n"));
            source = cause.source();
        }
    }

    /// Rows under a title, the columns as wide as their widest cell; the first column is left-aligned, the others
    /// right-aligned.
    pub(crate) fn table(&mut self, head: &[&str], rows: &[Vec<String>]) {
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
            cells.chain(head.get(column).map(|cell| cell.chars().count())).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..head.len()).map(width).collect();
        let head: Vec<String> = head.iter().map(|&cell| cell.to_owned()).collect();
        for row in std::iter::once(&head).chain(rows) {
            let mut line = String::new();
            for (column, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                line += &if column == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") };
            }
            self.line(line.trim_end());
        }
    }

    /// A reader that has gone away is no failure of the task, so the outcome of writing is dropped.
    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = self.out.write_fmt(text);
        let _ = self.out.flush();
    }
}

/// `0.4 s`, `93.0 s`: one unit, so that a column can be compared.
pub(crate) fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}
