//! The service manager, over its D-Bus interface: what a unit is, and starting and stopping it with the end awaited.
//!
//! `systemctl` would do the same, but its answers are for people: a job's result is a sentence, and a wait for one has
//! no end. Here a job that was asked for is followed until systemd says how it ended (the signal `JobRemoved`, subscribed
//! to before the call, so that the quickest job is not missed), and every wait has the deadline of whoever waits. A
//! deadline gives up the waiting, not the job: systemd goes on with it.
//!
//! The interface is that of org.freedesktop.systemd1(5).

mod error;
mod facts;
mod job;
mod name;
mod stop;

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::net::UnixStream;
use tokio::try_join;
use zbus::connection::{Builder, Connection};
use zbus::message::{Body, Message};
use zbus::wire::DynamicType;
use zbus::{OwnedObjectPath, OwnedVariant};

pub use error::SystemdError;
pub use facts::{ActiveState, Conditions, Enablement, LoadState, ServiceFacts, ServiceResult};
pub use job::{JobDone, JobFailure, Operation};
pub use name::{NotAService, ServiceName};
pub use stop::{Patience, Stopped};

use error::{Call, judge};
use job::Job;

const DESTINATION: &str = "org.freedesktop.systemd1";
const MANAGER_PATH: &str = "/org/freedesktop/systemd1";
const MANAGER: &str = "org.freedesktop.systemd1.Manager";
const UNIT: &str = "org.freedesktop.systemd1.Unit";
const SERVICE: &str = "org.freedesktop.systemd1.Service";
const PROPERTIES: &str = "org.freedesktop.DBus.Properties";

/// The socket of the system bus.
pub const DEFAULT_BUS: &str = "/run/dbus/system_bus_socket";

/// A connection to systemd. It belongs to the runtime that it was made in.
#[derive(Clone, Debug)]
pub struct Systemd {
    connection: Connection,
}

impl Systemd {
    /// Connects by the bus at [`DEFAULT_BUS`].
    ///
    /// # Errors
    ///
    /// If there is no bus, or it does not answer `within` the time.
    pub async fn connect(within: Duration) -> Result<Self, SystemdError> {
        Systemd::connect_to(Path::new(DEFAULT_BUS), within).await
    }

    /// Connects by the bus at `socket`.
    ///
    /// systemd's own socket, `/run/systemd/private`, is no bus: its messages carry a sender that the D-Bus library, by
    /// the letter of the specification, refuses.
    ///
    /// # Errors
    ///
    /// If there is no bus, or it does not answer `within` the time.
    pub async fn connect_to(socket: &Path, within: Duration) -> Result<Self, SystemdError> {
        let no_bus = |source| SystemdError::NoBus { socket: socket.to_owned(), source };
        let call = Call { operation: Operation::Connect, unit: None, within };
        let connected = async {
            let stream = UnixStream::connect(socket).await.and_then(UnixStream::into_std).map_err(no_bus)?;
            Builder::unix_stream(stream).build().await.map_err(|error| call.failed(error))
        };
        Ok(Systemd { connection: call.within(connected).await? })
    }

    /// What a service is and how it fares. An alias is followed; a service that is not installed is a fact, too.
    ///
    /// # Errors
    ///
    /// If systemd does not answer `within` the time, or not as it should.
    pub async fn service(&self, name: &ServiceName, within: Duration) -> Result<ServiceFacts, SystemdError> {
        let call = Call { operation: Operation::Ask, unit: Some(name), within };
        let asked = async {
            let path: OwnedObjectPath = call.read(&self.manager(&call, "LoadUnit", &name.as_str()).await?)?;
            let (unit, service) =
                try_join!(self.properties(&call, &path, UNIT), self.properties(&call, &path, SERVICE))?;
            let properties = unit.into_iter().chain(service).collect();
            facts::read(&properties).map_err(|error| call.malformed(error))
        };
        call.within(asked).await
    }

    /// Starts a service. It has started when it says so (`Type=notify`), or when its process runs.
    ///
    /// A condition of the unit that does not hold ends the job well without a start: [`ServiceFacts::conditions`] tells.
    ///
    /// # Errors
    ///
    /// If the job does not end well, or not `within` the time. It goes on then.
    pub async fn start(&self, name: &ServiceName, within: Duration) -> Result<JobDone, SystemdError> {
        self.run(Job::Start, name, within).await
    }

    /// The same for one that may have failed before: its failures are forgotten first, and how often it was started, so that
    /// this start is not refused for them.
    ///
    /// # Errors
    ///
    /// As [`Systemd::start`].
    pub async fn start_afresh(&self, name: &ServiceName, within: Duration) -> Result<JobDone, SystemdError> {
        self.run(Job::StartAfresh, name, within).await
    }

