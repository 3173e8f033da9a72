//! What is known of a node when the checks judge it.
//!
//! Everything is a value; what could not be asked carries the reason. A bundle holds it as JSON.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use imex_config::Severity;
use imex_config::operator::Operator;
use imex_host::GpuFabric;
use imex_host::channel::AccessReport;
use imex_host::systemd::ServiceFacts;
use imex_slurm::sweep::Life;
use jiff::Timestamp;
use serde::Serialize;

use crate::table::Table;

/// Something that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Told<T> {
    /// The answer.
    Known(T),
    /// Why there is none: a lower-case fragment.
    Unknown(String),
}

/// A node.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Facts {
    /// Its name.
    pub(crate) node: String,
    /// When it was looked at.
    pub(crate) time: Timestamp,
    /// As whom.
    pub(crate) rights: Rights,
    /// How domains are made; where the file cannot be used, as it would be without one.
    #[serde(skip)]
    pub(crate) operator: Operator,
    /// What is wrong with that file; nothing as a rule.
    pub(crate) operator_faults: Option<String>,
    pub(crate) driver: Driver,
    pub(crate) channel: Channel,
    pub(crate) service: Service,
    pub(crate) config: Config,
    pub(crate) network: Network,
    /// The local daemon's view of its domain.
    pub(crate) domain: Told<Domain>,
    /// If whoever asks may read its configuration and connect to its socket.
    pub(crate) admission: Admission,
    pub(crate) job: Job,
    pub(crate) slurm: Slurm,
}

/// What whoever asks may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Rights {
    /// Everything.
    Root,
    /// Not what belongs to others.
    User,
}

/// If whoever asks may ask the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Admission {
    /// As far as permissions go.
    Admitted,
    /// Permissions are against it: that it does not answer says nothing.
    Denied,
}

/// NVIDIA's driver and the GPUs.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Driver {
    /// Its version; `None` if it is not loaded.
    pub(crate) version: Option<String>,
    /// Its GPUs on the PCI bus that no driver has, by address.
    pub(crate) idle: Vec<String>,
    /// The major of `nvidia-caps-imex-channels`, if it is registered.
    pub(crate) channels_major: Told<Option<u32>>,
    /// If `nvidia-caps`, the other name, is registered.
    pub(crate) caps_major: Option<u32>,
    /// How many channels it has; `None` if it does not tell.
    pub(crate) channel_count: Told<Option<u32>>,
    /// What NVML says of the GPUs; `None` if there is no such library.
    pub(crate) gpus: Told<Option<Vec<Gpu>>>,
}

/// A GPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Gpu {
    /// Its registration with the fabric.
    pub(crate) fabric: GpuFabric,
    /// What is not well with its fabric.
    pub(crate) complaints: Vec<String>,
}

/// The channel that counts: the job's, else channel 0.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Channel {
    /// Its device.
    pub(crate) path: PathBuf,
    /// What is wrong with it.
    pub(crate) faults: Told<Vec<String>>,
    /// Whose access was tried.
    pub(crate) user: String,
    /// If it can be opened.
    pub(crate) access: Told<AccessReport>,
}

/// The service, and the other one.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Service {
    /// The unit that is to run.
    pub(crate) unit: String,
    /// How it fares.
    pub(crate) state: Told<Unit>,
    /// The other provider's unit.
    pub(crate) other_unit: String,
    /// How that one fares.
    pub(crate) other: Told<Unit>,
    /// Processes that are a daemon by their name.
    pub(crate) processes: Vec<Process>,
}

/// A unit of systemd's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    /// There is none.
    Missing,
    /// It is there.
    Found(Box<ServiceFacts>),
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Process {
    /// Its number.
    pub(crate) pid: u32,
    /// Its name.
    pub(crate) name: String,
}

/// The service's files.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Config {
    /// Its configuration.
    pub(crate) path: PathBuf,
    /// The node map.
    pub(crate) map: PathBuf,
    /// The entries of the map; unknown if it cannot be read.
    pub(crate) entries: Told<Vec<String>>,
    /// Which entry is this node.
    pub(crate) own: Option<usize>,
    /// When the map was changed last.
    pub(crate) map_changed: Option<Timestamp>,
    /// The port for peers.
    pub(crate) port: Option<u16>,
    /// The port for commands, if there is one.
    pub(crate) command_port: Option<u16>,
    /// What is wrong with it, by severity and text.
    pub(crate) problems: Vec<(Severity, String)>,
    /// What is wrong with the node map, likewise.
    pub(crate) map_problems: Vec<(Severity, String)>,
    /// If it could be judged at all.
    pub(crate) judged: Told<()>,
    /// What is wrong with the certificates, or soon will be; `None` if links are not secured by TLS.
    pub(crate) certificates: Option<Vec<(Severity, String)>>,
    /// Counters since the daemon's start, from its statistics; empty if it writes none.
    pub(crate) counters: BTreeMap<String, u64>,
}

