//! Generic resources (GRES) as Slurm writes them: `gpu:4`, `gpu:gb200:4(S:0-1)`, `gres/gpu:4,gres/nic:2`.

use std::fmt;
use std::str::FromStr;

/// So many of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gres {
    name: String,
    kind: Option<String>,
    count: u64,
}

/// Why a text is no resource.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not of the form NAME[:TYPE]:COUNT")]
pub struct GresError {
    text: String,
}

/// Reads a list; an empty text is an empty one.
///
/// # Errors
///
/// At the first entry that is no resource.
pub fn list(text: &str) -> Result<Vec<Gres>, GresError> {
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty() && *entry != "(null)");
    entries.map(Gres::from_str).collect()
}

impl FromStr for Gres {
    type Err = GresError;

    /// One entry. Without a count it is one; where the sockets are told behind it they are passed over.
    fn from_str(text: &str) -> Result<Self, GresError> {
        let broken = || GresError { text: text.to_owned() };
        let entry = text.strip_prefix("gres/").or_else(|| text.strip_prefix("gres:")).unwrap_or(text);
        let entry = entry.split('(').next().unwrap_or_default();
        let words: Vec<&str> = entry.split(':').collect();
        if words.iter().any(|word| word.is_empty()) {
            return Err(broken());
        }
        let (name, kind, amount) = match words.as_slice() {
            [name] => (*name, None, Some(1)),
            [name, last] => match count(last) {
                Some(amount) => (*name, None, Some(amount)),
                None => (*name, Some(*last), Some(1)),
            },
            [name, kind, last] => (*name, Some(*kind), count(last)),
            _ => return Err(broken()),
        };
        let count = amount.ok_or_else(broken)?;
        Ok(Gres { name: name.to_owned(), kind: kind.map(str::to_owned), count })
    }
}

/// A number, perhaps in thousands and so on as Slurm counts them.
fn count(text: &str) -> Option<u64> {
    let units = [('K', 1 << 10), ('M', 1 << 20), ('G', 1 << 30), ('T', 1 << 40)];
    let unit = units.into_iter().find(|(letter, _)| text.to_ascii_uppercase().ends_with(*letter));
    let (digits, unit) = unit.map_or((text, 1_u64), |(_, unit)| (&text[..text.len() - 1], unit));
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

impl Gres {
    /// How many of it these resources of a node have.
    pub(super) fn held(&self, node: &[Gres]) -> u64 {
        let same =
            |other: &&Gres| other.name == self.name && (self.kind.is_none() || other.kind == self.kind);
        node.iter().filter(same).fold(0, |sum, other| sum.saturating_add(other.count))
    }

    /// If these resources of a node are enough.
    pub(super) fn is_held(&self, node: &[Gres]) -> bool {
        self.held(node) >= self.count
    }
}

impl fmt::Display for Gres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.as_ref().map(|kind| format!(":{kind}")).unwrap_or_default();
        write!(f, "{}{kind}:{}", self.name, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_read_as_slurm_writes_them() {
        let read = |text: &str| {
            list(text).map(|list| list.iter().map(Gres::to_string).collect::<Vec<_>>().join(" "))
        };
        for (text, expected) in [
            ("", ""),
            ("(null)", ""),
            ("gpu:4", "gpu:4"),
            ("gpu:gb200:4(S:0-1),nic:2", "gpu:gb200:4 nic:2"),
            ("gres/gpu:4,gres/shard", "gpu:4 shard:1"),
            ("gres:gpu:gb300", "gpu:gb300:1"),
            ("memory:2K", "memory:2048"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
        }
        for text in ["gpu:", ":4", "gpu:a:b:4", "gpu:a:b", "gpu:a:-1"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_node_has_enough_of_any_type_or_of_the_one_that_is_asked_for() {
        let node = list("gpu:gb200:2,gpu:gb300:2,nic:1").unwrap();
        let has = |text: &str| list(text).unwrap().iter().all(|gres| gres.is_held(&node));
        assert_eq!(
            [has("gpu:4"), has("gpu:gb200:2"), has("gpu:gb200:3"), has("gpu:5")],
            [true, true, false, false]
        );
        assert_eq!([has("nic:1,gpu:1"), has("shard:1")], [true, false]);
    }
}
