//! This machine, as the scripts ask it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use imex_config::chain;
use imex_config::operator::{Family, Tools};
use imex_host::boot::{self, BootId};
use imex_host::devices::{self, CharDevices, DevicesError};
use imex_host::{GpuFabric, Program, identify, imds, resolve};
use imex_slurm::applicable::{FabricFact, InstanceType};
use imex_slurm::machine::{Machine, Unknown};
use imex_slurm::scope::Places;
use imex_slurm::tenancy;
use imex_topology::Topology;

use crate::topology::topologies_of;

/// Where the kernel shows processes.
const PROC: &str = "/proc";

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
                let gpus: Vec<GpuFabric> = answer.gpus.into_iter().map(|gpu| gpu.fabric).collect();
                match identify(&gpus) {
                    Ok(id) => FabricFact::Attached { id },
                    Err(why) => FabricFact::NotAttached { why },
                }
            }
            Err(error) => FabricFact::Unknown { why: chain(&error) },
        }
    }

    fn jobs_with_steps(&self) -> Vec<u32> {
        tenancy::jobs_with_steps(Path::new(PROC))
    }

    async fn resolve(
        &self,
        names: &[String],
        family: Family,
        within: Duration,
    ) -> Result<Vec<IpAddr>, Unknown> {
        let family = match family {
            Family::Any => resolve::Family::PreferV4,
            Family::Ipv4 => resolve::Family::OnlyV4,
            Family::Ipv6 => resolve::Family::OnlyV6,
        };
        resolve::resolve(names, family, within).await.map_err(|error| Unknown::because(&error))
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
