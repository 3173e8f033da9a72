//! The fabric identity of a machine's GPUs from the text of `nvidia-smi`.
//!
//! Two forms are read: the full text of `nvidia-smi -q`, where each GPU has a section `Fabric` with `State`, `Status`,
//! `CliqueId` and `ClusterUUID`; and CSV with a header line, as `--query-gpu=… --format=csv` writes it. Columns are
//! found by name, whatever their order and spelling (`fabric.clusterUuid`, `fabric.cluster_uuid`).

use crate::fabric::{FabricState, FabricStatus, GpuFabric};

/// Why a text tells nothing of GPUs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SmiError {
    /// It is neither of the two forms.
    #[error("the text is neither that of `nvidia-smi -q` nor CSV with fabric columns")]
    Unknown,
    /// The CSV header lacks a column.
    #[error("the CSV header has no column for the fabric's {column}")]
    NoColumn {
        /// What the column would hold.
        column: &'static str,
    },
    /// A CSV line has another number of fields than the header.
    #[error("line {line} has {found} fields, the header {expected}")]
    Fields {
        /// The line, from 1.
        line: usize,
        /// Its fields.
        found: usize,
        /// Those of the header.
        expected: usize,
    },
    /// A state that no GPU has.
    #[error("line {line}: `{text}` is not a fabric state")]
    State {
        /// The line, from 1.
        line: usize,
        /// What was found.
        text: String,
    },
}

/// Reads either form; which one it is shows itself.
///
/// # Errors
///
/// If it is neither, or a line of it cannot be understood. A GPU without a fabric is not an error.
pub fn parse(text: &str) -> Result<Vec<GpuFabric>, SmiError> {
    let csv_header = text.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| {
        let line = line.to_ascii_lowercase();
        line.contains("fabric") && line.contains(',')
    });
    if csv_header { parse_csv(text) } else { parse_query(text) }
}

/// Reads the text of `nvidia-smi -q`: sections by indentation, `key : value` lines.
fn parse_query(text: &str) -> Result<Vec<GpuFabric>, SmiError> {
    let mut gpus: Vec<GpuFabric> = Vec::new();
    let mut fabric_indent = None;
    for (index, line) in text.lines().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let trimmed = line.trim();
        if trimmed.is_empty() {
            continue;
        }
        if indent == 0
            && let Some(bus) = trimmed.strip_prefix("GPU ")
        {
            gpus.push(unreported(bus));
            fabric_indent = None;
            continue;
        }
        if trimmed == "Fabric" {
            fabric_indent = Some(indent);
            continue;
        }
        match fabric_indent {
            Some(section) if indent > section => {
                if let (Some(gpu), Some((key, value))) = (gpus.last_mut(), trimmed.split_once(':')) {
                    set(gpu, key.trim(), value.trim(), index + 1)?;
                }
            }
            Some(_) | None => fabric_indent = None,
        }
    }
    if gpus.is_empty() { Err(SmiError::Unknown) } else { Ok(gpus) }
}

fn parse_csv(text: &str) -> Result<Vec<GpuFabric>, SmiError> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let (_, header) = lines.next().ok_or(SmiError::Unknown)?;
    let columns: Vec<String> = header.split(',').map(column_name).collect();
    let find = |names: &[&str]| columns.iter().position(|column| names.contains(&column.as_str()));
    let needed = |name: &'static str| {
        find(&[&format!("fabric{}", flat(name))]).ok_or(SmiError::NoColumn { column: name })
    };
    let (state, status) = (needed("state")?, needed("status")?);
    let (uuid, clique) = (needed("cluster UUID")?, needed("clique id")?);
    let name = find(&["index", "pcibusid", "gpubusid", "uuid", "gpuuuid"]);
    let mut gpus = Vec::new();
    for (index, line) in lines {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        if fields.len() != columns.len() {
            return Err(SmiError::Fields { line: index + 1, found: fields.len(), expected: columns.len() });
        }
        let mut gpu =
            unreported(&name.map_or_else(|| gpus.len().to_string(), |name| fields[name].to_owned()));
        for (key, column) in
            [("State", state), ("Status", status), ("ClusterUUID", uuid), ("CliqueId", clique)]
        {
            set(&mut gpu, key, fields[column], index + 1)?;
        }
        gpus.push(gpu);
    }
    Ok(gpus)
}

