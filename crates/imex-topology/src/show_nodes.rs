//! What `scontrol show nodes --json` prints of each node, as far as anybody here asks.

use serde::Deserialize;

use crate::source::SourceError;

/// One node. What Slurm does not print of it is empty.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ShownNode {
    /// Its name.
    pub name: String,
    /// Where slurmd is reached.
    #[serde(default)]
    pub address: String,
    /// Its base state and any flags.
    #[serde(default)]
    pub state: Vec<String>,
    /// Its weight.
    #[serde(default = "one")]
    pub weight: u64,
    /// Its generic resources, in Slurm's words.
    #[serde(default)]
    pub gres: String,
    /// Its features.
    #[serde(default)]
    pub features: Vec<String>,
    /// What an administrator noted.
    #[serde(default)]
    pub comment: String,
    /// What an administrator noted elsewhere.
    #[serde(default)]
    pub extra: String,
}

#[derive(Deserialize)]
struct Shown {
    nodes: Vec<ShownNode>,
}

/// Slurm's default of a node's weight.
pub(crate) const fn one() -> u64 {
    1
}

/// The nodes, in Slurm's order.
///
/// # Errors
///
/// If the text is not that output.
pub fn parse(text: &str) -> Result<Vec<ShownNode>, SourceError> {
    let what = "the output of `scontrol show nodes --json`";
    let shown: Shown = serde_json::from_str(text).map_err(|source| SourceError::Json { what, source })?;
    Ok(shown.nodes)
}
