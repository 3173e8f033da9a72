//! The exit codes: what a script may rely on.

mod by_command;

use std::process::ExitCode;

use serde::{Deserialize, Serialize};

pub(crate) use by_command::documented;

/// How a command ended. The numbers never change; new ones may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "u8", from = "u8")]
pub enum Exit {
    /// It did what it was asked; for `wait`, `lab` and `lab up`: the domain is UP.
    Done,
    /// It failed in a way that has no number of its own.
    Failed,
    /// The command line is wrong.
    Usage,
    /// The configuration or the node map cannot be read.
    Config,
    /// The local daemon does not answer.
    NoDaemon,
    /// A member cannot be reached, or no longer.
    Unreachable,
    /// A member runs another driver or protocol version.
    Version,
    /// A member has another node map, or is not the node that the map has at its address.
    Map,
    /// A member's address belongs to another domain.
    OtherDomain,
    /// A member is not READY although it is connected.
    NotReady,
    /// The node map has another number of nodes than was demanded.
    Members,
    /// A member breaks the protocol.
    Protocol,
    /// The directory holds a lab that runs.
    LabRuns,
    /// The directory holds no lab, or one that has ended.
    NoLab,
    /// The lab has no node with that number.
    NoSuchNode,
    /// The node is not in the state that this takes: it runs already, or does not run.
    NodeState,
    /// A node's daemon has ended by itself.
    NodeEnded,
    /// The lab could not be made.
    LabFailed,
    /// A topology has errors.
    TopologyErrors,
    /// Two topologies differ.
    TopologyDiffers,
    /// Sources disagree about where nodes are.
    SourcesDisagree,
    /// A source or a topology cannot be read.
    SourceUnreadable,
    /// The node is in no NVLink fabric.
    NoFabric,
    /// A GPU of the node has not completed its registration with the fabric yet.
    FabricPending,
    /// A GPU of the node has failed to register with the fabric, or its GPUs disagree.
    FabricFailed,
    /// A job would wait.
    JobWaits,
    /// A job would be refused.
    JobRefused,
    /// The controller holds another topology than the file.
    ControllerDiffers,
    /// The controller does not answer.
    ControllerSilent,
    /// The controller did not take the topology; the one before is in use again.
    RolledBack,
    /// The controller did not take the topology, nor did it confirm the one before.
    RollbackUnconfirmed,
    /// Another process changes the same file.
    TopologyBusy,
    /// The node could not take the map that the topology asks for.
    NotFollowed,
    /// The driver has no IMEX channels: it is not loaded, or they are switched off.
    NoChannels,
    /// A channel's device is missing.
    ChannelMissing,
    /// A channel's device is another one, or has another mode or owner.
    ChannelWrong,
    /// A user may not open a channel.
    ChannelDenied,
    /// A channel's device has no driver behind it.
    ChannelNoDriver,
    /// Something that is no device, or no folder, stands in a channel's way.
    NotADevice,
    /// The driver has not so many channels.
    BeyondChannels,
    /// The environment is not that of a job's script.
    JobContext,
    /// The machine, its fabric or its service is not fit for the job.
    NodeUnfit,
    /// Another job, or somebody else, uses the node's domain.
    DomainInUse,
    /// The job's channel cannot be had.
    NoChannel,
    /// The members of the job's domain, or their addresses, cannot be found out.
    MembersUnknown,
    /// A file of the service, or of the state of the job's domain, cannot be written.
    FilesUnwritable,
    /// This node's service does not stop, start or answer.
    ServiceFailed,
    /// The domain is not UP, and this node is at fault.
    AtFault,
    /// The domain is not UP, and nobody can tell which side is at fault.
    Tied,
    /// The domain is not UP, another node is at fault, and policy says that this one fails too.
    OtherAtFault,
    /// The domain is not UP, and nothing shows why.
    Unexplained,
    /// Slurm ended the script before it was done, or it hung.
    Terminated,
    /// Something that the prolog made could not be taken away.
    NotTakenAway,
    /// The job's domain is not UP, so that its task must not start.
    TaskRefused,
    /// A member did not prove who it is, or does not accept this node's proof.
    Unauthenticated,
    /// Slurm's settings have errors.
    SlurmErrors,
    /// Slurm's settings have warnings, and no errors.
    SlurmWarnings,
    /// Slurm's settings cannot be read.
    SlurmUnreadable,
    /// It does not run inside of a job.
    NoJob,
    /// The members of a node's domain are not the nodes that they should be.
    JobNodes,
    /// A node's channel is missing or cannot be used.
    Channel,
    /// A node of the job gave no report.
    NoReport,
    /// The measured bandwidth is below what was demanded, or could not be measured.
    Bandwidth,
    /// A check of the node fails.
    DoctorFails,
    /// A check of the node warns, and none fails.
    DoctorWarns,
    /// Something could not be told, and nothing else is wrong.
    DoctorUnknown,
    /// There is no such code of CUDA's in the list.
    NoSuchCode,
    /// A key or certificate is there already, and was not to be replaced.
    PkiExists,
    /// The authority is not there or cannot be used.
    NoAuthority,
    /// A key or certificate could not be written.
    PkiUnwritable,
    /// A file holds no certificate, or one that cannot be read.
    CertificateUnreadable,
    /// A certificate has expired or does not count yet.
    CertificateOutOfTime,
    /// It was interrupted before it was done.
    Interrupted,
}

