//! Why a prolog fails.

use imex_host::channel::node::NotAMode;
use imex_host::channel::{ChannelError, NotAChannel};
use imex_host::devices::{DevicesError, NoMajor};
use imex_host::lease::LeaseError;
use imex_host::systemd::SystemdError;
use thiserror::Error;

use crate::applicable::Refusal;
use crate::eyes::Blind;
use crate::job_domain::JobDomainError;
use crate::lock::LockError;
use crate::machine::Unknown;
use crate::map::FilesError;
use crate::outcome::Ending;
use crate::peers::PeersError;
use crate::scope::ScopeError;
use crate::tenancy::Refused;

/// Why a prolog fails. Its text is a sentence's fragment that says what was to be done; the causes follow.
#[derive(Debug, Error)]
pub enum PrologError {
    /// The machine, the job or the service is not fit.
    #[error("this node cannot run the job: {0}")]
    Unfit(Refusal),
    /// The service manager does not tell how the unit stands.
    #[error("the service's unit cannot be asked for")]
    Unit(#[source] SystemdError),
    /// The boot is not known.
    #[error("this boot cannot be told from others")]
    Boot(#[source] Unknown),
    /// Another run is at work.
    #[error("another prolog, epilog or sweep is at work on this node")]
    Lock(#[from] LockError),
    /// Somebody else has the node.
    #[error("the node's lease cannot be taken")]
    Refused(#[from] Refused),
    /// The leases cannot be used.
    #[error("the node's lease cannot be taken")]
    Lease(#[from] LeaseError),
    /// The state cannot be written.
    #[error("the state of the job's domain cannot be kept")]
    State(#[from] JobDomainError),
    /// `/proc/devices` cannot be used.
    #[error("the driver's devices cannot be told")]
    Devices(#[from] DevicesError),
    /// The driver has no channels.
    #[error("the driver has no IMEX channels")]
    NoMajor(#[from] NoMajor),
    /// The number is none.
    #[error("the job's channel has no number")]
    ChannelNumber(#[from] NotAChannel),
    /// The driver has no channel for it.
    #[error(
        "the driver has {count} channels, too few for one of the job's own besides those of `channels.boot`"
    )]
    TooFewChannels {
        /// How many it has.
        count: u32,
    },
    /// The mode is none.
    #[error("the job's channel has no mode")]
    ChannelMode(#[from] NotAMode),
    /// It cannot be made.
    #[error("the job's channel cannot be had")]
    Channel(#[from] ChannelError),
    /// Nobody says which nodes share a partition.
    #[error("the members of the domain cannot be found out")]
    Scope(#[from] ScopeError),
    /// A source of members does not answer.
    #[error("the members of the domain cannot be found out")]
    ScopeSource(#[source] Unknown),
    /// A node has no address.
    #[error("the addresses of the members cannot be found out")]
    Peers(#[from] PeersError),
    /// A source of addresses does not answer.
    #[error("the addresses of the members cannot be found out")]
    PeersSource(#[source] Unknown),
    /// The service's files cannot be written.
    #[error("the service's files cannot be written")]
    Files(#[from] FilesError),
    /// The service of the job before does not stop.
    #[error("the service cannot be stopped")]
    Stop(#[source] SystemdError),
    /// The service does not start.
    #[error("the service cannot be started")]
    Start(#[source] SystemdError),
    /// The service of the job before takes more than the budget has.
    #[error("the service did not stop within what the budget has left")]
    StopOverdue,
    /// The service has ended.
    #[error("{how}")]
    ServiceEnded {
        /// How, in words.
        how: String,
    },
    /// The service does not answer.
    #[error(transparent)]
    Blind(#[from] Blind),
    /// The domain is not UP.
    #[error("{told}")]
    NotUp {
        /// How the prolog ends.
        ending: Ending,
        /// Who is at fault, in words.
        told: String,
    },
}

impl PrologError {
    /// How the prolog ends.
    pub fn ending(&self) -> Ending {
        match self {
            PrologError::Unfit(_) | PrologError::Unit(_) => Ending::Unfit,
            PrologError::Lock(_) | PrologError::Refused(_) | PrologError::Lease(_) => Ending::InUse,
            PrologError::Boot(_) | PrologError::State(_) | PrologError::Files(_) => Ending::Files,
            PrologError::Devices(_)
            | PrologError::NoMajor(_)
            | PrologError::ChannelNumber(_)
            | PrologError::ChannelMode(_)
            | PrologError::TooFewChannels { .. }
            | PrologError::Channel(_) => Ending::Channels,
            PrologError::Scope(_)
            | PrologError::ScopeSource(_)
            | PrologError::Peers(_)
            | PrologError::PeersSource(_) => Ending::Members,
            PrologError::Stop(_)
            | PrologError::StopOverdue
            | PrologError::Start(_)
            | PrologError::ServiceEnded { .. }
            | PrologError::Blind(_) => Ending::Service,
            PrologError::NotUp { ending, .. } => *ending,
        }
    }
}
