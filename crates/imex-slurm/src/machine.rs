//! What this machine and its surroundings are asked: a trait, so that tests answer as any machine would.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use imex_host::boot::BootId;
use imex_host::devices::{CharDevices, DevicesError};
use thiserror::Error;

use crate::applicable::{FabricFact, Gpu, InstanceType};
use crate::scope::Places;

/// This machine, the resolver, and Slurm's files and tools.
pub trait Machine {
    /// Which boot it is.
    ///
    /// # Errors
    ///
    /// If the kernel does not tell.
    fn boot(&self) -> Result<BootId, Unknown>;

    /// The devices of its drivers.
    ///
    /// # Errors
    ///
    /// If the kernel does not tell.
    fn devices(&self) -> Result<CharDevices, DevicesError>;

    /// Which instance of a cloud it is.
    fn instance_type(&self, within: Duration) -> impl Future<Output = InstanceType>;

    /// Which fabric its GPUs are attached to.
    fn fabric(&self, within: Duration) -> impl Future<Output = FabricFact>;

    /// The jobs that have a step here.
    fn jobs_with_steps(&self) -> Vec<u32>;

    /// All addresses of each name, in the order of the names, as the resolver has them.
    ///
    /// # Errors
    ///
    /// If it does not know one of them, or not `within` the time.
    fn resolve(
        &self,
        names: &[String],
        within: Duration,
    ) -> impl Future<Output = Result<Vec<Vec<IpAddr>>, Unknown>>;

    /// The address by which this machine speaks to another, if there is a way to it.
    fn address_towards(&self, other: IpAddr) -> Option<IpAddr>;

    /// Whether it has a GPU of NVIDIA's, whatever the driver says.
    fn gpu(&self) -> Gpu;

    /// How many channels the driver has; `None` if it does not tell.
    fn channel_count(&self) -> Option<u32>;

    /// What `scontrol` says to some words.
    ///
    /// # Errors
    ///
    /// If it does not answer `within` the time, or fails.
    fn scontrol(&self, words: &[&str], within: Duration) -> impl Future<Output = Result<String, Unknown>>;

    /// Where nodes are by a topology file; `None` if there is no such file.
    ///
    /// # Errors
    ///
    /// If it cannot be read or used.
    fn places(&self, file: &Path) -> Result<Option<Places>, Unknown>;

    /// The text of a file.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    fn text(&self, file: &Path) -> Result<String, Unknown>;
}

/// Why something is not known: a sentence's fragment, with its causes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unknown(String);

impl Unknown {
    /// Because of an error.
    pub fn because(error: &dyn std::error::Error) -> Self {
        Unknown(imex_config::chain(error))
    }

    /// With a reason of its own.
    pub fn new(why: impl Into<String>) -> Self {
        Unknown(why.into())
    }
}