/// The network, as far as the service is concerned.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Network {
    /// Who listens at the two ports.
    pub(crate) listeners: Told<Vec<Listener>>,
    /// The ports that the kernel gives to outgoing connections.
    pub(crate) ephemeral: Option<(u16, u16)>,
    /// Those of them that it does not give.
    pub(crate) reserved: String,
    /// What the names of the map stand for; addresses are not among them.
    pub(crate) names: Vec<Name>,
    /// How members answer that the daemon does not reach.
    pub(crate) reached: Vec<Reached>,
}

/// A socket that is listened at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Listener {
    /// Its port.
    pub(crate) port: u16,
    /// The process, if it could be found: root finds all.
    pub(crate) process: Option<Process>,
}

/// A name of the map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Name {
    /// The entry.
    pub(crate) entry: String,
    /// What it stands for, in order.
    pub(crate) addresses: Told<Vec<IpAddr>>,
}

/// A member that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Reached {
    /// Its entry.
    pub(crate) entry: String,
    /// How it answers at the service's port.
    pub(crate) answer: Answer,
}

/// How a member answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    /// Somebody listens.
    Connected,
    /// The machine answers, and nobody listens.
    Refused,
    /// Nothing came back in time.
    Silent,
    /// The system says something else.
    Failed(String),
}

/// A domain.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Domain {
    /// Its table.
    pub(crate) table: Table,
    /// Who is missing and why, in lines; from imexd only.
    pub(crate) diagnosis: String,
}

/// What the node knows of jobs.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Job {
    /// This boot.
    pub(crate) boot_id: Told<String>,
    /// Jobs that have a step here.
    pub(crate) alive: Vec<u32>,
    /// Who holds a lease.
    pub(crate) leases: Told<Vec<String>>,
    /// The state of the job's domain, if there is one.
    pub(crate) domain: Told<Option<JobDomain>>,
    /// What Slurm says of jobs that a lease or domain names and that have no step here.
    pub(crate) lives: BTreeMap<u32, Life>,
    /// The newest records of prologs, the newest first.
    pub(crate) prologs: Told<Vec<Run>>,
    /// The newest records of epilogs and sweeps.
    pub(crate) epilogs: Told<Vec<Run>>,
    /// If a prolog, epilog or sweep was at work before or after the rest was looked at.
    pub(crate) at_work: bool,
    /// Of the folders of `[files]` those on a file system that other machines may have as well: key, folder, file system.
    pub(crate) shared: Told<Vec<(String, PathBuf, String)>>,
}

/// The state of a job's domain, as its prolog wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct JobDomain {
    /// Whose it is.
    pub(crate) job: u32,
    /// This node's name in Slurm.
    pub(crate) node: Option<String>,
    /// The job's user, by number.
    pub(crate) uid: Option<u32>,
    /// On which boot it was made.
    pub(crate) boot_id: String,
    /// How far it has come: `forming`, `up`, `channel_only`, `skipped`, `failed`.
    pub(crate) stage: String,
    /// Why it is not UP.
    pub(crate) reason: Option<String>,
    /// What tells it from other domains.
    pub(crate) domain_id: Option<String>,
    /// The block, if the job is divided.
    pub(crate) block: Option<String>,
    /// The members' names in Slurm and entries of the map.
    pub(crate) members: Vec<(String, String)>,
    /// The channel's device.
    pub(crate) channel: Option<PathBuf>,
}

/// A run of a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Run {
    /// The record.
    pub(crate) file: String,
    /// When it began.
    pub(crate) time: String,
    /// The job, if it is told.
    pub(crate) job: Option<u64>,
    /// On which boot, if it is told.
    pub(crate) boot_id: Option<String>,
    /// How it ended, in a word; empty if it is not told.
    pub(crate) ending: String,
    /// The exit code.
    pub(crate) exit_code: u64,
    /// What it says.
    pub(crate) message: String,
}

/// Slurm's settings.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Slurm {
    /// What `imex slurm check` finds: rule, severity, what. `None` if there is no Slurm here.
    pub(crate) findings: Told<Option<Vec<(String, String, String)>>>,
    /// This node's line among the reports of all nodes, if there is such a file: its fabric.
    pub(crate) reported_fabric: Option<String>,
}

impl<T> Told<T> {
    /// The answer, if there is one.
    pub(crate) fn known(&self) -> Option<&T> {
        match self {
            Told::Known(known) => Some(known),
            Told::Unknown(_) => None,
        }
    }
}

impl<T, E: std::error::Error> From<Result<T, E>> for Told<T> {
    fn from(result: Result<T, E>) -> Self {
        match result {
            Ok(known) => Told::Known(known),
            Err(error) => Told::Unknown(imex_config::chain(&error)),
        }
    }
}
