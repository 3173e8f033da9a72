//! `openimex.toml`: how the domains of this node's jobs are made.
//!
//! [`Operator`] is the checked meaning of the file. [`load`] reads it, [`Operator::parse`] judges a text; both report every
//! [`Problem`] of the file in one run, an unknown key with the nearest known one. A key that the file leaves
//! out has its default, and so has every key where there is no file at its usual place. [`keys`] is the table of keys, [`example()`] writes it as
//! a commented file.

mod example;
pub mod keys;
mod parse;
mod value;
pub mod words;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

pub use self::example::{example, reference};
pub use self::keys::OperatorKey;
use self::keys::*;
use self::parse::Values;
pub use self::value::OperatorValueError;
pub use self::words::{
    ChannelOwner, Channels, Expect, Fabric, Family, Health, Innocent, OneNode, PeersBy, Port, Provider,
    ScopeBy, Shared, Tie, Unusable,
};
use crate::file::{self, FileError};
use crate::problem::{Problem, Problems, Severity};

/// Where the file is looked for.
pub const DEFAULT_OPERATOR: &str = "/etc/openimex/openimex.toml";

/// The largest file in bytes: more than a hundred times the commented example.
const MAX_BYTES: usize = 1 << 20;

/// What the file means. Every value is one that its key takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// The service that forms the domains.
    pub service: ServicePolicy,
    /// Which nodes have something to form.
    pub hardware: HardwarePolicy,
    /// Which jobs get a domain.
    pub jobs: JobPolicy,
    /// The channel devices.
    pub channels: ChannelPolicy,
    /// How the nodes of a job are divided into domains.
    pub scope: ScopePolicy,
    /// Where addresses come from.
    pub peers: PeerPolicy,
    /// The prolog's times and what it does about others' faults.
    pub prolog: PrologPolicy,
    /// How long the epilog may take in all.
    pub epilog_budget: Duration,
    /// Where files are.
    pub files: Files,
    /// Other programs.
    pub tools: Tools,
    /// Whether tasks get hints for NCCL.
    pub nccl_hints: bool,
}

/// `[service]` and `[auth]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServicePolicy {
    /// Whose it is.
    pub provider: Provider,
    /// Its unit.
    pub unit: String,
    /// Its control tool, a path or a name.
    pub control: String,
    /// Its configuration file.
    pub config: PathBuf,
    /// Its node map, if it is not the one that the configuration file names.
    pub node_map: Option<PathBuf>,
    /// What a unit that cannot be used means.
    pub unit_unusable: Unusable,
    /// Where its port comes from.
    pub port: Port,
    /// Whether its nodes prove their cluster with MUNGE.
    pub munge: bool,
}

/// `[hardware]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HardwarePolicy {
    /// What a node without IMEX channels means.
    pub expect: Expect,
    /// Patterns of instance types, if the metadata service is to be asked; `*` stands for anything.
    pub instance_types: Option<Vec<String>>,
    /// What the GPUs' fabric identity must be.
    pub fabric: Fabric,
    /// What it means that the fabric is not well.
    pub health: Health,
}

/// `[jobs]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobPolicy {
    /// Jobs that share their nodes.
    pub shared: Shared,
    /// Jobs on one node.
    pub one_node: OneNode,
}

/// `[channels]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelPolicy {
    /// Which one a job gets.
    pub channels: Channels,
    /// The folder of the devices.
    pub directory: PathBuf,
    /// Permission bits.
    pub mode: u32,
    /// Whose they are.
    pub owner: ChannelOwner,
    /// How many the driver has, from 1; channels are numbered from 0.
    pub count: u32,
    /// Which ones the boot unit makes: first and last number of each range, in the order of the file.
    pub at_boot: Vec<(u32, u32)>,
}

/// `[scope]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopePolicy {
    /// By what.
    pub by: ScopeBy,
    /// The topology file, if it is not the one beside `slurm.conf`.
    pub topology_file: Option<PathBuf>,
    /// The file of fabric reports.
    pub reports: PathBuf,
}

/// `[peers]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerPolicy {
    /// By what.
    pub by: PeersBy,
    /// The file of names and addresses.
    pub map: PathBuf,
    /// Which addresses are taken.
    pub family: Family,
}

/// `[prolog]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrologPolicy {
    /// How long it may take in all.
    pub budget: Duration,
    /// How long a service may take to stop before it is killed.
    pub stop: Duration,
    /// What a node does that sees another one at fault.
    pub innocent: Innocent,
    /// What a node does when nobody can tell who is at fault.
    pub tie: Tie,
}

/// `[files]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// Records of runs; they outlive a reboot.
    pub state: PathBuf,
    /// State of running jobs; gone after a reboot.
    pub run: PathBuf,
    /// Logs of jobs.
    pub logs: PathBuf,
    /// How many records, and how many logs, are kept; at least 1.
    pub keep: usize,
}

/// `[tools]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tools {
    /// Where programs are looked for.
    pub path: String,
    /// Slurm's scontrol, a path or a name.
    pub scontrol: String,
    /// How long one call of it may take.
    pub scontrol_deadline: Duration,
}

/// Why the file cannot be used.
#[derive(Debug, Error)]
pub enum OperatorError {
    /// It cannot be read.
    #[error("{} cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: FileError,
    },
    /// There are errors in it.
    #[error("{} cannot be used:\n{problems}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// All that is wrong.
        problems: Problems,
    },
}

/// Reads the file. Where there is none at [`DEFAULT_OPERATOR`], everything has its default.
///
/// # Errors
///
/// If it cannot be read, is not there although another place was named, or has errors; all of them are told.
pub fn load(path: &Path) -> Result<Operator, OperatorError> {
    match salvage(path) {
        (operator, None) => Ok(operator),
        (_, Some(error)) => Err(error),
    }
}

