//! Whether a value is one that its key takes.

use std::time::Duration;

use thiserror::Error;
use toml::de::DeValue;

use super::keys::Kind;

/// The longest path in bytes that Linux takes.
const MAX_PATH_BYTES: usize = 4095;

/// A value that its key takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Switch(bool),
    Number(u32),
    Span(Duration),
    Mode(u32),
    Text(String),
    Texts(Vec<String>),
}

/// Why a value is none of its key's. Its text reads after the key's name and a colon.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OperatorValueError {
    /// It is something else in TOML.
    #[error("{found} is no valid value, expected {expected}")]
    Type {
        /// What it is.
        found: &'static str,
        /// What the key takes.
        expected: Kind,
    },
    /// It has another form, or is out of range.
    #[error("{value:?} is no valid value, expected {expected}")]
    Form {
        /// The value.
        value: String,
        /// What the key takes.
        expected: Kind,
    },
}

impl Kind {
    /// Judges a value.
    pub(super) fn judge(self, value: &DeValue<'_>) -> Result<Value, OperatorValueError> {
        let judged = match (self, value) {
            (Kind::Switch, DeValue::Boolean(on)) => Some(Value::Switch(*on)),
            (Kind::Number { min, max }, DeValue::Integer(number)) => {
                let digits = number.as_str().replace('_', "");
                let parsed = u32::from_str_radix(&digits, number.radix()).ok();
                parsed.filter(|number| (min..=max).contains(number)).map(Value::Number)
            }
            (Kind::Texts, DeValue::Array(texts)) => {
                let texts = texts.iter().map(|text| text.as_ref().as_str().filter(|text| !text.is_empty()));
                texts.map(|text| text.map(str::to_owned)).collect::<Option<_>>().map(Value::Texts)
            }
            (Kind::Switch | Kind::Number { .. } | Kind::Texts, _) => {
                return Err(OperatorValueError::Type { found: value.type_str(), expected: self });
            }
            (_, DeValue::String(text)) => self.judge_text(text),
            (_, _) => return Err(OperatorValueError::Type { found: value.type_str(), expected: self }),
        };
        judged.ok_or_else(|| OperatorValueError::Form { value: shown(value), expected: self })
    }

    fn judge_text(self, text: &str) -> Option<Value> {
        let good = match self {
            Kind::Switch | Kind::Number { .. } | Kind::Texts => false,
            Kind::Span { min, max } => {
                let range = Duration::from_millis(min.into())..=Duration::from_millis(max.into());
                return span(text).filter(|span| range.contains(span)).map(Value::Span);
            }
            Kind::Mode => return crate::keys::value::mode(text).map(Value::Mode),
            Kind::Word(words) => words.contains(&text),
            Kind::Path => is_path(text),
            Kind::OptionalPath => text.is_empty() || is_path(text),
            Kind::Program => is_program(text),
            Kind::OptionalProgram => text.is_empty() || is_program(text),
            Kind::OptionalUnit => text.is_empty() || is_unit(text),
            Kind::SearchPath => text.split(':').all(is_path),
            Kind::Channels => text.is_empty() || channels(text).is_some(),
        };
        good.then(|| Value::Text(text.to_owned()))
    }
}

fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.as_str().to_owned(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(on) => on.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Array(_) | DeValue::Table(_) => value.type_str().to_owned(),
    }
}

/// A number and its unit.
fn span(text: &str) -> Option<Duration> {
    let unit = text.find(|letter: char| !letter.is_ascii_digit())?;
    let number: u64 = text[..unit].parse().ok()?;
    match &text[unit..] {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => number.checked_mul(60).map(Duration::from_secs),
        _ => None,
    }
}

fn is_path(text: &str) -> bool {
    text.starts_with('/') && text.len() <= MAX_PATH_BYTES && !text.chars().any(char::is_control)
}

fn is_program(text: &str) -> bool {
    is_path(text) || (!text.is_empty() && !text.contains('/') && !text.chars().any(char::is_control))
}

