//! How a GPU's NVLink fabric fares once it is registered: a mask of small fields, and a summary.
//!
//! A field says "unsupported", "bad" or "good", so that a mask of a healthy GPU is not zero: 0xAA is four times "good".
//! The fields and numbers are those of `nvml.h` (`NVML_GPU_FABRIC_HEALTH_MASK_…`, `NVML_GPU_FABRIC_HEALTH_SUMMARY_…`).

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What a GPU says of its fabric's health.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FabricHealth {
    /// The fields, packed.
    pub mask: u32,
    /// The whole in a word.
    pub summary: HealthSummary,
}

/// The whole in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HealthSummary {
    /// The driver is older than the word.
    Unreported,
    /// All is well.
    Healthy,
    /// It cannot be used.
    Unhealthy,
    /// It can be used, but not in full.
    Limited,
}

/// One thing that is not well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Error)]
#[serde(rename_all = "snake_case")]
pub enum Complaint {
    /// Links are down: less bandwidth.
    #[error("its bandwidth is degraded")]
    DegradedBandwidth,
    /// Routes are being changed.
    #[error("its routes are being recovered")]
    RouteRecovery,
    /// A route is broken.
    #[error("a route is unhealthy")]
    RouteUnhealthy,
    /// Accesses have timed out, and are being recovered from.
    #[error("it recovers from accesses that timed out")]
    AccessTimeoutRecovery,
    /// The GPU or its rack is set up wrongly.
    #[error("it is configured wrongly: {0}")]
    Misconfigured(Misconfiguration),
    /// The GPU is in no partition.
    #[error("no partition is assigned to it")]
    NoPartition,
}

/// What is set up wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Error)]
#[serde(rename_all = "snake_case")]
pub enum Misconfiguration {
    /// The system's GUID.
    #[error("system GUID")]
    SystemGuid,
    /// The chassis' serial number.
    #[error("chassis serial number")]
    ChassisSerial,
    /// There is no partition.
    #[error("no partition")]
    NoPartition,
    /// There are too few NVLinks.
    #[error("too few NVLinks")]
    TooFewLinks,
    /// The GPU's firmware does not fit.
    #[error("incompatible GPU firmware")]
    Firmware,
    /// The GPU is in a wrong place.
    #[error("invalid location")]
    Location,
    /// The GPU's state does not fit.
    #[error("invalid GPU state")]
    State,
    /// A later driver's number.
    #[error("number {0}")]
    Other(u32),
}

/// Two-bit fields of the mask in which 1 is bad, by their shift.
const FLAGS: [(u32, Complaint); 4] = [
    (0, Complaint::DegradedBandwidth),
    (2, Complaint::RouteRecovery),
    (4, Complaint::RouteUnhealthy),
    (6, Complaint::AccessTimeoutRecovery),
];

impl FabricHealth {
    /// The health that the library's two numbers mean. A summary of a later driver counts as not reported: the mask
    /// tells.
    pub fn new(mask: u32, summary: u8) -> Self {
        let summary = match summary {
            1 => HealthSummary::Healthy,
            2 => HealthSummary::Unhealthy,
            3 => HealthSummary::Limited,
            _ => HealthSummary::Unreported,
        };
        FabricHealth { mask, summary }
    }

    /// All that is not well, in the order of the mask; nothing for a GPU that reports nothing.
    pub fn complaints(self) -> Vec<Complaint> {
        let field = |shift: u32, width: u32| self.mask >> shift & ((1 << width) - 1);
        let flags = FLAGS.iter().filter(|(shift, _)| field(*shift, 2) == 1).map(|(_, complaint)| *complaint);
        let wrong = match field(8, 4) {
            0 | 1 => None,
            2 => Some(Misconfiguration::SystemGuid),
            3 => Some(Misconfiguration::ChassisSerial),
            4 => Some(Misconfiguration::NoPartition),
            5 => Some(Misconfiguration::TooFewLinks),
            6 => Some(Misconfiguration::Firmware),
            7 => Some(Misconfiguration::Location),
            8 => Some(Misconfiguration::State),
            other => Some(Misconfiguration::Other(other)),
        };
        let unassigned = (field(12, 2) == 2).then_some(Complaint::NoPartition);
        flags.chain(wrong.map(Complaint::Misconfigured)).chain(unassigned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_of_goods_is_no_complaint() {
        for mask in [0, 0xAA, 0x1AA, 0x11AA] {
            assert_eq!(FabricHealth::new(mask, 1).complaints(), [], "{mask:#x}");
        }
    }

    #[test]
    fn each_field_complains_for_itself() {
        let told = |mask| {
            let complaints = FabricHealth::new(mask, 2).complaints();
            complaints.iter().map(Complaint::to_string).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(told(0xA9), "its bandwidth is degraded");
        assert_eq!(told(0xA6), "its routes are being recovered");
        assert_eq!(told(0x9A), "a route is unhealthy");
        assert_eq!(told(0x6A), "it recovers from accesses that timed out");
        assert_eq!(told(0x5AA), "it is configured wrongly: too few NVLinks");
        assert_eq!(told(0xFAA), "it is configured wrongly: number 15");
        assert_eq!(told(0x21A9), "its bandwidth is degraded; no partition is assigned to it");
    }

    #[test]
    fn a_summary_of_a_later_driver_is_not_reported() {
        assert_eq!(FabricHealth::new(0, 9).summary, HealthSummary::Unreported);
        assert_eq!(FabricHealth::new(0, 3).summary, HealthSummary::Limited);
    }
}
