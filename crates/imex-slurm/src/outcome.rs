//! How a run ends: in a word for the record, and whether Slurm is told that it failed.

use serde::{Serialize, Serializer};

/// How a prolog ends. Its exit code is in docs/exit-codes.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ending {
    /// The domain is UP: every ordered pair of its members is connected.
    Up,
    /// The job has its channel and needs no domain.
    Channel,
    /// There was nothing to do.
    Skipped,
    /// Another node is at fault, which is that node's to tell Slurm.
    PassedInnocent,
    /// Nobody can tell who is at fault, and policy says to go on.
    PassedTie,
    /// `openimex.toml` cannot be used.
    Misconfigured,
    /// The environment is not that of a job's script.
    Context,
    /// The machine or its service is not fit for the job.
    Unfit,
    /// Somebody else uses the node's domain.
    InUse,
    /// The channel cannot be had.
    Channels,
    /// The members or their addresses cannot be found out.
    Members,
    /// A file cannot be written.
    Files,
    /// This node's service does not stop, start or answer.
    Service,
    /// This node is at fault.
    AtFault,
    /// Nobody can tell who is at fault, and policy says to stop.
    Tied,
    /// Another node is at fault, and policy says that this one fails too.
    Innocent,
    /// The domain is not UP, and nothing shows why.
    Unexplained,
    /// It was told to end, or did not come to an end.
    Terminated,
}

impl Ending {
    /// Its word in the record.
    pub const fn word(self) -> &'static str {
        match self {
            Ending::Up => "up",
            Ending::Channel => "channel",
            Ending::Skipped => "skipped",
            Ending::PassedInnocent => "passed_innocent",
            Ending::PassedTie => "passed_tie",
            Ending::Misconfigured => "misconfigured",
            Ending::Context => "context",
            Ending::Unfit => "unfit",
            Ending::InUse => "in_use",
            Ending::Channels => "channels",
            Ending::Members => "members",
            Ending::Files => "files",
            Ending::Service => "service",
            Ending::AtFault => "at_fault",
            Ending::Tied => "tied",
            Ending::Innocent => "innocent",
            Ending::Unexplained => "unexplained",
            Ending::Terminated => "terminated",
        }
    }

    /// Whether the job may run on this node as far as this node knows.
    pub const fn is_success(self) -> bool {
        matches!(
            self,
            Ending::Up | Ending::Channel | Ending::Skipped | Ending::PassedInnocent | Ending::PassedTie
        )
    }
}

impl Serialize for Ending {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}