/// A unit of the kind that can be restarted, with the letters that systemd takes (systemd.unit(5)).
fn is_unit(text: &str) -> bool {
    let name = text.strip_suffix(".service").unwrap_or_default();
    let usable = |letter: char| letter.is_ascii_alphanumeric() || ":-_.\\@".contains(letter);
    !name.is_empty() && text.len() < 256 && name.chars().all(usable)
}

/// Numbers and ranges with commas between: each range's first and last number, in the order of the text.
pub(super) fn channels(text: &str) -> Option<Vec<(u32, u32)>> {
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<u32>().ok())?;
    let range = |text: &str| match text.split_once('-') {
        None => number(text).map(|only| (only, only)),
        Some((low, high)) => number(low).zip(number(high)).filter(|(low, high)| low <= high),
    };
    text.split(',').map(|part| range(part.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::words::Provider;

    #[test]
    fn values_are_judged_by_kind() {
        let some_time = Kind::Span { min: 100, max: 60_000 };
        let provider = Kind::Word(Provider::WORDS);
        let table: [(Kind, &str, &str); 26] = [
            (Kind::Switch, "true", "ok"),
            (Kind::Switch, "1", "integer is no valid value, expected true or false"),
            (Kind::Number { min: 1, max: 9 }, "9", "ok"),
            (Kind::Number { min: 1, max: 9 }, "10", "\"10\" is no valid value, expected 1 to 9"),
            (Kind::Number { min: 1, max: 9 }, "-1", "\"-1\" is no valid value, expected 1 to 9"),
            (some_time, r#""500ms""#, "ok"),
            (some_time, r#""1m""#, "ok"),
            (some_time, r#""2m""#, "\"2m\" is no valid value, expected a time from \"100ms\" to \"60s\""),
            (some_time, r#""9""#, "\"9\" is no valid value, expected a time from \"100ms\" to \"60s\""),
            (some_time, "9", "integer is no valid value, expected a time from \"100ms\" to \"60s\""),
            (Kind::Mode, r#""0660""#, "ok"),
            (Kind::Mode, r#""0999""#, "\"0999\" is no valid value, expected \"0000\" to \"0777\", octal"),
            (provider, r#""imexd""#, "ok"),
            (provider, r#""x""#, "\"x\" is no valid value, expected \"imexd\", \"nvidia-imex\""),
            (Kind::Path, r#""/a""#, "ok"),
            (Kind::Path, r#""a""#, "\"a\" is no valid value, expected a path from the root"),
            (Kind::OptionalPath, r#""""#, "ok"),
            (Kind::Program, r#""scontrol""#, "ok"),
            (
                Kind::Program,
                r#""bin/x""#,
                "\"bin/x\" is no valid value, expected a path from the root, or a name",
            ),
            (Kind::OptionalUnit, r#""a@b.service""#, "ok"),
            (
                Kind::OptionalUnit,
                r#""a.socket""#,
                "\"a.socket\" is no valid value, expected the name of a unit, or \"\"",
            ),
            (Kind::SearchPath, r#""/a:/b""#, "ok"),
            (
                Kind::SearchPath,
                r#""/a:b""#,
                "\"/a:b\" is no valid value, expected paths from the root with colons between",
            ),
            (Kind::Channels, r#""0,4-7""#, "ok"),
            (Kind::Texts, r#"["a*"]"#, "ok"),
            (Kind::Texts, r#"[""]"#, "\"array\" is no valid value, expected a list of texts"),
        ];
        for (kind, text, expected) in table {
            let line = format!("x = {text}");
            let parsed = toml::de::DeTable::parse(&line).unwrap();
            let (_, value) = parsed.get_ref().iter().next().unwrap();
            let verdict =
                kind.judge(value.get_ref()).map_or_else(|error| error.to_string(), |_| "ok".to_owned());
            assert_eq!(verdict, expected, "{kind:?} {text}");
        }
    }

    #[test]
    fn channels_are_numbers_and_ranges() {
        assert_eq!(channels("0, 4-7"), Some(vec![(0, 0), (4, 7)]));
        for wrong in ["", "a", "7-4", "1,", "-1", "99999999999"] {
            assert_eq!(channels(wrong), None, "{wrong:?}");
        }
    }
}
