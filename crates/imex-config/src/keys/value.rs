//! Whether a value is one that its key takes.

use std::net::IpAddr;

use imex_core::DomainToken;
use imex_core::id::DomainTokenError;
use thiserror::Error;

use super::{Key, Kind};
use crate::address::{NodeAddress, NodeAddressError, is_interface_name};

/// The longest path in bytes (the comments of NVIDIA's `config.cfg` state 256 characters).
pub const MAX_PATH_BYTES: usize = 256;

/// Why a value is none of its key's. Its text reads after the key's name and a colon.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ValueError {
    /// There must be one.
    #[error("value is empty, expected {expected}")]
    Empty {
        /// What the key takes.
        expected: Kind,
    },
    /// It has another form.
    #[error("{value:?} is no valid value, expected {expected}")]
    Form {
        /// The value.
        value: String,
        /// What the key takes.
        expected: Kind,
    },
    /// It is a number out of range.
    #[error("{value} is out of range, {min} to {max} are allowed")]
    Range {
        /// The value.
        value: String,
        /// The least.
        min: i64,
        /// The greatest.
        max: i64,
    },
    /// It is none of the words.
    #[error("{value:?} is none of {}", words.join(", "))]
    Word {
        /// The value.
        value: String,
        /// The words.
        words: &'static [&'static str],
    },
    /// It is a path from some directory.
    #[error("path {value:?} does not begin at the root")]
    RelativePath {
        /// The value.
        value: String,
    },
    /// It is too long a path.
    #[error("path has {found} bytes, at most {max} are allowed", max = MAX_PATH_BYTES)]
    PathTooLong {
        /// Its length in bytes.
        found: usize,
    },
    /// It is no address.
    #[error(transparent)]
    Address(#[from] NodeAddressError),
    /// It is no domain token.
    #[error(transparent)]
    Token(#[from] DomainTokenError),
}

impl ValueError {
    /// What to do about it, if that is not plain from the text.
    pub fn hint(&self) -> Option<String> {
        let (value, other) = match self {
            ValueError::Form { value, .. } => (value, None),
            ValueError::Word { value, words } => (value, in_capitals(value, words)),
            ValueError::RelativePath { value } => {
                (value, Some("the service may run in any directory: begin with /".to_owned()))
            }
            ValueError::Empty { .. }
            | ValueError::Range { .. }
            | ValueError::PathTooLong { .. }
            | ValueError::Address(_)
            | ValueError::Token(_) => return None,
        };
        if value.starts_with(['"', '\'']) {
            Some("write the value without quotes".to_owned())
        } else if value.contains('#') {
            Some("a comment needs a line of its own".to_owned())
        } else {
            other
        }
    }
}

fn in_capitals(value: &str, words: &[&str]) -> Option<String> {
    let meant = words.iter().find(|word| word.eq_ignore_ascii_case(value));
    meant.map(|word| format!("write {word}, in capital letters"))
}

impl Key {
    /// Judges a value, which has no blanks around it.
    pub fn judge(&self, value: &str) -> Result<(), ValueError> {
        let expected = self.kind;
        let form = || ValueError::Form { value: value.to_owned(), expected };
        let needed = || {
            if value.is_empty() { Err(ValueError::Empty { expected }) } else { Ok(value) }
        };
        match self.kind {
            Kind::Switch => switch(needed()?).map(drop).ok_or_else(form),
            Kind::Integer { min, max } => integer(needed()?, min, max, form),
            Kind::OptionalInteger { .. } if value.is_empty() => Ok(()),
            Kind::OptionalInteger { min, max } => integer(value, min, max, form),
            Kind::OptionalPort if value.is_empty() => Ok(()),
            Kind::OptionalPort => integer(value, 0, i64::from(u16::MAX), form),
            Kind::Mode => mode(needed()?).map(drop).ok_or_else(form),
            Kind::Word(words) => word(needed()?, words),
            Kind::Path => path(needed()?),
            Kind::OptionalPath if value.is_empty() => Ok(()),
            Kind::OptionalPath => path(value),
            Kind::OptionalAddress if value.is_empty() => Ok(()),
            Kind::OptionalAddress => address(value).ok_or_else(form)?.map(drop),
            Kind::OptionalListenAddress if value.is_empty() => Ok(()),
            Kind::OptionalListenAddress => listen_address(value).ok_or_else(form)?.map(drop),
            Kind::OptionalInterface => {
                (value.is_empty() || is_interface_name(value)).then_some(()).ok_or_else(form)
            }
            Kind::OptionalHost if value.is_empty() => Ok(()),
            Kind::OptionalHost => Ok(value.parse::<NodeAddress>().map(drop)?),
            Kind::Text => needed().map(drop),
            Kind::SecurityWord(_) | Kind::Free => Ok(()),
            Kind::Token => Ok(DomainToken::new(value).map(drop)?),
        }
    }
}

/// 0 or 1.
pub(crate) fn switch(value: &str) -> Option<bool> {
    match value {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

fn integer(value: &str, min: i64, max: i64, form: impl Fn() -> ValueError) -> Result<(), ValueError> {
    let digits = value.strip_prefix('-').unwrap_or(value);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(form());
    }
    match value.parse::<i64>() {
        Ok(number) if (min..=max).contains(&number) => Ok(()),
        // Digits that do not fit 64 bits are out of any key's range too.
        Ok(_) | Err(_) => Err(ValueError::Range { value: value.to_owned(), min, max }),
    }
}

/// Permission bits: three octal digits, perhaps with a 0 in front.
pub(crate) fn mode(value: &str) -> Option<u32> {
    let digits = value.strip_prefix('0').filter(|_| value.len() == 4).unwrap_or(value);
    let octal = digits.len() == 3 && digits.bytes().all(|b| (b'0'..=b'7').contains(&b));
    octal.then(|| u32::from_str_radix(digits, 8).ok()).flatten()
}

fn word(value: &str, words: &'static [&'static str]) -> Result<(), ValueError> {
    if words.contains(&value) {
        return Ok(());
    }
    Err(ValueError::Word { value: value.to_owned(), words })
}

fn path(value: &str) -> Result<(), ValueError> {
    if !value.starts_with('/') {
        return Err(ValueError::RelativePath { value: value.to_owned() });
    }
    if value.len() > MAX_PATH_BYTES {
        return Err(ValueError::PathTooLong { found: value.len() });
    }
    Ok(())
}

/// An IP address with its zone; `None` if the value is a name.
pub(crate) fn address(value: &str) -> Option<Result<(IpAddr, Option<String>), ValueError>> {
    match value.parse::<NodeAddress>() {
        Ok(NodeAddress::Ip { ip, zone }) => Some(Ok((ip, zone))),
        Ok(NodeAddress::Name(_)) => None,
        Err(error) => Some(Err(error.into())),
    }
}

/// The same for listening, where `0.0.0.0` and `::` mean every address.
pub(crate) fn listen_address(value: &str) -> Option<Result<(IpAddr, Option<String>), ValueError>> {
    match value.parse::<IpAddr>() {
        Ok(ip) if ip.is_unspecified() => Some(Ok((ip, None))),
        Ok(_) | Err(_) => address(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(kind: Kind, value: &str) -> String {
        let key = Key { kind, ..*crate::keys::ALL[0] };
        key.judge(value).map_or_else(|error| error.to_string(), |()| "ok".to_owned())
    }

    const GRACE: Kind = Kind::Integer { min: -1, max: 9 };
    const PACE: Kind = Kind::OptionalInteger { min: 1, max: 9 };
    const QUORUM: Kind = Kind::Word(&["NONE", "FULL"]);

    #[test]
    fn values_are_judged_by_kind() {
        let table: [(Kind, &str, &str); 35] = [
            (Kind::Switch, "1", "ok"),
            (Kind::Switch, "yes", "\"yes\" is no valid value, expected 0 or 1"),
            (Kind::Switch, "", "value is empty, expected 0 or 1"),
            (GRACE, "-1", "ok"),
            (GRACE, "09", "ok"),
            (GRACE, "-2", "-2 is out of range, -1 to 9 are allowed"),
            (GRACE, "1s", "\"1s\" is no valid value, expected -1 to 9"),
            (GRACE, "-", "\"-\" is no valid value, expected -1 to 9"),
            (GRACE, "+1", "\"+1\" is no valid value, expected -1 to 9"),
            (GRACE, "99999999999999999999", "99999999999999999999 is out of range, -1 to 9 are allowed"),
            (PACE, "", "ok"),
            (PACE, "0", "0 is out of range, 1 to 9 are allowed"),
            (Kind::OptionalPort, "", "ok"),
            (Kind::OptionalPort, "65536", "65536 is out of range, 0 to 65535 are allowed"),
            (Kind::Mode, "0660", "ok"),
            (Kind::Mode, "660", "ok"),
            (Kind::Mode, "0880", "\"0880\" is no valid value, expected 0000 to 0777, octal"),
            (Kind::Mode, "4755", "\"4755\" is no valid value, expected 0000 to 0777, octal"),
            (QUORUM, "FULL", "ok"),
            (QUORUM, "full", "\"full\" is none of NONE, FULL"),
            (Kind::Path, "/a b", "ok"),
            (Kind::Path, "a", "path \"a\" does not begin at the root"),
            (Kind::Path, "", "value is empty, expected a path from the root, at most 256 bytes"),
            (Kind::OptionalPath, "", "ok"),
            (Kind::OptionalAddress, "::1", "ok"),
            (
                Kind::OptionalAddress,
                "localhost",
                "\"localhost\" is no valid value, expected an IPv4 or IPv6 address, or empty",
            ),
            (Kind::OptionalAddress, "10.0.0.256", "\"10.0.0.256\" is not a valid IP address"),
            (Kind::OptionalAddress, "0.0.0.0", "0.0.0.0 is not the address of one machine"),
            (Kind::OptionalListenAddress, "0.0.0.0", "ok"),
            (Kind::OptionalListenAddress, "::", "ok"),
            (Kind::OptionalListenAddress, "10.0.0.1", "ok"),
            (Kind::OptionalInterface, "eth0", "ok"),
            (
                Kind::OptionalInterface,
                "eth 0",
                "\"eth 0\" is no valid value, expected the name of an interface, or empty",
            ),
            (Kind::Token, "job-7", "ok"),
            (
                Kind::Token,
                "job 7",
                "domain token has ' ' at byte 3, only printable ASCII without blanks is allowed",
            ),
        ];
        for (kind, value, expected) in table {
            assert_eq!(verdict(kind, value), expected, "{kind:?} {value}");
        }
        assert_eq!(
            verdict(Kind::Path, &format!("/{}", "a".repeat(256))),
            "path has 257 bytes, at most 256 are allowed"
        );
    }

    #[test]
    fn a_hint_says_what_was_probably_meant() {
        let hint = |kind, value: &str| {
            let key = Key { kind, ..*crate::keys::ALL[0] };
            key.judge(value).unwrap_err().hint().unwrap_or_default()
        };
        assert_eq!(hint(Kind::Path, "\"/a\""), "write the value without quotes");
        assert_eq!(hint(Kind::Switch, "1 # on"), "a comment needs a line of its own");
        assert_eq!(hint(QUORUM, "full"), "write FULL, in capital letters");
        assert_eq!(hint(Kind::Switch, "2"), "");
    }
}
