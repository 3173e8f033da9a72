//! Which release of Slurm, to the precision that its behaviour goes by.

use std::fmt;
use std::str::FromStr;

/// A release of Slurm: `26.05.5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    year: u8,
    month: u8,
    patch: u8,
}

/// A text that is no release of Slurm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a Slurm release (like 25.05 or 26.05.5)")]
pub struct ReleaseError {
    text: String,
}

impl Release {
    /// A release by its numbers.
    pub const fn new(year: u8, month: u8, patch: u8) -> Self {
        Release { year, month, patch }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}.{:02}.{}", self.year, self.month, self.patch)
    }
}

impl FromStr for Release {
    type Err = ReleaseError;

    /// Reads `25.05`, `26.05.5`, `26.05.0-rc1` and what programs print (`slurm-wlm 26.05.5`).
    fn from_str(text: &str) -> Result<Self, ReleaseError> {
        let error = || ReleaseError { text: text.chars().take(40).collect() };
        let number = text.split_whitespace().last().unwrap_or_default();
        let mut parts = number.split(['.', '-']).map(str::parse::<u8>);
        let mut part = || parts.next().and_then(Result::ok);
        let (year, month) = part().zip(part()).ok_or_else(error)?;
        if !(15..=99).contains(&year) || !(1..=12).contains(&month) {
            return Err(error());
        }
        Ok(Release { year, month, patch: part().unwrap_or(0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_read_as_slurm_prints_it_and_compares_by_number() {
        for (text, shown) in [
            ("25.05", "25.05.0"),
            ("slurm-wlm 26.05.5", "26.05.5"),
            ("24.11.12", "24.11.12"),
            ("26.05.0-rc1", "26.05.0"),
        ] {
            assert_eq!(text.parse::<Release>().unwrap().to_string(), shown);
        }
        assert!(Release::new(24, 5, 10) > Release::new(24, 5, 2));
        for text in ["", "26", "26.13", "x.y", "400.5", "2.6"] {
            assert!(text.parse::<Release>().is_err(), "{text:?}");
        }
    }
}
