//! From a text to the values of all keys, or to everything that is wrong with it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::keys::{self, ALL, Kind, OperatorKey};
use super::value::{OperatorValueError, Value};
use crate::problem::{Problem, Problems, Severity};

/// The value of each key: the file's or the default.
#[derive(Debug)]
pub(super) struct Values {
    written: BTreeMap<&'static str, BTreeMap<&'static str, Value>>,
}

impl Default for Values {
    /// Every key with its default.
    fn default() -> Self {
        let mut values = Values { written: BTreeMap::new() };
        for key in ALL {
            values.put(key, default(key));
        }
        values
    }
}

/// The default of a key, by the same way as a value of the file.
fn default(key: &OperatorKey) -> Value {
    let line = format!("x = {}", key.default);
    let value = DeTable::parse(&line).ok().and_then(|table| {
        let value = table.get_ref().get("x")?;
        key.kind.judge(value.get_ref()).ok()
    });
    value.expect("each default is a value of its key, as a test shows")
}

impl Values {
    /// What is right in a text, and what is wrong with it.
    pub(super) fn judge(text: &str, path: &Path) -> (Self, Problems) {
        let mut judge = Judge { text, path, values: Values::default(), problems: Problems::default() };
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let line = error.span().map(|span| judge.line(span.start));
            judge.problems.push(Problem::new(Severity::Error, path, error.message()).at(line));
        }
        for (name, content) in table.get_ref() {
            judge.table(name, content);
        }
        (judge.values, judge.problems)
    }

    fn put(&mut self, key: &OperatorKey, value: Value) {
        self.written.entry(key.table).or_default().insert(key.name, value);
    }

    fn get(&self, key: &OperatorKey) -> &Value {
        let value = self.written.get(key.table).and_then(|table| table.get(key.name));
        value.expect("every key of the table has a value")
    }

    /// A value as the text that it is.
    pub(super) fn text(&self, key: &OperatorKey) -> &str {
        let Value::Text(text) = self.get(key) else { unexpected(key) };
        text
    }

    pub(super) fn texts(&self, key: &OperatorKey) -> &[String] {
        let Value::Texts(texts) = self.get(key) else { unexpected(key) };
        texts
    }

    pub(super) fn switch(&self, key: &OperatorKey) -> bool {
        let Value::Switch(on) = self.get(key) else { unexpected(key) };
        *on
    }

    pub(super) fn number(&self, key: &OperatorKey) -> u32 {
        let Value::Number(number) = self.get(key) else { unexpected(key) };
        *number
    }

    pub(super) fn span(&self, key: &OperatorKey) -> Duration {
        let Value::Span(span) = self.get(key) else { unexpected(key) };
        *span
    }

    pub(super) fn mode(&self, key: &OperatorKey) -> u32 {
        let Value::Mode(mode) = self.get(key) else { unexpected(key) };
        *mode
    }

    pub(super) fn word<T>(&self, key: &OperatorKey, of: impl Fn(&str) -> Option<T>) -> T {
        of(self.text(key)).expect("the words of a key are those of its type")
    }

    pub(super) fn path(&self, key: &OperatorKey) -> PathBuf {
        self.text(key).into()
    }

    pub(super) fn optional_path(&self, key: &OperatorKey) -> Option<PathBuf> {
        Some(self.text(key)).filter(|text| !text.is_empty()).map(PathBuf::from)
    }
}

fn unexpected(key: &OperatorKey) -> ! {
    unreachable!("{key} is asked for a value that its kind does not make")
}

/// Goes through a file.
struct Judge<'a> {
    text: &'a str,
    path: &'a Path,
    values: Values,
    problems: Problems,
}

impl Judge<'_> {
    /// One `[table]`.
    fn table(&mut self, name: &Spanned<DeString<'_>>, content: &Spanned<DeValue<'_>>) {
        let known = ALL.iter().any(|key| key.table == name.get_ref());
        let DeValue::Table(content) = content.get_ref() else {
            let hint = match ALL.iter().find(|key| key.name == name.get_ref()) {
                Some(key) => Some(format!("it belongs below a line [{}]", key.table)),
                None => nearest(name.get_ref()).map(|key| format!("did you mean {key}?")),
            };
            return self.report(name, format!("{} stands in no table", name.get_ref()), hint);
        };
        if !known {
            let tables = ALL.iter().map(|key| key.table);
            let hint = closest(name.get_ref(), tables).map(|table| format!("did you mean [{table}]?"));
            return self.report(name, format!("[{}] is no table of this file", name.get_ref()), hint);
        }
        for (key, value) in content {
            self.key(name.get_ref(), key, value);
        }
    }

    fn key(&mut self, table: &str, name: &Spanned<DeString<'_>>, value: &Spanned<DeValue<'_>>) {
        let full = format!("{table}.{}", name.get_ref());
        let Some(key) = keys::find(table, name.get_ref()) else {
            let elsewhere = ALL.iter().find(|key| key.name == name.get_ref()).copied();
            let hint = elsewhere.or_else(|| nearest(&full)).map(|key| format!("did you mean {key}?"));
            return self.report(name, format!("{full} is no key of this file"), hint);
        };
        match key.kind.judge(value.get_ref()) {
            Ok(value) => self.values.put(key, value),
            Err(error) => self.report(value, format!("{full}: {error}"), hint(&error)),
        }
    }

    fn report<T>(&mut self, place: &Spanned<T>, what: String, hint: Option<String>) {
        let line = self.line(place.span().start);
        self.problems.push(Problem::new(Severity::Error, self.path, what).at(line).hint(hint));
    }

    /// The line of a place, from 1.
    fn line(&self, place: usize) -> usize {
        self.text.bytes().take(place).filter(|byte| *byte == b'\n').count() + 1
    }
}

/// What to do about a value, if that is not plain from the text.
fn hint(error: &OperatorValueError) -> Option<String> {
    let OperatorValueError::Form { value, expected: Kind::Word(words) } = error else { return None };
    closest(value, words.iter().copied()).map(|word| format!("did you mean {word:?}?"))
}

/// The key that somebody who wrote this name, with or without its table, may have meant.
fn nearest(name: &str) -> Option<&'static OperatorKey> {
    let names: Vec<(String, &OperatorKey)> = ALL
        .iter()
        .map(|key| (if name.contains('.') { key.full_name() } else { key.name.to_owned() }, *key))
        .collect();
    let found = closest(name, names.iter().map(|(name, _)| name.as_str()))?.to_owned();
    names.iter().find(|(name, _)| *name == found).map(|(_, key)| *key)
}

/// The nearest of some names, at most a third of the letters away; the first of the best.
fn closest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    /// No name is longer; what is much longer is not compared.
    const LONGEST: usize = 64;
    let allowed = if name.len() > LONGEST { 0 } else { name.len() / 3 };
    let scored = names.map(|other| (strsim::damerau_levenshtein(name, other), other));
    scored.filter(|(edits, _)| *edits <= allowed).min_by_key(|(edits, _)| *edits).map(|(_, other)| other)
}