impl Exit {
    /// All of them with their meaning, in order.
    pub const TABLE: &[(Exit, &str)] = &[
        (Exit::Done, "done; for wait, lab and lab up: the domain is UP"),
        (Exit::Failed, "failed in another way"),
        (Exit::Usage, "wrong command line"),
        (Exit::Config, "configuration or node map cannot be read"),
        (Exit::NoDaemon, "the local daemon does not answer"),
        (Exit::Unreachable, "a member cannot be reached, or no longer"),
        (Exit::Version, "a member runs another driver or protocol version"),
        (Exit::Map, "a member has another node map"),
        (Exit::OtherDomain, "a member's address belongs to another domain"),
        (Exit::NotReady, "a member is connected but not READY"),
        (Exit::Members, "the node map has another number of nodes"),
        (Exit::Protocol, "a member breaks the protocol"),
        (Exit::LabRuns, "the directory holds a lab that runs"),
        (Exit::NoLab, "the directory holds no lab that runs"),
        (Exit::NoSuchNode, "the lab has no such node"),
        (Exit::NodeState, "the node runs already, or does not run"),
        (Exit::NodeEnded, "a node's daemon has ended"),
        (Exit::LabFailed, "the lab could not be made"),
        (Exit::TopologyErrors, "the topology has errors"),
        (Exit::TopologyDiffers, "the topologies differ"),
        (Exit::SourcesDisagree, "sources disagree about where nodes are"),
        (Exit::SourceUnreadable, "a source or a topology cannot be read"),
        (Exit::NoFabric, "the node is in no NVLink fabric"),
        (Exit::FabricPending, "a GPU has not registered with the fabric yet"),
        (Exit::FabricFailed, "a GPU failed to register with the fabric"),
        (Exit::JobWaits, "the job would wait"),
        (Exit::JobRefused, "the job would be refused"),
        (Exit::ControllerDiffers, "the controller holds another topology"),
        (Exit::ControllerSilent, "the controller does not answer"),
        (Exit::RolledBack, "the topology was not taken; the one before is in use"),
        (Exit::RollbackUnconfirmed, "nor was the one before confirmed; its file is back"),
        (Exit::TopologyBusy, "another process changes the same file"),
        (Exit::NotFollowed, "the node could not take its new map"),
        (Exit::NoChannels, "the driver has no IMEX channels"),
        (Exit::ChannelMissing, "a channel's device is missing"),
        (Exit::ChannelWrong, "a channel's device is not what it should be"),
        (Exit::ChannelDenied, "the user may not open a channel"),
        (Exit::ChannelNoDriver, "a channel's device has no driver behind it"),
        (Exit::NotADevice, "what is in a channel's place is no device"),
        (Exit::BeyondChannels, "the driver has not so many channels"),
        (Exit::JobContext, "the environment is not that of a job's script"),
        (Exit::NodeUnfit, "the node or its service is not fit for the job"),
        (Exit::DomainInUse, "the node's domain is in use by somebody else"),
        (Exit::NoChannel, "the job's channel cannot be had"),
        (Exit::MembersUnknown, "the domain's members or their addresses cannot be found out"),
        (Exit::FilesUnwritable, "a file of the service or of the job's state cannot be written"),
        (Exit::ServiceFailed, "this node's service does not stop, start or answer"),
        (Exit::AtFault, "the domain is not UP and this node is at fault"),
        (Exit::Tied, "the domain is not UP and nobody can tell which side is at fault"),
        (Exit::OtherAtFault, "the domain is not UP, another node is at fault, and prolog.innocent is fail"),
        (Exit::Unexplained, "the domain is not UP and nothing shows why"),
        (Exit::Terminated, "Slurm ended the script before it was done, or it hung"),
        (Exit::NotTakenAway, "something of the job could not be taken away"),
        (Exit::TaskRefused, "the job's domain is not UP, so that its task must not start"),
        (Exit::SlurmErrors, "Slurm's settings have errors"),
        (Exit::SlurmWarnings, "Slurm's settings have warnings, and no errors"),
        (Exit::SlurmUnreadable, "Slurm's settings cannot be read"),
        (Exit::NoJob, "it does not run inside of a job"),
        (Exit::JobNodes, "a domain's members are not the job's nodes"),
        (Exit::Channel, "a node's channel is missing or cannot be used"),
        (Exit::NoReport, "a node of the job gave no report"),
        (Exit::Bandwidth, "the bandwidth is too low or could not be measured"),
        (Exit::DoctorFails, "a check of the node fails"),
        (Exit::DoctorWarns, "a check of the node warns, and none fails"),
        (Exit::DoctorUnknown, "something could not be told; nothing else is wrong"),
        (Exit::NoSuchCode, "there is no such code of CUDA's in the list"),
        (Exit::Unauthenticated, "a member does not prove who it is"),
        (Exit::PkiExists, "a key or certificate is there already"),
        (Exit::NoAuthority, "the authority cannot be used"),
        (Exit::PkiUnwritable, "a key or certificate could not be written"),
        (Exit::CertificateUnreadable, "a certificate cannot be read"),
        (Exit::CertificateOutOfTime, "a certificate has expired or does not count yet"),
        (Exit::Interrupted, "interrupted before it was done"),
    ];