/// A column's name without what differs between versions: case, dots, underscores, units.
fn column_name(header: &str) -> String {
    flat(header.split('[').next().unwrap_or(header))
}

fn flat(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// A GPU before its lines are read: without a `Fabric` section it does not support one.
fn unreported(gpu: &str) -> GpuFabric {
    GpuFabric {
        gpu: gpu.to_owned(),
        state: FabricState::NotSupported,
        status: FabricStatus::Unknown,
        cluster_uuid: None,
        clique_id: None,
    }
}

fn set(gpu: &mut GpuFabric, key: &str, value: &str, line: usize) -> Result<(), SmiError> {
    match key {
        "State" => {
            gpu.state = state(value).ok_or_else(|| SmiError::State { line, text: value.to_owned() })?
        }
        "Status" => gpu.status = status(value),
        "ClusterUUID" => gpu.cluster_uuid = known(value).map(str::to_owned),
        "CliqueId" => gpu.clique_id = known(value).and_then(|value| value.parse().ok()),
        // Health and whatever else later versions tell in this section.
        _ => {}
    }
    Ok(())
}

fn state(text: &str) -> Option<FabricState> {
    match flat(text).as_str() {
        "completed" => Some(FabricState::Completed),
        "inprogress" => Some(FabricState::InProgress),
        "notstarted" => Some(FabricState::NotStarted),
        "notsupported" | "na" | "" => Some(FabricState::NotSupported),
        _ => None,
    }
}

fn status(text: &str) -> FabricStatus {
    match known(text) {
        None => FabricStatus::Unknown,
        Some(text) if text.eq_ignore_ascii_case("success") => FabricStatus::Success,
        Some(text) => FabricStatus::Failed(text.to_owned()),
    }
}

/// A value, unless it says that there is none.
fn known(value: &str) -> Option<&str> {
    let none = matches!(flat(value).as_str(), "" | "na" | "notsupported");
    (!none).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::identify;

    const UUID: &str = "5b1e6f4e-8d3a-4c0b-9a52-0123456789ab";

    #[test]
    fn the_full_text_gives_each_gpu_with_its_fabric_section() {
        let gpus = parse(include_str!("../tests/data/nvidia-smi-q.txt")).unwrap();
        let names: Vec<&str> = gpus.iter().map(|gpu| gpu.gpu.as_str()).collect();
        assert_eq!(names, ["00000008:01:00.0", "00000009:01:00.0"]);
        assert_eq!(identify(&gpus).unwrap().to_string(), format!("{UUID}.32766"));
    }

    #[test]
    fn columns_are_found_by_name_whatever_their_order_and_spelling() {
        for header in [
            "index, fabric.state, fabric.status, fabric.cliqueId, fabric.clusterUuid",
            "index,fabric.state,fabric.status,fabric.clique_id,fabric.cluster_uuid",
        ] {
            let gpus = parse(&format!("{header}\n0, Completed, Success, 7, {UUID}\n")).unwrap();
            assert_eq!(identify(&gpus).unwrap().to_string(), format!("{UUID}.7"), "{header}");
        }
    }

    #[test]
    fn what_is_not_available_is_not_reported() {
        let gpus = parse("GPU 0\n    Fabric\n        State : N/A\n        Status : N/A\n").unwrap();
        assert_eq!(identify(&gpus).unwrap_err().to_string(), "GPU 0 does not support a fabric");
        let gpus = parse("GPU 0\n    Product Name : H100\nGPU 1\n").unwrap();
        assert_eq!(gpus.len(), 2);
    }

    #[test]
    fn what_is_neither_form_is_refused_with_its_line() {
        assert_eq!(parse("No devices were found"), Err(SmiError::Unknown));
        assert_eq!(
            parse("index, fabric.state\n0, Completed\n"),
            Err(SmiError::NoColumn { column: "status" })
        );
        let header = "fabric.state,fabric.status,fabric.cliqueId,fabric.clusterUuid";
        assert_eq!(
            parse(&format!("{header}\n1,2\n")),
            Err(SmiError::Fields { line: 2, found: 2, expected: 4 })
        );
        let error = parse(&format!("{header}\nWobbly,Success,1,{UUID}\n")).unwrap_err();
        assert_eq!(error.to_string(), "line 2: `Wobbly` is not a fabric state");
    }
}
