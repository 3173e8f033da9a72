//! Whether this node has a domain to form for this job: capability first, then type, fabric, job, service.
//!
//! Looking costs time, so that [`next`] says what it wants to know next, or what it has come to. Hardware that has IMEX and
//! a service that is missing is an error, never a silent skip: the job would run, slowly, and nobody would know why.

use imex_config::operator::{Expect, Fabric, Health, OneNode, Operator, Shared, Unusable};
use imex_host::devices::{CharDevices, DevicesError, NoMajor};
use imex_host::{FabricId, NoFabric};
use serde::Serialize;
use thiserror::Error;

use crate::exclusivity::Exclusivity;

/// What is known. The first two are of the job, the rest is asked for one by one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Whether the job has its nodes for itself.
    pub exclusivity: Exclusivity,
    /// How many nodes it has.
    pub nodes: usize,
    /// Whether the driver has IMEX channels.
    pub capability: Option<Capability>,
    /// Whether the machine has a GPU of NVIDIA's, whatever its driver says.
    pub gpu: Option<Gpu>,
    /// Which instance of a cloud this machine is.
    pub instance_type: Option<InstanceType>,
    /// Which fabric its GPUs are attached to.
    pub fabric: Option<FabricFact>,
    /// How the service's unit stands.
    pub unit: Option<UnitFile>,
}

/// What `/proc/devices` says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Capability {
    /// The driver has registered its channels.
    Channels {
        /// With this major.
        major: String,
    },
    /// It has not.
    None {
        /// Why, in words.
        why: String,
    },
    /// It could not be read.
    Unknown {
        /// Why, in words.
        why: String,
    },
}

/// What the machine's buses say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gpu {
    /// There is a GPU of NVIDIA's.
    Nvidia,
    /// There is none.
    None,
}

/// What the metadata service says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum InstanceType {
    /// This one.
    Known {
        /// Its name.
        name: String,
    },
    /// It does not answer.
    Unknown {
        /// Why, in words.
        why: String,
    },
}

/// What NVML says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum FabricFact {
    /// All GPUs are in one partition.
    Attached {
        /// Which.
        id: FabricId,
        /// What is not well with it, by GPU, in words.
        ailing: Vec<String>,
    },
    /// They are not.
    NotAttached {
        /// Why.
        why: NoFabric,
    },
    /// NVML is not there, or fails.
    Unknown {
        /// Why, in words.
        why: String,
    },
}

/// How the service's unit is installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum UnitFile {
    /// It may be started: enabled, static, linked and the like.
    Usable,
    /// There is none.
    Missing,
    /// It is masked.
    Masked,
    /// It is disabled.
    Disabled,
}

/// What is to be looked at next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// `/proc/devices`.
    Capability,
    /// The machine's buses.
    Gpu,
    /// The metadata service.
    InstanceType,
    /// NVML.
    Fabric,
    /// The service manager.
    Unit,
}

/// A step towards the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// This has to be known.
    Ask(Question),
    /// That is it.
    Is(Applicability),
}

/// What is to be done for a job on this node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Applicability {
    /// Its domain is to be formed.
    Domain,
    /// It needs its channel and no domain.
    Channel,
    /// Nothing.
    Skip {
        /// Why.
        why: Skip,
    },
    /// It must not run here.
    Refuse {
        /// Why.
        why: Refusal,
    },
}

/// Why nothing is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Skip {
    /// The machine has no IMEX.
    #[error("this machine has no IMEX channels: {why}")]
    NoChannels {
        /// In words.
        why: String,
    },
    /// The instance type has none.
    #[error("instance type {name} has no IMEX")]
    InstanceType {
        /// Its name.
        name: String,
    },
    /// The GPUs cannot be part of a fabric.
    #[error("the GPUs are in no NVLink fabric: {why}")]
    NoFabric {
        /// Why.
        why: NoFabric,
    },
    /// The job shares its nodes.
    #[error("the job is not exclusive ({because}), and a domain cannot be shared")]
    Shared {
        /// By which words.
        because: &'static str,
    },
    /// The job has one node.
    #[error("the job has one node")]
    OneNode,
    /// The service cannot be used, and policy says that this is no fault.
    #[error("unit {unit} is {}, and service.unit_unusable is \"skip\"", state.word())]
    Unit {
        /// Its name.
        unit: String,
        /// How it stands.
        state: UnitFile,
    },
}

