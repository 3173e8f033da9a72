//! Why a daemon does not start, and how people are told.

use std::io;

use imex_config::{Problems, chain};
use thiserror::Error;

use crate::command::SocketError;
use crate::exit::Exit;
use crate::fence::{GivenUp, MungeUnusable};
use crate::limits::LimitError;
use crate::ports::PortError;

/// Why a daemon does not start.
#[derive(Debug, Error)]
pub(crate) enum StartError {
    /// The files cannot be used.
    #[error("{problems}")]
    Configuration {
        /// Everything that is wrong with them.
        problems: Problems,
    },
    /// There is no GPU driver on this machine.
    #[error("serve this machine's GPUs: no NVIDIA driver is loaded")]
    NoDriver,
    /// There is one, with which this build cannot exchange memory.
    #[error("serve this machine's GPUs: this build cannot exchange memory through a real driver yet")]
    UnsupportedDriver,
    /// Security is configured that was left out when this program was built.
    #[cfg(not(feature = "gssapi"))]
    #[error(
        "start with IMEX_ENABLE_AUTH_ENCRYPTION=1: this build has no {asked}, and never runs open instead"
    )]
    Security {
        /// What is asked for.
        asked: &'static str,
    },
    /// Kerberos is configured, and this machine has none.
    #[cfg(feature = "gssapi")]
    #[error("use Kerberos")]
    Kerberos(#[source] imex_gss::LoadError),
    /// MUNGE is configured, and cannot be used.
    #[error(transparent)]
    Munge(#[from] MungeUnusable),
    /// The daemon ran, and ended because authentication failed for good.
    #[error(transparent)]
    Authentication(GivenUp),
    /// The limits are too low.
    #[error(transparent)]
    Limits(#[from] LimitError),
    /// A port cannot be had.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The command socket cannot be had.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The system refused something that a daemon cannot do without.
    #[error("{verb}")]
    System {
        /// What.
        verb: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The half of a daemon that was to run in the background did not say in time that it does.
    #[error("start in the background: the daemon did not report within {seconds} s")]
    ChildSilent {
        /// How long was waited.
        seconds: u64,
    },
    /// The half that was to run in the background ended; it has said why.
    #[error("start in the background: the daemon ended while it started")]
    ChildEnded(Exit),
}

impl StartError {
    /// What is written to standard error; `None` if that has been done elsewhere.
    pub(crate) fn last_words(&self) -> Option<String> {
        if let StartError::ChildEnded(_) = self {
            return None;
        }
        // Problems of the files have a form of their own, which editors and people know.
        if let StartError::Configuration { problems } = self {
            return Some(problems.to_string());
        }
        let hint = self.hint().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
        Some(format!("imexd: failed to {}{hint}", chain(self)))
    }

    /// How the process ends because of it.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            StartError::Configuration { .. } => Exit::Configuration,
            StartError::NoDriver | StartError::UnsupportedDriver => Exit::Driver,
            #[cfg(not(feature = "gssapi"))]
            StartError::Security { .. } => Exit::Security,
            #[cfg(feature = "gssapi")]
            StartError::Kerberos(_) => Exit::Authentication,
            StartError::Munge(_) | StartError::Authentication(_) => Exit::Authentication,
            StartError::Limits(_) => Exit::Limits,
            StartError::Port(_) | StartError::Socket(_) => Exit::Address,
            StartError::System { .. } | StartError::ChildSilent { .. } => Exit::Failure,
            StartError::ChildEnded(exit) => *exit,
        }
    }

    /// What an operator can do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            StartError::NoDriver | StartError::UnsupportedDriver => {
                Some("use --nogpu to form a domain without memory exchange".to_owned())
            }
            #[cfg(not(feature = "gssapi"))]
            StartError::Security { .. } => {
                Some("install a build that has it, or choose another mode".to_owned())
            }
            #[cfg(feature = "gssapi")]
            StartError::Kerberos(error) => Some(error.hint().to_owned()),
            StartError::Munge(error) => error.hint(),
            StartError::Authentication(_) => {
                Some("with IMEX_GSS_SHUTDOWN_ON_FAILURE=0 the service would go on and try again".to_owned())
            }
            StartError::Limits(error) => Some(error.hint()),
            StartError::Port(error) => Some(error.hint()),
            StartError::Socket(error) => error.hint(),
            StartError::Configuration { .. }
            | StartError::System { .. }
            | StartError::ChildSilent { .. }
            | StartError::ChildEnded(_) => None,
        }
    }
}

/// For [`StartError::System`], where the verb stands beside the call.
pub(crate) fn system(verb: &'static str) -> impl Fn(io::Error) -> StartError {
    move |source| StartError::System { verb, source }
}