    /// Stops a service. It has stopped when all its processes have ended.
    ///
    /// # Errors
    ///
    /// If the job does not end well, or not `within` the time. It goes on then.
    pub async fn stop(&self, name: &ServiceName, within: Duration) -> Result<JobDone, SystemdError> {
        self.run(Job::Stop, name, within).await
    }

    /// Restarts a service, or starts it if it does not run.
    ///
    /// # Errors
    ///
    /// If the job does not end well, or not `within` the time. It goes on then.
    pub async fn restart(&self, name: &ServiceName, within: Duration) -> Result<JobDone, SystemdError> {
        self.run(Job::Restart, name, within).await
    }

    /// Asks that a service be restarted, or started if it does not run, and does not wait for that: one that is ready only
    /// when others are is waited for elsewhere.
    ///
    /// # Errors
    ///
    /// If systemd does not take the job `within` the time.
    pub async fn begin_restart(&self, name: &ServiceName, within: Duration) -> Result<(), SystemdError> {
        let call = Call { operation: Operation::Restart, unit: Some(name), within };
        call.within(async { self.begin(Job::Restart, &call, name).await.map(drop) }).await
    }

    /// Forgets that a service has failed, and how often it was started: what it may be started again for.
    ///
    /// # Errors
    ///
    /// If systemd refuses or does not answer `within` the time.
    pub async fn reset_failed(&self, name: &ServiceName, within: Duration) -> Result<(), SystemdError> {
        let call = Call { operation: Operation::ResetFailed, unit: Some(name), within };
        let asked = async {
            self.hold(&call, name).await;
            self.manager(&call, "ResetFailedUnit", &name.as_str()).await.map(drop)
        };
        call.within(asked).await
    }

    /// Sends a signal to all processes of a service. To one that has none it is sent in vain, which is no error.
    ///
    /// # Errors
    ///
    /// If systemd refuses or does not answer `within` the time.
    pub async fn kill(
        &self,
        name: &ServiceName,
        signal: Signal,
        within: Duration,
    ) -> Result<(), SystemdError> {
        let call = Call { operation: Operation::Kill, unit: Some(name), within };
        let body = (name.as_str(), "all", signal as i32);
        let asked = async {
            self.hold(&call, name).await;
            self.manager(&call, "KillUnit", &body).await.map(drop)
        };
        call.within(asked).await
    }

    /// If a service has a process, or may have one any moment: [`ServiceFacts::may_run`] without the other facts, of which
    /// there are hundreds.
    async fn may_run(&self, call: &Call<'_>, name: &ServiceName) -> Result<bool, SystemdError> {
        let path: OwnedObjectPath = call.read(&self.manager(call, "LoadUnit", &name.as_str()).await?)?;
        let active = self.property::<String>(call, &path, (UNIT, "ActiveState"));
        let main_pid = self.property::<u32>(call, &path, (SERVICE, "MainPID"));
        let (active, main_pid) = try_join!(active, main_pid)?;
        Ok(facts::may_run(&active.as_str().into(), main_pid))
    }

    async fn property<T: TryFrom<OwnedVariant>>(
        &self,
        call: &Call<'_>,
        path: &OwnedObjectPath,
        property: (&str, &str),
    ) -> Result<T, SystemdError> {
        let asked =
            self.connection.call_method(Some(DESTINATION), path.as_str(), Some(PROPERTIES), "Get", &property);
        let value: OwnedVariant = call.read(&asked.await.map_err(|error| judge(call, error))?.body())?;
        T::try_from(value).map_err(|_| call.malformed(format!("{} is of another type", property.1)))
    }

    async fn properties(
        &self,
        call: &Call<'_>,
        path: &OwnedObjectPath,
        interface: &str,
    ) -> Result<HashMap<String, OwnedVariant>, SystemdError> {
        let asked = self.connection.call_method(
            Some(DESTINATION),
            path.as_str(),
            Some(PROPERTIES),
            "GetAll",
            &interface,
        );
        call.read(&asked.await.map_err(|error| judge(call, error))?.body())
    }

    async fn manager<B>(&self, call: &Call<'_>, method: &str, body: &B) -> Result<Body, SystemdError>
    where
        B: serde::Serialize + DynamicType,
    {
        let asked = self.connection.call_method(Some(DESTINATION), MANAGER_PATH, Some(MANAGER), method, body);
        asked.await.map(|answer: Message| answer.body()).map_err(|error| judge(call, error))
    }
}

#[cfg(test)]
mod tests;
