//! This machine, as the scripts ask it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::Duration;

use imex_config::chain;
use imex_config::operator::Tools;
use imex_host::boot::{self, BootId};
use imex_host::channel::{ChannelLimit, limit};
use imex_host::devices::{self, CharDevices, DevicesError};
use imex_host::fabric::FabricState;
use imex_host::health::HealthSummary;
use imex_host::{GpuFabric, NoFabric, Program, identify, imds, resolve};
use imex_nvml::Gpu;
use imex_slurm::applicable::{self, FabricFact, InstanceType};
use imex_slurm::machine::{Machine, Unknown};
use imex_slurm::scope::Places;
use imex_slurm::tenancy;
use imex_topology::Topology;

use crate::topology::topologies_of;

/// Where the kernel shows processes.
const PROC: &str = "/proc";

/// Where the kernel shows devices of the PCI bus.
const PCI: &str = "/sys/bus/pci/devices";

/// This machine.
#[derive(Clone, Debug)]
pub(super) struct ThisMachine<'o> {
    tools: &'o Tools,
}

impl<'o> ThisMachine<'o> {
    /// With these tools.
    pub(super) fn new(tools: &'o Tools) -> Self {
        ThisMachine { tools }
    }
}

/// A GPU that cannot be in a fabric beside others that can is broken, not of another kind.
fn unless_mixed(why: NoFabric, gpus: &[GpuFabric]) -> NoFabric {
    let others = gpus.iter().any(|gpu| gpu.state != FabricState::NotSupported);
    if let NoFabric::NotSupported { gpu } = &why
        && others
    {
        let status = "not supported, unlike the other GPUs'".to_owned();
        return NoFabric::NotSuccessful { gpu: gpu.clone(), status };
    }
    why
}

/// What is not well with a GPU's fabric, in words.
fn ailing(gpu: &Gpu) -> Option<String> {
    let health = gpu.health?;
    let complaints: Vec<String> = health.complaints().iter().map(ToString::to_string).collect();
    let told = match (complaints.is_empty(), health.summary) {
        (false, _) => complaints.join(", "),
        (true, HealthSummary::Unhealthy) => "its fabric is unhealthy".to_owned(),
        (true, HealthSummary::Limited) => "its fabric can be used, but not in full".to_owned(),
        (true, HealthSummary::Healthy | HealthSummary::Unreported) => return None,
    };
    Some(format!("GPU {} ({}): {told}", gpu.fabric.gpu, gpu.uuid))
}

