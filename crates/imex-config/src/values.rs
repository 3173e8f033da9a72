//! The values of a configuration file, by key: what is written, or the default.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Problems;
use crate::keys::{self, Group, Key, value};
use crate::nodes::carriage_returns;
use crate::problem::{Problem, Severity};
use crate::service::{Assignment, ServiceFile};

/// Reads a file by key and collects what is wrong with it.
///
/// Every value has been judged when this exists. A bad one is reported then and read as the default from then on, so
/// that reading cannot fail and one bad value hides no other problem.
#[derive(Debug)]
pub(crate) struct Values<'a> {
    path: &'a Path,
    /// Of each key the assignment that counts.
    counting: BTreeMap<&'a str, Assignment<'a>>,
    pub(crate) problems: Problems,
}

impl<'a> Values<'a> {
    /// Judges a whole file: its lines, its keys, and each value by itself.
    pub(crate) fn judge(file: &'a ServiceFile, path: &'a Path) -> Self {
        let mut values = Values {
            path,
            counting: file.assignments().map(|assignment| (assignment.key, assignment)).collect(),
            problems: Problems::default(),
        };
        if file.has_carriage_returns() {
            values.problems.push(carriage_returns(path));
        }
        for (line, text) in file.malformed() {
            let what = format!("{:?} is neither KEY=value nor a comment", shorten(text.trim()));
            let hint = "a comment begins with #".to_owned();
            values.problems.push(Problem::new(Severity::Error, path, what).at(line).hint(hint));
        }
        for assignment in file.assignments() {
            if let Some(problem) = values.judge_assignment(assignment) {
                values.problems.push(problem.at(assignment.line).about(assignment.key));
            }
        }
        values
    }

    fn judge_assignment(&self, assignment: Assignment<'_>) -> Option<Problem> {
        let problem = |severity, what: String| Problem::new(severity, self.path, what);
        let Some(key) = keys::find(assignment.key) else {
            let what = format!("unknown key {}", shorten(assignment.key));
            // A file full of unknown keys is another kind of file: comparing each would take long and be shown to nobody.
            let shown = self.problems.has_room(self.path);
            let meant = shown.then(|| keys::nearest(assignment.key)).flatten();
            let hint = meant.map(|key| format!("did you mean {}?", key.name));
            return Some(problem(Severity::Warning, what).hint(hint));
        };
        if let Some(counts) = self.counting.get(key.name).filter(|counts| counts.line != assignment.line) {
            // A line that says what holds anyway loses nothing: the shipped file has one for each key, and whoever adds
            // lines to its end has not slipped.
            if assignment.value == key.default {
                return None;
            }
            let what = format!("{} is set again in line {}, which counts", key.name, counts.line);
            return Some(problem(Severity::Warning, what).hint("remove one of the two lines".to_owned()));
        }
        if key.group == Group::Legacy {
            let what = format!("{} has no effect any more", key.name);
            let hint = "whom the service waits for is set by IMEX_WAIT_FOR_QUORUM".to_owned();
            return Some(problem(Severity::Note, what).hint(hint));
        }
        let error = key.judge(assignment.value).err()?;
        Some(problem(Severity::Error, format!("{}: {error}", key.name)).hint(error.hint()))
    }

    /// Reports a problem with a key's value; it is placed at the key's line if the file sets it.
    pub(crate) fn report(
        &mut self,
        severity: Severity,
        key: &Key,
        what: String,
        hint: impl Into<Option<String>>,
    ) {
        let line = self.line(key);
        let problem = Problem::new(severity, self.path, what);
        self.problems.push(problem.at(line).about(key.name).hint(hint));
    }

    /// The line that sets a key.
    pub(crate) fn line(&self, key: &Key) -> Option<usize> {
        self.counting.get(key.name).map(|assignment| assignment.line)
    }

    /// The text of a value.
    pub(crate) fn text(&self, key: &Key) -> &'a str {
        match self.counting.get(key.name) {
            Some(assignment) if key.judge(assignment.value).is_ok() => assignment.value,
            Some(_) | None => key.default,
        }
    }

    /// The text of a value, `None` if it is empty.
    pub(crate) fn non_empty(&self, key: &Key) -> Option<&'a str> {
        Some(self.text(key)).filter(|text| !text.is_empty())
    }

    /// A whole number.
    pub(crate) fn number<T: TryFrom<i64>>(&self, key: &Key) -> T {
        let number: Option<i64> = self.text(key).parse().ok();
        let number = number.and_then(|number| T::try_from(number).ok());
        number.expect("the value is in the key's range, and the range within the type")
    }

    /// Whether a switch is on.
    pub(crate) fn on(&self, key: &Key) -> bool {
        value::switch(self.text(key)).expect("the value is 0 or 1")
    }

    /// Permission bits.
    pub(crate) fn mode(&self, key: &Key) -> u32 {
        value::mode(self.text(key)).expect("the value is octal")
    }

    /// A path.
    pub(crate) fn path(&self, key: &Key) -> PathBuf {
        self.text(key).into()
    }

    /// A port, `None` if the value is empty.
    pub(crate) fn port(&self, key: &Key) -> Option<u16> {
        let number: i64 = self.non_empty(key)?.parse().ok()?;
        u16::try_from(number).ok()
    }

    /// An address with its interface, `None` if the value is empty.
    pub(crate) fn address(&self, key: &Key) -> Option<(IpAddr, Option<String>)> {
        value::listen_address(self.non_empty(key)?)?.ok()
    }

    /// A number of seconds, `None` if it is -1.
    pub(crate) fn seconds(&self, key: &Key) -> Option<Duration> {
        u64::try_from(self.number::<i64>(key)).ok().map(Duration::from_secs)
    }

    /// A number of milliseconds.
    pub(crate) fn millis(&self, key: &Key) -> Duration {
        Duration::from_millis(self.number(key))
    }

    /// A number of milliseconds, `None` if the value is empty.
    pub(crate) fn optional_millis(&self, key: &Key) -> Option<Duration> {
        self.non_empty(key).map(|_| self.millis(key))
    }
}

/// The first characters of a text that may be of any length: enough to find it by.
fn shorten(text: &str) -> String {
    const SHOWN: usize = 64;
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