/// Why a job must not run here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Refusal {
    /// The machine should have IMEX.
    #[error("this machine should have IMEX channels: {why}")]
    NoChannels {
        /// In words.
        why: String,
    },
    /// It cannot be told whether it has.
    #[error("it cannot be told whether this machine has IMEX channels: {why}")]
    Unreadable {
        /// In words.
        why: String,
    },
    /// A GPU is in no healthy fabric.
    #[error("the GPUs are not attached to the NVLink fabric: {why}")]
    Fabric {
        /// Why.
        why: NoFabric,
    },
    /// A GPU's fabric is not well.
    #[error("the GPUs' NVLink fabric is not well, and hardware.health is \"refuse\": {}", ailing.join("; "))]
    Health {
        /// What, by GPU, in words.
        ailing: Vec<String>,
    },
    /// NVML is needed and not there.
    #[error("the fabric of the GPUs cannot be asked, and hardware.fabric is \"required\": {why}")]
    FabricUnknown {
        /// In words.
        why: String,
    },
    /// Jobs have to be exclusive.
    #[error("the job is not exclusive ({because}), and jobs.shared is \"fail\"")]
    Shared {
        /// By which words.
        because: &'static str,
    },
    /// The service cannot be used.
    #[error("unit {unit} is {}, and this machine needs it", state.word())]
    Unit {
        /// Its name.
        unit: String,
        /// How it stands.
        state: UnitFile,
    },
}

impl Capability {
    /// What the list of devices says.
    pub fn of(devices: &Result<CharDevices, DevicesError>) -> Self {
        match devices.as_ref().map(CharDevices::imex_channels) {
            Ok(Ok(major)) => Capability::Channels { major: major.to_string() },
            Ok(Err(NoMajor::Absent { name })) => {
                Capability::None { why: NoMajor::Absent { name }.to_string() }
            }
            Ok(Err(error @ NoMajor::Ambiguous { .. })) => Capability::Unknown { why: error.to_string() },
            Err(error) => Capability::Unknown { why: imex_config::chain(error) },
        }
    }
}

impl UnitFile {
    /// In a word.
    pub const fn word(&self) -> &'static str {
        match self {
            UnitFile::Usable => "usable",
            UnitFile::Missing => "not installed",
            UnitFile::Masked => "masked",
            UnitFile::Disabled => "disabled",
        }
    }
}

impl Facts {
    /// What is known before anything is looked at.
    pub fn of_job(exclusivity: Exclusivity, nodes: usize) -> Self {
        Facts {
            exclusivity,
            nodes,
            capability: None,
            gpu: None,
            instance_type: None,
            fabric: None,
            unit: None,
        }
    }
}

/// What is to be looked at next, or what it comes to.
pub fn next(facts: &Facts, policy: &Operator) -> Next {
    decide(facts, policy).map_or_else(|next| next, Next::Is)
}

fn decide(facts: &Facts, policy: &Operator) -> Result<Applicability, Next> {
    hardware(facts, policy)?;
    // A job that wants nothing is not refused for what is broken.
    let extent = job(facts, policy)?;
    fabric(facts, policy)?;
    if extent == Applicability::Domain {
        service(facts, policy)?;
    }
    Ok(extent)
}

/// Whether the machine has IMEX.
fn hardware(facts: &Facts, policy: &Operator) -> Result<(), Next> {
    match known(facts.capability.as_ref(), Question::Capability)? {
        Capability::Channels { .. } => {}
        Capability::Unknown { why } => return refuse(Refusal::Unreadable { why: why.clone() }),
        Capability::None { why } => return without_channels(facts, policy, why),
    }
    if let Some(patterns) = &policy.hardware.instance_types
        && let InstanceType::Known { name } = known(facts.instance_type.as_ref(), Question::InstanceType)?
        && !patterns.iter().any(|pattern| matches(pattern, name))
    {
        return skip(Skip::InstanceType { name: name.clone() });
    }
    Ok(())
}

