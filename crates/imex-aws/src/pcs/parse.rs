//! PCS's answers: pure functions from bytes, also for fuzzing.

use serde::Deserialize;

use super::{NodeGroup, Queue};
pub use crate::ec2::parse::Refusal;

/// A page of a list: only the ids, because everything else is in the entries' own answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The ids.
    pub ids: Vec<String>,
    /// What names the next page, if there is one.
    pub next: Option<String>,
}

#[derive(Deserialize)]
struct Id {
    id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct QueueList {
    queues: Vec<Id>,
    next_token: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GroupList {
    compute_node_groups: Vec<Id>,
    next_token: Option<String>,
}

#[derive(Deserialize)]
struct QueueAnswer {
    queue: QueueJson,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct QueueJson {
    name: String,
    compute_node_group_configurations: Vec<ConfigurationJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigurationJson {
    compute_node_group_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GroupAnswer {
    compute_node_group: GroupJson,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GroupJson {
    id: String,
    name: String,
    status: String,
    instance_configs: Vec<InstanceJson>,
    scaling_configuration: ScalingJson,
    custom_launch_template: TemplateJson,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InstanceJson {
    instance_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScalingJson {
    max_instance_count: usize,
}

#[derive(Deserialize)]
struct TemplateJson {
    id: String,
    version: String,
}

#[derive(Deserialize)]
struct ErrorJson {
    #[serde(rename = "__type")]
    kind: String,
    #[serde(alias = "Message")]
    message: Option<String>,
}

/// Reads an answer to ListQueues.
///
/// # Errors
///
/// If it is none.
pub fn queue_list(bytes: &[u8]) -> Result<Listed, serde_json::Error> {
    let QueueList { queues, next_token } = serde_json::from_slice(bytes)?;
    Ok(listed(queues, next_token))
}

/// Reads an answer to ListComputeNodeGroups.
///
/// # Errors
///
/// If it is none.
pub fn node_group_list(bytes: &[u8]) -> Result<Listed, serde_json::Error> {
    let GroupList { compute_node_groups, next_token } = serde_json::from_slice(bytes)?;
    Ok(listed(compute_node_groups, next_token))
}

/// Reads an answer to GetQueue.
///
/// # Errors
///
/// If it is none, or a part that must be there is not.
pub fn queue(bytes: &[u8]) -> Result<Queue, serde_json::Error> {
    let QueueAnswer { queue } = serde_json::from_slice(bytes)?;
    let groups = queue.compute_node_group_configurations.into_iter();
    Ok(Queue { name: queue.name, groups: groups.filter_map(|one| one.compute_node_group_id).collect() })
}

/// Reads an answer to GetComputeNodeGroup.
///
/// # Errors
///
/// If it is none, or a part that must be there is not.
pub fn node_group(bytes: &[u8]) -> Result<NodeGroup, serde_json::Error> {
    let GroupAnswer { compute_node_group: group } = serde_json::from_slice(bytes)?;
    let types = group.instance_configs.into_iter().filter_map(|one| one.instance_type);
    Ok(NodeGroup {
        id: group.id,
        name: group.name,
        status: group.status,
        instance_types: types.collect(),
        max_instances: group.scaling_configuration.max_instance_count,
        launch_template: (group.custom_launch_template.id, group.custom_launch_template.version),
    })
}

/// Reads an answer that is an error, if it is one of PCS's.
pub fn error(bytes: &[u8]) -> Option<Refusal> {
    let ErrorJson { kind, message } = serde_json::from_slice(bytes).ok()?;
    // `com.amazonaws.pcs#ThrottlingException`, or with a colon and an address behind it.
    let code = kind.rsplit('#').next().unwrap_or_default().split(':').next().unwrap_or_default();
    let code = code.to_owned();
    (!code.is_empty()).then(|| Refusal { code, message: message.unwrap_or_default(), request_id: None })
}

fn listed(entries: Vec<Id>, next: Option<String>) -> Listed {
    let ids = entries.into_iter().map(|entry| entry.id).collect();
    Listed { ids, next: next.filter(|token| !token.is_empty()) }
}

#[cfg(test)]
mod tests;
