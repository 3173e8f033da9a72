//! What is wrong with the files, all of it, for people.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// How bad a problem is, of our files and of Slurm's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; nothing need change.
    Note,
    /// The service starts, or Slurm does, but perhaps not as meant. A strict check fails on it.
    Warning,
    /// The service does not start, or Slurm does not, or jobs do not get what they need.
    Error,
}

impl Severity {
    /// The word that stands in front of the text.
    pub const fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// One thing that is wrong with a file, or with the machine for what a file asks.
///
/// Shown as `file:line: error: what`, with the hint on a line of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// How bad it is.
    pub severity: Severity,
    /// The file that has to change.
    pub file: PathBuf,
    /// The line, from 1; `None` if it is about the file as a whole.
    pub line: Option<usize>,
    /// The key it is about, if it is about one.
    pub key: Option<String>,
    /// What is wrong: a lower-case fragment without a full stop.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem about a file as a whole.
    pub fn new(severity: Severity, file: &Path, what: impl Into<String>) -> Self {
        Problem { severity, file: file.to_owned(), line: None, key: None, what: what.into(), hint: None }
    }

    /// The same, about a line (from 1).
    #[must_use]
    pub fn at(self, line: impl Into<Option<usize>>) -> Self {
        Problem { line: line.into(), ..self }
    }

    /// The same, about a key.
    #[must_use]
    pub fn about(self, key: &str) -> Self {
        Problem { key: Some(key.to_owned()), ..self }
    }

    /// The same, with what to do.
    #[must_use]
    pub fn hint(self, hint: impl Into<Option<String>>) -> Self {
        Problem { hint: hint.into(), ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}: {}", self.severity, self.what)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}

/// Which problems count as failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Strictness {
    /// Errors only: how a daemon starts.
    #[default]
    Lenient,
    /// Warnings too: `imexd --check`.
    Strict,
}

/// All problems of one run, sorted by file and line, at most [`Problems::MAX_PER_FILE`] of each file.
///
/// What is beyond the bound is counted, so the verdict never depends on it. Its text ends without a newline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    files: Vec<FileProblems>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct FileProblems {
    file: PathBuf,
    kept: Vec<Problem>,
    left_out: usize,
    worst: Severity,
}

impl Problems {
    /// How many problems of one file are kept: more than a person reads, few enough for a terminal.
    pub const MAX_PER_FILE: usize = 50;

    /// Adds one.
    pub fn push(&mut self, problem: Problem) {
        let place = match self.files.iter().position(|of| of.file == problem.file) {
            Some(place) => place,
            None => {
                self.files.push(FileProblems::new(&problem));
                self.files.len() - 1
            }
        };
        self.files[place].push(problem);
    }

    /// Whether one more problem of a file would be kept.
    pub(crate) fn has_room(&self, file: &Path) -> bool {
        let of = self.files.iter().find(|of| of.file == file);
        of.is_none_or(|of| of.kept.len() < Self::MAX_PER_FILE)
    }

    /// Counts problems of a file that its parser found but did not keep.
    pub(crate) fn leave_out(&mut self, file: &Path, count: usize) {
        if let Some(of) = self.files.iter_mut().find(|of| of.file == file) {
            of.left_out += count;
        }
    }

    /// All that are kept, sorted by file (in the order in which they were read) and line.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.files.iter().flat_map(|of| &of.kept)
    }

    /// How many there are beyond those that are kept.
    pub fn left_out(&self) -> usize {
        self.files.iter().map(|of| of.left_out).sum()
    }

    /// Whether there is none, not even a note.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The worst, those that are not kept included.
    pub fn worst(&self) -> Option<Severity> {
        self.files.iter().map(|of| of.worst).max()
    }

    /// Whether they add up to failure.
    pub fn fail(&self, strictness: Strictness) -> bool {
        let bar = match strictness {
            Strictness::Lenient => Severity::Error,
            Strictness::Strict => Severity::Warning,
        };
        self.worst().is_some_and(|worst| worst >= bar)
    }
}

impl FileProblems {
    fn new(first: &Problem) -> Self {
        FileProblems { file: first.file.clone(), kept: Vec::new(), left_out: 0, worst: first.severity }
    }

    fn push(&mut self, problem: Problem) {
        self.worst = self.worst.max(problem.severity);
        if self.kept.len() == Problems::MAX_PER_FILE {
            self.left_out += 1;
            return;
        }
        // Problems of one line stay in the order in which they were found.
        let place = self.kept.partition_point(|kept| kept.line <= problem.line);
        self.kept.insert(place, problem);
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut newline = "";
        for of in &self.files {
            for problem in &of.kept {
                write!(f, "{newline}{problem}")?;
                newline = "\n";
            }
            if of.left_out > 0 {
                let plural = if of.left_out == 1 { "" } else { "s" };
                let file = of.file.display();
                write!(f, "{newline}{file}: note: {} more problem{plural} not shown", of.left_out)?;
                newline = "\n";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(severity: Severity, line: usize) -> Problem {
        Problem::new(severity, Path::new("a.cfg"), "it is so").at(line)
    }

    #[test]
    fn the_hint_has_a_line_of_its_own() {
        let problem = problem(Severity::Error, 3).hint("change it".to_owned());
        assert_eq!(problem.to_string(), "a.cfg:3: error: it is so\n  hint: change it");
    }

    #[test]
    fn problems_are_shown_by_line_whatever_the_order_of_finding() {
        let mut problems = Problems::default();
        problems.push(problem(Severity::Note, 2));
        problems.push(problem(Severity::Note, 1));
        problems.push(Problem::new(Severity::Note, Path::new("a.cfg"), "the whole"));
        let lines: Vec<_> = problems.iter().map(|problem| problem.line).collect();
        assert_eq!(lines, [None, Some(1), Some(2)]);
    }

    #[test]
    fn an_error_that_is_not_kept_still_fails() {
        let mut problems = Problems::default();
        for line in 1..=Problems::MAX_PER_FILE {
            problems.push(problem(Severity::Warning, line));
        }
        assert!(!problems.fail(Strictness::Lenient));
        assert!(problems.fail(Strictness::Strict));
        problems.push(problem(Severity::Error, 99));
        assert!(problems.fail(Strictness::Lenient));
        assert_eq!((problems.iter().count(), problems.left_out()), (Problems::MAX_PER_FILE, 1));
    }

    #[test]
    fn a_note_never_fails() {
        let mut problems = Problems::default();
        problems.push(problem(Severity::Note, 1));
        assert!(!problems.fail(Strictness::Strict));
    }
}
