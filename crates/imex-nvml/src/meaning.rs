//! From the library's numbers to the words of [`imex_host::fabric`]. Pure.

use std::fmt::Write;

use imex_host::GpuFabric;
use imex_host::fabric::{FabricState, FabricStatus};
use imex_host::health::FabricHealth;

use crate::error::NvmlError;
use crate::library::Info;

/// What GPU `index` says. `text` is what the library says of a result.
pub(crate) fn fabric(
    index: u32,
    info: Option<Info>,
    text: impl Fn(u32) -> String,
) -> Result<GpuFabric, NvmlError> {
    let gpu = index.to_string();
    let (uuid, clique, state, status) = match info {
        None => {
            return Ok(GpuFabric {
                gpu,
                state: FabricState::NotSupported,
                status: FabricStatus::Unknown,
                cluster_uuid: None,
                clique_id: None,
            });
        }
        Some(Info::Plain(info)) => (info.cluster_uuid, info.clique_id, info.state, info.status),
        Some(Info::Versioned(info)) => (info.cluster_uuid, info.clique_id, info.state, info.status),
    };
    let state = match state {
        0 => FabricState::NotSupported,
        1 => FabricState::NotStarted,
        2 => FabricState::InProgress,
        3 => FabricState::Completed,
        other => return Err(NvmlError::Malformed { what: "fabric state", found: other.to_string() }),
    };
    // Until registration has completed the status says nothing.
    let status = match (state, status) {
        (FabricState::NotSupported | FabricState::NotStarted | FabricState::InProgress, _) => {
            FabricStatus::Unknown
        }
        (FabricState::Completed, 0) => FabricStatus::Success,
        (FabricState::Completed, code) => FabricStatus::Failed(text(code)),
    };
    Ok(GpuFabric { gpu, state, status, cluster_uuid: Some(uuid_text(uuid)), clique_id: Some(clique) })
}

/// How the fabric fares, as far as this struct tells.
pub(crate) fn health(info: &Info) -> Option<FabricHealth> {
    match info {
        Info::Plain(_) => None,
        Info::Versioned(info) => Some(FabricHealth::new(info.health_mask, info.health_summary)),
    }
}

fn uuid_text(bytes: [u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use imex_host::identify;

    use super::*;
    use crate::raw;

    #[test]
    fn a_completed_registration_is_an_identity() {
        let fabric = fabric(2, Some(Info::Versioned(completed())), said).unwrap();
        assert_eq!(fabric.gpu, "2");
        let identity = identify(&[fabric]).unwrap();
        assert_eq!(identity.to_string(), "01010101-0101-0101-0101-010101010101.32766");
    }

    #[test]
    fn a_status_counts_only_once_registration_has_completed() {
        for (state, expected) in
            [(1, FabricStatus::Unknown), (3, FabricStatus::Failed("result 23".to_owned()))]
        {
            let info = raw::FabricInfoV { state, status: 23, ..completed() };
            assert_eq!(fabric(0, Some(Info::Versioned(info)), said).unwrap().status, expected);
        }
    }

    #[test]
    fn a_state_that_no_gpu_has_is_refused() {
        let info = raw::FabricInfo { state: 9, ..raw::FabricInfo::default() };
        let error = fabric(0, Some(Info::Plain(info)), said).unwrap_err();
        assert_eq!(error.to_string(), "the library reports 9 as fabric state");
    }

    #[test]
    fn a_gpu_that_knows_no_fabric_supports_none() {
        assert_eq!(fabric(0, None, said).unwrap().state, FabricState::NotSupported);
    }

    fn completed() -> raw::FabricInfoV {
        raw::FabricInfoV { cluster_uuid: [1; 16], clique_id: 32766, state: 3, ..raw::FabricInfoV::default() }
    }

    fn said(code: u32) -> String {
        format!("result {code}")
    }
}
