//! Stopping a service as gently as its memory allows.
//!
//! A daemon of IMEX that is killed while it holds exported memory blocks new exports on its machine until another daemon
//! has opened a session, and whoever imported from it loses what they imported. So it is asked to go and given time, and
//! it is killed only as the last step, which the answer names.

use std::time::Duration;

use nix::sys::signal::Signal;
use serde::Serialize;

use super::error::{Call, SystemdError};
use super::job::Job;
use super::name::ServiceName;
use super::{JobFailure, Operation, ServiceResult, Systemd};

/// How long a service may take to stop. A busy systemd may take as long again for each question around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// After it was asked to.
    pub asked: Duration,
    /// After it was killed, until its last process has gone.
    pub killed: Duration,
}

/// How a service stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "stopped", rename_all = "snake_case")]
pub enum Stopped {
    /// It did not run.
    Before,
    /// It went when it was asked to.
    Gracefully,
    /// It did not go in time and was killed with SIGKILL.
    Killed {
        /// How long it was waited for, in milliseconds.
        after_ms: u64,
    },
    /// systemd itself killed it, because the time-out of the unit's file is shorter than the patience here.
    KilledBySystemd,
}

impl Systemd {
    /// Stops a service: asks it to go, and kills it when its time is over.
    ///
    /// # Errors
    ///
    /// If systemd does not do it, or the service is there even after it was killed, as a process in the kernel's hands
    /// may be. A systemd that is too busy to be asked in time is an error, too: nobody is killed who was not asked to go.
    pub async fn stop_gracefully(
        &self,
        name: &ServiceName,
        patience: Patience,
    ) -> Result<Stopped, SystemdError> {
        let ask = Call { operation: Operation::Ask, unit: Some(name), within: patience.asked };
        if !ask.within(self.may_run(&ask, name)).await? {
            return Ok(Stopped::Before);
        }
        let before = self.service(name, patience.asked).await?;
        let call = Call { operation: Operation::Stop, unit: Some(name), within: patience.asked };
        let begun = call.within(self.begin(Job::Stop, &call, name)).await?;
        match call.within(begun.end(&call, name)).await {
            Ok(_) => {
                let after = self.service(name, patience.asked).await?;
                // The result of a run before is forgotten when a service starts.
                let killed = after.result == ServiceResult::Timeout && before.result != after.result;
                Ok(if killed { Stopped::KilledBySystemd } else { Stopped::Gracefully })
            }
            Err(SystemdError::Overdue { .. } | SystemdError::Job { end: JobFailure::Timeout, .. }) => {
                // It may be only that systemd was too busy to tell.
                if !self.service(name, patience.killed).await?.may_run() {
                    return Ok(Stopped::Gracefully);
                }
                self.kill(name, Signal::SIGKILL, patience.killed).await?;
                self.stop(name, patience.killed).await?;
                let after_ms = u64::try_from(patience.asked.as_millis()).unwrap_or(u64::MAX);
                Ok(Stopped::Killed { after_ms })
            }
            Err(error) => Err(error),
        }
    }
}
