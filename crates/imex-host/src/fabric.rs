//! Which NVLink fabric a machine's GPUs are attached to, and the rules for when they are attached to none.
//!
//! Two GPUs can export memory to one another if they report the same pair of cluster UUID and clique id. Neither half
//! is enough: clique ids repeat from rack to rack, and one rack can be cut into several cliques.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The identity of one NVLink cluster (a rack, as a rule): a UUID that is never all zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterUuid([u8; 16]);

/// A clique inside a cluster: the GPUs that share an NVLink partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CliqueId(pub u32);

/// The identity of an NVLink partition: always the pair, never one half.
///
/// Written `UUID.CLIQUE`, in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct FabricId {
    /// The cluster.
    pub cluster: ClusterUuid,
    /// The clique inside it.
    pub clique: CliqueId,
}

/// What a text that should be a cluster UUID or a fabric identity is instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FabricIdError {
    /// It has not the form of a UUID.
    #[error("`{text}` is not a UUID (8-4-4-4-12 hexadecimal digits)")]
    NotAUuid {
        /// What was found.
        text: String,
    },
    /// All digits are zero, which is how a GPU outside of any cluster answers.
    #[error("the cluster UUID is all zeros, which means no cluster")]
    Zero,
    /// The part after the dot is no number.
    #[error("`{text}` is not a clique id (a number below 2^32)")]
    NotAClique {
        /// What was found.
        text: String,
    },
    /// There is no dot between cluster and clique.
    #[error("`{text}` is not a fabric identity (cluster UUID, a dot, clique id)")]
    NotAPair {
        /// What was found.
        text: String,
    },
}

/// How far a GPU's registration with the fabric has come (`nvmlGpuFabricState_t`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FabricState {
    /// The GPU cannot be part of a fabric.
    NotSupported,
    /// Registration has not begun.
    NotStarted,
    /// Registration goes on; it may complete in a while.
    InProgress,
    /// Registration has ended. Whether well, the status says.
    Completed,
}

/// How the registration ended (`status` of `nvmlGpuFabricInfo_t`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FabricStatus {
    /// It ended well.
    Success,
    /// It did not; the word is the one that was reported.
    Failed(String),
    /// Not reported.
    Unknown,
}

/// What one GPU says of its fabric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuFabric {
    /// The GPU, as its source names it (an index or a bus id).
    pub gpu: String,
    /// How far its registration has come.
    pub state: FabricState,
    /// How the registration ended.
    pub status: FabricStatus,
    /// The cluster UUID, as reported; it may be all zeros.
    pub cluster_uuid: Option<String>,
    /// The clique id, as reported.
    pub clique_id: Option<u32>,
}

/// Why a machine has no fabric identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum NoFabric {
    /// No GPU was reported.
    #[error("it reports no GPU")]
    NoGpu,
    /// A GPU cannot be part of a fabric.
    #[error("GPU {gpu} does not support a fabric")]
    NotSupported {
        /// The GPU.
        gpu: String,
    },
    /// A GPU's registration has not begun or goes on. It may come: ask again.
    #[error("GPU {gpu} has not completed its registration with the fabric (state {})", state.word())]
    NotCompleted {
        /// The GPU.
        gpu: String,
        /// Its state.
        state: FabricState,
    },
    /// A GPU's registration has failed.
    #[error("GPU {gpu} has not registered with the fabric (status {status})")]
    NotSuccessful {
        /// The GPU.
        gpu: String,
        /// The status that was reported.
        status: String,
    },
    /// A GPU reports the UUID of all zeros, which is not a cluster.
    #[error("GPU {gpu} reports a cluster UUID of all zeros, which means no cluster")]
    ZeroCluster {
        /// The GPU.
        gpu: String,
    },
    /// A GPU reports no cluster or no clique, or something that is neither.
    #[error("GPU {gpu} reports no {missing}")]
    Incomplete {
        /// The GPU.
        gpu: String,
        /// What it does not report.
        missing: String,
    },
    /// Two GPUs of the machine are in different partitions.
    #[error("GPU {gpu} is in {fabric}, GPU {other_gpu} in {other_fabric}")]
    Disagree {
        /// The first GPU.
        gpu: String,
        /// Where it is.
        fabric: FabricId,
        /// Another GPU.
        other_gpu: String,
        /// Where that is.
        other_fabric: FabricId,
    },
}

/// Whoever can ask this machine's GPUs: NVML on a real one, a list in tests.
pub trait GpuFabrics {
    /// Why the GPUs could not be asked.
    type Error: Error + Send + Sync + 'static;