    /// The number.
    pub const fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Config => 3,
            Exit::NoDaemon => 10,
            Exit::Unreachable => 11,
            Exit::Version => 12,
            Exit::Map => 13,
            Exit::OtherDomain => 14,
            Exit::NotReady => 15,
            Exit::Members => 16,
            Exit::Protocol => 17,
            Exit::LabRuns => 20,
            Exit::NoLab => 21,
            Exit::NoSuchNode => 22,
            Exit::NodeState => 23,
            Exit::NodeEnded => 24,
            Exit::LabFailed => 25,
            Exit::TopologyErrors => 30,
            Exit::TopologyDiffers => 31,
            Exit::SourcesDisagree => 32,
            Exit::SourceUnreadable => 33,
            Exit::NoFabric => 34,
            Exit::FabricPending => 35,
            Exit::FabricFailed => 36,
            Exit::JobWaits => 37,
            Exit::JobRefused => 38,
            Exit::ControllerDiffers => 50,
            Exit::ControllerSilent => 51,
            Exit::RolledBack => 52,
            Exit::RollbackUnconfirmed => 53,
            Exit::TopologyBusy => 54,
            Exit::NotFollowed => 55,
            Exit::NoChannels => 60,
            Exit::ChannelMissing => 61,
            Exit::ChannelWrong => 62,
            Exit::ChannelDenied => 63,
            Exit::ChannelNoDriver => 64,
            Exit::NotADevice => 65,
            Exit::BeyondChannels => 66,
            Exit::JobContext => 70,
            Exit::NodeUnfit => 71,
            Exit::DomainInUse => 72,
            Exit::NoChannel => 73,
            Exit::MembersUnknown => 74,
            Exit::FilesUnwritable => 75,
            Exit::ServiceFailed => 76,
            Exit::AtFault => 77,
            Exit::Tied => 78,
            Exit::OtherAtFault => 79,
            Exit::Unexplained => 80,
            Exit::Terminated => 81,
            Exit::NotTakenAway => 82,
            Exit::TaskRefused => 83,
            Exit::SlurmErrors => 90,
            Exit::SlurmWarnings => 91,
            Exit::SlurmUnreadable => 92,
            Exit::NoJob => 93,
            Exit::JobNodes => 94,
            Exit::Channel => 95,
            Exit::NoReport => 96,
            Exit::Bandwidth => 97,
            Exit::DoctorFails => 100,
            Exit::DoctorWarns => 101,
            Exit::DoctorUnknown => 102,
            Exit::NoSuchCode => 103,
            Exit::Unauthenticated => 110,
            Exit::PkiExists => 111,
            Exit::NoAuthority => 112,
            Exit::PkiUnwritable => 113,
            Exit::CertificateUnreadable => 114,
            Exit::CertificateOutOfTime => 115,
            Exit::Interrupted => 130,
        }
    }
}

impl From<Exit> for u8 {
    fn from(exit: Exit) -> Self {
        exit.code()
    }
}

impl From<u8> for Exit {
    /// A number that is not in the list is a failure without a number of its own.
    fn from(code: u8) -> Self {
        let known = Exit::TABLE.iter().find(|(exit, _)| exit.code() == code);
        known.map_or(Exit::Failed, |(exit, _)| *exit)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_rise_so_that_no_two_are_equal() {
        let codes: Vec<u8> = Exit::TABLE.iter().map(|(exit, _)| exit.code()).collect();
        assert!(codes.is_sorted_by(|a, b| a < b), "{codes:?}");
    }
}