/// Reads as much of the file as is right, and why the rest is not: for what must be cleaned up whatever the file says. A key
/// that is wrong has its default.
pub fn salvage(path: &Path) -> (Operator, Option<OperatorError>) {
    match read(path) {
        Ok(None) => (Operator::default(), None),
        Ok(Some(text)) => {
            let (values, problems) = Values::judge(&text, path);
            let wrong = || OperatorError::Wrong { path: path.to_owned(), problems: problems.clone() };
            (Operator::of(&values), (!problems.is_empty()).then(wrong))
        }
        Err(error) => (Operator::default(), Some(error)),
    }
}

/// Whether no file there means that everything has its default: only at the usual place. One that somebody named has been
/// misspelt, and its settings must not be lost without a word.
fn may_be_absent(path: &Path) -> bool {
    path == Path::new(DEFAULT_OPERATOR)
}

/// The text of the file, if there is one.
fn read(path: &Path) -> Result<Option<String>, OperatorError> {
    let bytes = match file::read(path, MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(FileError::Missing) if may_be_absent(path) => return Ok(None),
        Err(source) => return Err(OperatorError::Unreadable { path: path.to_owned(), source }),
    };
    let text = crate::text::decode(&bytes, MAX_BYTES).map_err(|error| {
        let mut problems = Problems::default();
        problems.push(Problem::new(Severity::Error, path, error.to_string()).at(error.line()));
        OperatorError::Wrong { path: path.to_owned(), problems }
    })?;
    Ok(Some(text.to_owned()))
}

impl Operator {
    /// Judges a text, whose problems are told as those of the file `path`.
    ///
    /// # Errors
    ///
    /// All problems: an unknown key is one, because what it was to change would silently not be.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Problems> {
        let (values, problems) = Values::judge(text, path);
        if problems.is_empty() { Ok(Operator::of(&values)) } else { Err(problems) }
    }

    fn of(values: &Values) -> Self {
        let provider: Provider = values.word(&PROVIDER, Provider::from_word);
        let ask = values.switch(&ASK_INSTANCE_TYPE);
        Operator {
            service: service(values, provider),
            hardware: HardwarePolicy {
                expect: values.word(&EXPECT, Expect::from_word),
                instance_types: ask.then(|| values.texts(&INSTANCE_TYPES).to_vec()),
                fabric: values.word(&FABRIC, Fabric::from_word),
                health: values.word(&HEALTH, Health::from_word),
            },
            jobs: JobPolicy {
                shared: values.word(&SHARED, Shared::from_word),
                one_node: values.word(&ONE_NODE, OneNode::from_word),
            },
            channels: channels(values),
            scope: ScopePolicy {
                by: values.word(&SCOPE, ScopeBy::from_word),
                topology_file: values.optional_path(&TOPOLOGY_FILE),
                reports: values.path(&REPORTS),
            },
            peers: PeerPolicy {
                by: values.word(&PEERS, PeersBy::from_word),
                map: values.path(&PEER_MAP),
                family: values.word(&FAMILY, Family::from_word),
            },
            prolog: PrologPolicy {
                budget: values.span(&PROLOG_BUDGET),
                stop: values.span(&STOP),
                innocent: values.word(&INNOCENT, Innocent::from_word),
                tie: values.word(&TIE, Tie::from_word),
            },
            epilog_budget: values.span(&EPILOG_BUDGET),
            files: Files {
                state: values.path(&STATE),
                run: values.path(&RUN),
                logs: values.path(&LOGS),
                keep: usize::try_from(values.number(&KEEP)).unwrap_or(usize::MAX),
            },
            tools: Tools {
                path: values.text(&TOOL_PATH).to_owned(),
                scontrol: values.text(&SCONTROL).to_owned(),
                scontrol_deadline: values.span(&SCONTROL_DEADLINE),
            },
            nccl_hints: values.switch(&NCCL),
        }
    }
}

fn service(values: &Values, provider: Provider) -> ServicePolicy {
    let or = |key, default: &str| match values.text(key) {
        "" => default.to_owned(),
        text => text.to_owned(),
    };
    let (unit, control) = match provider {
        Provider::Imexd => ("imexd.service", "imexctl"),
        Provider::NvidiaImex => ("nvidia-imex.service", "nvidia-imex-ctl"),
    };
    ServicePolicy {
        provider,
        unit: or(&UNIT, unit),
        control: or(&CONTROL, control),
        config: values.path(&CONFIG),
        node_map: values.optional_path(&NODE_MAP),
        unit_unusable: values.word(&UNIT_UNUSABLE, Unusable::from_word),
        port: values.word(&PORT, Port::from_word),
        munge: values.switch(&MUNGE),
    }
}

fn channels(values: &Values) -> ChannelPolicy {
    ChannelPolicy {
        channels: values.word(&CHANNELS, Channels::from_word),
        directory: values.path(&CHANNEL_DIRECTORY),
        mode: values.mode(&CHANNEL_MODE),
        owner: values.word(&CHANNEL_OWNER, ChannelOwner::from_word),
        count: values.number(&CHANNEL_COUNT),
        at_boot: value::channels(values.text(&CHANNELS_AT_BOOT)).unwrap_or_default(),
    }
}

impl Default for Operator {
    fn default() -> Self {
        Operator::of(&Values::default())
    }
}

impl Files {
    /// The leases of the node's domain.
    pub fn leases(&self) -> PathBuf {
        self.run.join("leases")
    }
}

impl fmt::Display for OperatorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.table, self.name)
    }
}

#[cfg(test)]
mod tests;
