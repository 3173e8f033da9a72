//! What which version of Slurm understands.

use std::fmt;
use std::str::FromStr;

/// A version of Slurm, to the precision that its features go by: year and month of the release series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlurmVersion {
    year: u8,
    month: u8,
}

/// A text that is no version of Slurm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a Slurm version (like 25.05 or 26.05.5)")]
pub struct VersionError {
    text: String,
}

impl SlurmVersion {
    /// The first version with topology/block.
    pub const BLOCK: SlurmVersion = SlurmVersion { year: 23, month: 11 };
    /// The first version that reads `topology.yaml`; earlier ones ignore the file.
    pub const YAML: SlurmVersion = SlurmVersion { year: 25, month: 5 };
    /// The version whose behaviour is taken where none is named: the newest that the rules were tried on.
    pub const NEWEST: SlurmVersion = SlurmVersion { year: 26, month: 5 };

    /// If this version reads `topology.yaml`.
    pub fn reads_yaml(self) -> bool {
        self >= SlurmVersion::YAML
    }

    /// If this version has topology/block.
    pub fn has_block(self) -> bool {
        self >= SlurmVersion::BLOCK
    }
}

impl fmt::Display for SlurmVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}.{:02}", self.year, self.month)
    }
}

impl FromStr for SlurmVersion {
    type Err = VersionError;

    /// Reads `25.05`, `26.05.5` and what `slurmctld -V` prints (`slurm-wlm 26.05.5`).
    fn from_str(text: &str) -> Result<Self, VersionError> {
        let error = || VersionError { text: text.to_owned() };
        let number = text.trim().rsplit([' ', '-']).next().unwrap_or_default();
        let mut parts = number.split('.');
        let mut part = || parts.next().and_then(|part| part.parse::<u8>().ok()).ok_or_else(error);
        let (year, month) = (part()?, part()?);
        if (15..=99).contains(&year) && (1..=12).contains(&month) {
            Ok(SlurmVersion { year, month })
        } else {
            Err(error())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_as_slurm_prints_it() {
        for text in ["25.05", "25.05.3", "slurm 25.05.3", "slurm-wlm 25.05.3"] {
            assert_eq!(text.parse::<SlurmVersion>().unwrap().to_string(), "25.05", "{text}");
        }
        for text in ["", "25", "25.x", "2.5", "25.13"] {
            assert!(text.parse::<SlurmVersion>().is_err(), "{text}");
        }
    }

    #[test]
    fn topology_yaml_begins_with_25_05() {
        let reads = |text: &str| text.parse::<SlurmVersion>().unwrap().reads_yaml();
        assert!(!reads("24.11") && reads("25.05") && reads("26.05"));
    }
}
