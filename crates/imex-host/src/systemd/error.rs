//! How asking systemd fails, by name.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;
use tokio::time::timeout;
use zbus::fdo;
use zbus::message::Body;
use zbus::wire::DynamicDeserialize;

use super::job::{JobFailure, Operation};
use super::name::ServiceName;

/// Why systemd did not do what it was asked.
#[derive(Debug, Error)]
pub enum SystemdError {
    /// There is no bus: no systemd, or none that runs this machine.
    #[error("the service manager cannot be spoken to: {} cannot be connected to", socket.display())]
    NoBus {
        /// The socket of the bus.
        socket: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no such unit.
    #[error("there is no {unit}")]
    NotFound {
        /// The unit.
        unit: String,
    },
    /// The unit is masked: its administrator forbids that it runs.
    #[error("{unit} is masked")]
    Masked {
        /// The unit.
        unit: String,
    },
    /// The unit's file is wrong.
    #[error("{unit} cannot be loaded: {said}")]
    BadUnit {
        /// The unit.
        unit: String,
        /// What systemd said.
        said: String,
    },
    /// The caller may not ask this.
    #[error("systemd does not let this user {operation}{}: {said}", of(unit))]
    AccessDenied {
        /// What was asked.
        operation: Operation,
        /// The unit, if it was about one.
        unit: Option<String>,
        /// What systemd said.
        said: String,
    },
    /// The job did not end well.
    #[error("the job to {operation} {unit} {end}")]
    Job {
        /// What was asked.
        operation: Operation,
        /// The unit.
        unit: String,
        /// How the job ended.
        end: JobFailure,
    },
    /// It takes longer than whoever asked would wait. A job goes on if systemd was free to take it: while it reads its units
    /// anew it answers nobody.
    #[error("systemd did not {operation}{} within {} ms", of(unit), after.as_millis())]
    Overdue {
        /// What was asked.
        operation: Operation,
        /// The unit, if it was about one.
        unit: Option<String>,
        /// The deadline.
        after: Duration,
    },
    /// systemd refuses for another reason.
    #[error("systemd refuses to {operation}{}: {said} ({name})", of(unit))]
    Refused {
        /// What was asked.
        operation: Operation,
        /// The unit, if it was about one.
        unit: Option<String>,
        /// The error's name on the bus.
        name: String,
        /// What systemd said.
        said: String,
    },
    /// The connection broke, or what came was no answer.
    #[error("the answer to a request to {operation}{} cannot be had", of(unit))]
    Connection {
        /// What was asked.
        operation: Operation,
        /// The unit, if it was about one.
        unit: Option<String>,
        /// What went wrong.
        source: Box<zbus::Error>,
    },
}

/// One request, for what its failures have to say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'a> {
    pub(super) operation: Operation,
    pub(super) unit: Option<&'a ServiceName>,
    pub(super) within: Duration,
}

impl Call<'_> {
    /// What `asked` gives, if it gives it in time.
    pub(super) async fn within<T>(
        &self,
        asked: impl Future<Output = Result<T, SystemdError>>,
    ) -> Result<T, SystemdError> {
        match timeout(self.within, asked).await {
            Ok(answer) => answer,
            Err(_) => Err(SystemdError::Overdue {
                operation: self.operation,
                unit: self.name(),
                after: self.within,
            }),
        }
    }

    /// Reads an answer.
    pub(super) fn read<'b, T: DynamicDeserialize<'b>>(&self, body: &'b Body) -> Result<T, SystemdError> {
        body.deserialize().map_err(|error| self.failed(error))
    }

    /// The connection or the answer is not what it should be.
    pub(super) fn failed(&self, error: zbus::Error) -> SystemdError {
        SystemdError::Connection { operation: self.operation, unit: self.name(), source: Box::new(error) }
    }

    /// The answer lacks something.
    pub(super) fn malformed(&self, what: String) -> SystemdError {
        self.failed(zbus::Error::Failure(what))
    }

    pub(super) fn name(&self) -> Option<String> {
        self.unit.map(|unit| unit.as_str().to_owned())
    }
}

/// The error by name, from the answer to a call.
pub(super) fn judge(call: &Call<'_>, error: zbus::Error) -> SystemdError {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the library's errors are foreign; two carry an answer"
    )]
    let (name, said) = match &error {
        zbus::Error::MethodError(name, said, _) => {
            (name.as_str().to_owned(), said.clone().unwrap_or_default())
        }
        zbus::Error::FDO(error) => match standard(error) {
            Some((name, said)) => (format!("org.freedesktop.DBus.Error.{name}"), said.clone()),
            None => return call.failed(zbus::Error::FDO(error.clone())),
        },
        _ => return call.failed(error),
    };
    let unit = call.name().unwrap_or_default();
    let short = name.rsplit('.').next().unwrap_or_default();
    match short {
        "NoSuchUnit" => SystemdError::NotFound { unit },
        "UnitMasked" => SystemdError::Masked { unit },
        "LoadFailed" | "BadUnitSetting" => SystemdError::BadUnit { unit, said },
        "AccessDenied" | "InteractiveAuthorizationRequired" | "AuthFailed" => {
            SystemdError::AccessDenied { operation: call.operation, unit: call.name(), said }
        }
        _ => SystemdError::Refused { operation: call.operation, unit: call.name(), name, said },
    }
}

/// The errors of D-Bus itself that mean something here, by the end of their name.
fn standard(error: &fdo::Error) -> Option<(&'static str, &String)> {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the standard's errors are foreign and many; these are met"
    )]
    match error {
        fdo::Error::AccessDenied(said) => Some(("AccessDenied", said)),
        fdo::Error::AuthFailed(said) => Some(("AuthFailed", said)),
        fdo::Error::InteractiveAuthorizationRequired(said) => {
            Some(("InteractiveAuthorizationRequired", said))
        }
        fdo::Error::InvalidArgs(said) => Some(("InvalidArgs", said)),
        fdo::Error::NotSupported(said) => Some(("NotSupported", said)),
        fdo::Error::ServiceUnknown(said) => Some(("ServiceUnknown", said)),
        fdo::Error::NameHasNoOwner(said) => Some(("NameHasNoOwner", said)),
        fdo::Error::UnknownMethod(said) => Some(("UnknownMethod", said)),
        fdo::Error::Failed(said) => Some(("Failed", said)),
        _ => None,
    }
}

fn of(unit: &Option<String>) -> String {
    unit.as_ref().map(|unit| format!(" {unit}")).unwrap_or_default()
}
