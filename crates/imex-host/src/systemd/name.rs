//! Names of services.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The name of a service: `nvidia-imex.service`. Without its ending it is given it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceName(String);

/// A text that names no service.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{text}` names no service: letters, digits and `:-_.\\@`, at most 255, ending in .service or in nothing"
)]
pub struct NotAService {
    text: String,
}

impl ServiceName {
    /// The name, its ending included.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ServiceName {
    type Err = NotAService;

    /// Follows systemd.unit(5); a template without its instance is no service.
    fn from_str(text: &str) -> Result<Self, NotAService> {
        /// The endings of units that are no services.
        const OTHERS: [&str; 10] = [
            ".socket",
            ".device",
            ".mount",
            ".automount",
            ".swap",
            ".target",
            ".path",
            ".timer",
            ".slice",
            ".scope",
        ];
        let wrong = || NotAService { text: text.to_owned() };
        let stem = text.strip_suffix(".service").unwrap_or(text);
        let usable = |letter: char| letter.is_ascii_alphanumeric() || r":-_.\@".contains(letter);
        let instance = !stem.starts_with('@') && !stem.ends_with('@');
        let service = !OTHERS.iter().any(|ending| stem.ends_with(ending));
        let name = format!("{stem}.service");
        if !stem.is_empty() && name.len() <= 255 && stem.chars().all(usable) && instance && service {
            Ok(ServiceName(name))
        } else {
            Err(wrong())
        }
    }
}

impl fmt::Display for ServiceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_is_given_where_it_is_missing() {
        for text in ["nvidia-imex", "nvidia-imex.service"] {
            assert_eq!(text.parse::<ServiceName>().unwrap().as_str(), "nvidia-imex.service");
        }
        assert_eq!("imexd@3".parse::<ServiceName>().unwrap().as_str(), "imexd@3.service");
    }

    #[test]
    fn other_units_templates_and_paths_are_no_services() {
        for wrong in ["", ".service", "a/b", "a b", "dbus.socket", "imexd@", "@3", "ä", &"x".repeat(248)] {
            assert!(wrong.parse::<ServiceName>().is_err(), "{wrong:?}");
        }
    }
}
