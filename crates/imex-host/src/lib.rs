//! What one machine is: its names as Slurm writes them, and the NVLink fabric that its GPUs are attached to.
//!
//! [`hostlist`] reads and writes bracketed ranges (`n[1-3,7]x[01-04]`). [`fabric`] holds the vocabulary of fabric
//! identity and the rules by which the reports of a machine's GPUs become one identity or a reason why there is none,
//! [`health`] what a GPU complains of.
//! [`nvidia_smi`] reads those reports from the text of NVIDIA's tool, [`report`] carries them between machines.
//!
//! [`devices`] reads which drivers the kernel has registered; [`channel`] looks at, makes, checks and removes the device
//! nodes of IMEX channels. [`boot`] tells one boot of the machine from another, [`person`] one user from another.
//!
//! [`systemd`] asks the service manager and awaits what it does, [`imds`] a cloud's metadata service for the machine's
//! type, [`resolve`] the resolver for addresses. [`program`] runs other programs (Slurm's) without ever hanging on one.
//! [`lease`] is the contract between those who use the node's domain and those who would remake it.
//!
//! Parsers take arbitrary text and never panic: [`HostList::parse`](hostlist::HostList::parse),
//! [`nvidia_smi::parse`], [`report::NodeReport::parse`], [`CharDevices::parse`](devices::CharDevices::parse),
//! [`ChannelLimit::parse`](channel::ChannelLimit::parse) and [`FabricId`]'s `FromStr` are the entry points for fuzzing.

pub mod boot;
pub mod channel;
pub mod devices;
pub mod fabric;
pub mod health;
pub mod hostlist;
pub mod imds;
pub mod lease;
pub mod natural;
pub mod nvidia_smi;
pub mod person;
pub mod program;
pub mod report;
pub mod resolve;
pub mod systemd;

pub use fabric::{CliqueId, ClusterUuid, FabricId, GpuFabric, GpuFabrics, NoFabric, identify};
pub use hostlist::{HostList, HostListError, compress};
pub use program::{Program, RunError, Said};
pub use report::{Asked, NodeReport};