impl Machine for ThisMachine<'_> {
    fn boot(&self) -> Result<BootId, Unknown> {
        boot::id(Path::new(boot::DEFAULT_ID_PATH)).map_err(|error| Unknown::because(&error))
    }

    fn devices(&self) -> Result<CharDevices, DevicesError> {
        CharDevices::read(Path::new(devices::DEFAULT_PATH))
    }

    async fn instance_type(&self, within: Duration) -> InstanceType {
        match imds::instance_type(imds::DEFAULT_ENDPOINT, within).await {
            Ok(name) => InstanceType::Known { name: name.as_str().to_owned() },
            Err(error) => InstanceType::Unknown { why: chain(&error) },
        }
    }

    async fn fabric(&self, within: Duration) -> FabricFact {
        // It has a thread of its own, and this one has nothing else to do.
        match imex_nvml::ask(Path::new(imex_nvml::DEFAULT_LIBRARY), within) {
            Ok(answer) => {
                let ailing = answer.gpus.iter().filter_map(ailing).collect();
                let gpus: Vec<GpuFabric> = answer.gpus.into_iter().map(|gpu| gpu.fabric).collect();
                match identify(&gpus) {
                    Ok(id) => FabricFact::Attached { id, ailing },
                    Err(why) => FabricFact::NotAttached { why: unless_mixed(why, &gpus) },
                }
            }
            Err(error) => FabricFact::Unknown { why: chain(&error) },
        }
    }

    fn jobs_with_steps(&self) -> Vec<u32> {
        tenancy::jobs_with_steps(Path::new(PROC))
    }

    async fn resolve(&self, names: &[String], within: Duration) -> Result<Vec<Vec<IpAddr>>, Unknown> {
        resolve::all(names, within).await.map_err(|error| Unknown::because(&error))
    }

    fn address_towards(&self, other: IpAddr) -> Option<IpAddr> {
        // Nothing is sent: connecting chooses the way, and with it the address.
        const DISCARD: u16 = 9;
        let any: IpAddr =
            if other.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = UdpSocket::bind((any, 0)).ok()?;
        socket.connect((other, DISCARD)).ok()?;
        socket.local_addr().ok().map(|address| address.ip())
    }

    fn gpu(&self) -> applicable::Gpu {
        let devices = fs::read_dir(PCI).into_iter().flatten().filter_map(Result::ok);
        let is =
            |file: PathBuf, begins: &str| fs::read_to_string(file).is_ok_and(|text| text.starts_with(begins));
        let mut devices = devices.map(|entry| entry.path());
        // The vendor NVIDIA, and the class of display controllers, which data centre GPUs are of as well.
        let found =
            devices.any(|device| is(device.join("vendor"), "0x10de") && is(device.join("class"), "0x03"));
        if found { applicable::Gpu::Nvidia } else { applicable::Gpu::None }
    }

    fn channel_count(&self) -> Option<u32> {
        match ChannelLimit::read(Path::new(limit::DEFAULT_PATH)) {
            Ok(ChannelLimit::Count(count)) => Some(count),
            Ok(ChannelLimit::Unknown) | Err(_) => None,
        }
    }

    async fn scontrol(&self, words: &[&str], within: Duration) -> Result<String, Unknown> {
        let program = Program::new(&self.tools.scontrol).words(words).path(&self.tools.path).deadline(within);
        let said = program.run().await.map_err(|error| Unknown::because(&error))?;
        match said.out.trim().is_empty() {
            // It ends with 0 over errors that it only prints.
            true => Err(Unknown::new(format!("`{}` said nothing: {}", program.line(), said.err.trim()))),
            false => Ok(said.out),
        }
    }

    fn places(&self, file: &Path) -> Result<Option<Places>, Unknown> {
        if !file.exists() {
            return Ok(None);
        }
        let topologies = topologies_of(file).map_err(|failure| Unknown::new(failure.message()))?;
        let default = topologies.cluster_default().and_then(Topology::blocks);
        let blocks = default.or_else(|| topologies.list.iter().find_map(Topology::blocks));
        Ok(blocks.map(|topology| {
            let mut places = BTreeMap::new();
            for block in &topology.blocks {
                for node in block.nodes.iter() {
                    // The first block that has a node counts, as for Slurm.
                    places.entry(node.to_owned()).or_insert_with(|| block.name.clone());
                }
            }
            places
        }))
    }

    fn text(&self, file: &Path) -> Result<String, Unknown> {
        let cannot = |error: io::Error| Unknown::new(format!("{} cannot be read: {error}", file.display()));
        fs::read_to_string(file).map_err(cannot)
    }
}

#[cfg(test)]
mod tests {
    use imex_host::fabric::FabricStatus;
    use imex_host::health::FabricHealth;

    use super::*;

    #[test]
    fn only_a_fabric_that_is_not_well_is_told() {
        let fabric = GpuFabric {
            gpu: "2".to_owned(),
            state: FabricState::Completed,
            status: FabricStatus::Success,
            cluster_uuid: None,
            clique_id: None,
        };
        let told = |mask, summary| {
            let health = Some(FabricHealth { mask, summary });
            ailing(&Gpu { uuid: "GPU-x".to_owned(), fabric: fabric.clone(), health })
        };
        assert_eq!(told(0xAA, HealthSummary::Healthy), None);
        assert_eq!(told(0, HealthSummary::Unreported), None);
        let degraded = told(0xA9, HealthSummary::Limited).unwrap();
        assert_eq!(degraded, "GPU 2 (GPU-x): its bandwidth is degraded");
        assert_eq!(told(0, HealthSummary::Unhealthy).unwrap(), "GPU 2 (GPU-x): its fabric is unhealthy");
    }
}