/// Whether the GPUs are attached to what memory is shared over.
fn fabric(facts: &Facts, policy: &Operator) -> Result<(), Next> {
    if policy.hardware.fabric == Fabric::Ignored {
        return Ok(());
    }
    match (known(facts.fabric.as_ref(), Question::Fabric)?, policy.hardware.fabric) {
        (FabricFact::Attached { ailing, .. }, _)
            if !ailing.is_empty() && policy.hardware.health == Health::Refuse =>
        {
            refuse(Refusal::Health { ailing: ailing.clone() })
        }
        (FabricFact::Attached { .. }, _)
        | (FabricFact::Unknown { .. }, Fabric::IfKnown | Fabric::Ignored) => Ok(()),
        (FabricFact::Unknown { why }, Fabric::Required) => {
            refuse(Refusal::FabricUnknown { why: why.clone() })
        }
        // Such GPUs have the driver and its channels, and nothing to share memory over.
        (
            FabricFact::NotAttached { why: why @ NoFabric::NotSupported { .. } },
            Fabric::IfKnown | Fabric::Ignored,
        ) => skip(Skip::NoFabric { why: why.clone() }),
        (FabricFact::NotAttached { why }, _) => refuse(Refusal::Fabric { why: why.clone() }),
    }
}

/// A machine whose driver has no channels: is it one that never has?
fn without_channels(facts: &Facts, policy: &Operator, why: &str) -> Result<(), Next> {
    let why = why.to_owned();
    if policy.hardware.expect == Expect::Always {
        return refuse(Refusal::NoChannels { why });
    }
    if let Some(patterns) = &policy.hardware.instance_types
        && let InstanceType::Known { name } = known(facts.instance_type.as_ref(), Question::InstanceType)?
        && patterns.iter().any(|pattern| matches(pattern, name))
    {
        return refuse(Refusal::NoChannels { why: format!("instance type {name} has IMEX, but {why}") });
    }
    // A GPU and a service that is to be used, but no channels: the driver has failed. Were this node skipped, nobody would be
    // at fault while the others wait for it, and the job would come back to it.
    if *known(facts.gpu.as_ref(), Question::Gpu)? == Gpu::Nvidia
        && *known(facts.unit.as_ref(), Question::Unit)? == UnitFile::Usable
    {
        return refuse(Refusal::NoChannels {
            why: format!("it has a GPU and the service's unit, but {why}"),
        });
    }
    skip(Skip::NoChannels { why })
}

/// What the job needs.
fn job(facts: &Facts, policy: &Operator) -> Result<Applicability, Next> {
    if let Exclusivity::Shared(_) = facts.exclusivity {
        let because = facts.exclusivity.describe();
        return match policy.jobs.shared {
            Shared::Skip => skip(Skip::Shared { because }),
            Shared::Fail => refuse(Refusal::Shared { because }),
        };
    }
    match (facts.nodes, policy.jobs.one_node) {
        (0 | 1, OneNode::Skip) => skip(Skip::OneNode),
        (0 | 1, OneNode::Channel) => Ok(Applicability::Channel),
        (_, OneNode::Domain | OneNode::Channel | OneNode::Skip) => Ok(Applicability::Domain),
    }
}

/// Whether the service can be used.
fn service(facts: &Facts, policy: &Operator) -> Result<(), Next> {
    let state = known(facts.unit.as_ref(), Question::Unit)?;
    let (unit, state) = (policy.service.unit.clone(), state.clone());
    match (&state, policy.service.unit_unusable) {
        (UnitFile::Usable, _) => Ok(()),
        (UnitFile::Missing | UnitFile::Masked | UnitFile::Disabled, Unusable::Fail) => {
            refuse(Refusal::Unit { unit, state })
        }
        (UnitFile::Missing | UnitFile::Masked | UnitFile::Disabled, Unusable::Skip) => {
            skip(Skip::Unit { unit, state })
        }
    }
}

fn known<T>(fact: Option<&T>, question: Question) -> Result<&T, Next> {
    fact.ok_or(Next::Ask(question))
}

fn skip<T>(why: Skip) -> Result<T, Next> {
    Err(Next::Is(Applicability::Skip { why }))
}

fn refuse<T>(why: Refusal) -> Result<T, Next> {
    Err(Next::Is(Applicability::Refuse { why }))
}

/// Whether a pattern, in which `*` stands for anything, is all of a name.
fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(place) = rest.find(part) else { return false };
        rest = &rest[place + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests;
