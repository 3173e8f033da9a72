//! What one machine says of its fabric, as one line of JSON that can be collected from many.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::fabric::{FabricId, GpuFabric, NoFabric, identify};

/// The version of the line. It rises when a field changes its meaning or goes, not when one comes.
pub const SCHEMA_VERSION: u32 = 1;

/// One machine's report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeReport {
    /// The version of the line.
    pub schema_version: u32,
    /// When it was made.
    pub time: Timestamp,
    /// The machine, by the name that Slurm knows it by.
    pub node: String,
    /// Who was asked; older programs did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Asked>,
    /// Where the machine is attached, if it is; always what the rules say of `gpus`.
    pub fabric: Option<FabricId>,
    /// Why it is attached nowhere.
    pub no_fabric: Option<NoFabric>,
    /// What each GPU said.
    pub gpus: Vec<GpuFabric>,
}

/// Who told what the GPUs say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Asked {
    /// NVIDIA's management library.
    Nvml,
    /// NVIDIA's tool, run for it.
    NvidiaSmi,
    /// A text that the tool had written before.
    Text,
}

/// Why a line is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// It is not JSON, or a field is missing or of the wrong kind.
    #[error("the line is not a report of `imex topology identify`")]
    Malformed(#[source] serde_json::Error),
    /// A later program wrote it.
    #[error("the report has schema version {found}, this program knows {SCHEMA_VERSION}")]
    Version {
        /// The version that was found.
        found: u32,
    },
}

impl NodeReport {
    /// The report of a machine whose GPUs say this.
    pub fn new(node: impl Into<String>, time: Timestamp, gpus: Vec<GpuFabric>) -> Self {
        let identity = identify(&gpus);
        NodeReport {
            schema_version: SCHEMA_VERSION,
            time,
            node: node.into(),
            asked: None,
            fabric: identity.as_ref().ok().copied(),
            no_fabric: identity.err(),
            gpus,
        }
    }

    /// The same, and who told it.
    #[must_use]
    pub fn asked(mut self, asked: Asked) -> Self {
        self.asked = Some(asked);
        self
    }

    /// Reads one report. The identity is judged anew from what the GPUs said, so that an edited or older report cannot
    /// claim one that the rules refuse.
    ///
    /// # Errors
    ///
    /// If the text is not one report of a known version.
    pub fn parse(text: &str) -> Result<Self, ReportError> {
        let report: NodeReport = serde_json::from_str(text).map_err(ReportError::Malformed)?;
        if report.schema_version != SCHEMA_VERSION {
            return Err(ReportError::Version { found: report.schema_version });
        }
        Ok(NodeReport { asked: report.asked, ..NodeReport::new(report.node, report.time, report.gpus) })
    }

    /// The machine's fabric, or why it has none.
    ///
    /// # Errors
    ///
    /// The reason why there is none.
    pub fn identity(&self) -> Result<FabricId, NoFabric> {
        identify(&self.gpus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::{FabricState, FabricStatus};

    #[test]
    fn a_report_survives_its_line_and_is_judged_anew() {
        let report = NodeReport::new("n1", Timestamp::UNIX_EPOCH, vec![gpu(1), gpu(1)]).asked(Asked::Nvml);
        let line = serde_json::to_string(&report).unwrap();
        assert!(!line.contains('\n'));
        assert_eq!(NodeReport::parse(&line).unwrap(), report);

        let forged = line.replacen("\"clique_id\":1", "\"clique_id\":2", 1);
        let judged = NodeReport::parse(&forged).unwrap();
        assert!(matches!(judged.no_fabric, Some(NoFabric::Disagree { .. })), "{judged:?}");
        assert_eq!(judged.fabric, None);
    }

    #[test]
    fn a_later_version_is_refused_by_its_number() {
        let report = NodeReport::new("n1", Timestamp::UNIX_EPOCH, vec![]);
        let line =
            serde_json::to_string(&report).unwrap().replace("\"schema_version\":1", "\"schema_version\":9");
        assert!(matches!(NodeReport::parse(&line), Err(ReportError::Version { found: 9 })));
    }

    fn gpu(clique: u32) -> GpuFabric {
        GpuFabric {
            gpu: "0".to_owned(),
            state: FabricState::Completed,
            status: FabricStatus::Success,
            cluster_uuid: Some("5b1e6f4e-8d3a-4c0b-9a52-0123456789ab".to_owned()),
            clique_id: Some(clique),
        }
    }
}