    /// What each GPU of this machine says, in the order of their indices.
    ///
    /// # Errors
    ///
    /// If the GPUs cannot be asked. A GPU without a fabric is not an error.
    fn gpu_fabrics(&self) -> Result<Vec<GpuFabric>, Self::Error>;
}

/// The one fabric that all of these GPUs are attached to.
///
/// # Errors
///
/// The first reason, in the order of the GPUs, why the machine has none.
pub fn identify(gpus: &[GpuFabric]) -> Result<FabricId, NoFabric> {
    let (first, others) = gpus.split_first().ok_or(NoFabric::NoGpu)?;
    let fabric = identify_one(first)?;
    for other in others {
        let other_fabric = identify_one(other)?;
        if other_fabric != fabric {
            return Err(NoFabric::Disagree {
                gpu: first.gpu.clone(),
                fabric,
                other_gpu: other.gpu.clone(),
                other_fabric,
            });
        }
    }
    Ok(fabric)
}

fn identify_one(report: &GpuFabric) -> Result<FabricId, NoFabric> {
    let gpu = || report.gpu.clone();
    match report.state {
        FabricState::Completed => {}
        FabricState::NotSupported => return Err(NoFabric::NotSupported { gpu: gpu() }),
        state @ (FabricState::NotStarted | FabricState::InProgress) => {
            return Err(NoFabric::NotCompleted { gpu: gpu(), state });
        }
    }
    match &report.status {
        FabricStatus::Success => {}
        FabricStatus::Failed(status) => {
            return Err(NoFabric::NotSuccessful { gpu: gpu(), status: status.clone() });
        }
        FabricStatus::Unknown => return Err(incomplete(report, "status")),
    }
    let uuid = report.cluster_uuid.as_deref().ok_or_else(|| incomplete(report, "cluster UUID"))?;
    let cluster = uuid.parse().map_err(|error| match error {
        FabricIdError::Zero => NoFabric::ZeroCluster { gpu: gpu() },
        FabricIdError::NotAUuid { .. }
        | FabricIdError::NotAClique { .. }
        | FabricIdError::NotAPair { .. } => incomplete(report, "valid cluster UUID"),
    })?;
    let clique = report.clique_id.ok_or_else(|| incomplete(report, "clique id"))?;
    Ok(FabricId { cluster, clique: CliqueId(clique) })
}

fn incomplete(report: &GpuFabric, missing: &str) -> NoFabric {
    NoFabric::Incomplete { gpu: report.gpu.clone(), missing: missing.to_owned() }
}

impl FabricState {
    /// The word for people.
    pub const fn word(self) -> &'static str {
        match self {
            FabricState::NotSupported => "not supported",
            FabricState::NotStarted => "not started",
            FabricState::InProgress => "in progress",
            FabricState::Completed => "completed",
        }
    }
}

impl FromStr for ClusterUuid {
    type Err = FabricIdError;

    fn from_str(text: &str) -> Result<Self, FabricIdError> {
        let malformed = || FabricIdError::NotAUuid { text: text.to_owned() };
        let groups: Vec<&str> = text.split('-').collect();
        if !groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12]) {
            return Err(malformed());
        }
        let digits: Vec<u32> = groups.concat().chars().filter_map(|digit| digit.to_digit(16)).collect();
        let mut bytes = [0; 16];
        if digits.len() != 2 * bytes.len() {
            return Err(malformed());
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = u8::try_from(pair[0] * 16 + pair[1]).map_err(|_| malformed())?;
        }
        if bytes == [0; 16] { Err(FabricIdError::Zero) } else { Ok(ClusterUuid(bytes)) }
    }
}

impl fmt::Display for ClusterUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let dash = if matches!(index, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Display for CliqueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for FabricId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.cluster, self.clique)
    }
}

impl FromStr for FabricId {
    type Err = FabricIdError;

    fn from_str(text: &str) -> Result<Self, FabricIdError> {
        let (cluster, clique) =
            text.split_once('.').ok_or_else(|| FabricIdError::NotAPair { text: text.to_owned() })?;
        let cluster = cluster.parse()?;
        let number = clique.parse().map_err(|_| FabricIdError::NotAClique { text: clique.to_owned() })?;
        Ok(FabricId { cluster, clique: CliqueId(number) })
    }
}

impl From<FabricId> for String {
    fn from(id: FabricId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for FabricId {
    type Error = FabricIdError;

    fn try_from(text: String) -> Result<Self, FabricIdError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests;
