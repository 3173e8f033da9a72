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
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::Signal;
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

/// Where systemd can be spoken to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sockets {
    /// The system bus.
    pub bus: PathBuf,
    /// systemd's own socket, for the superuser. It is there before the bus is, and without one.
    pub private: PathBuf,
}

/// A connection to systemd. It belongs to the runtime that it was made in.
#[derive(Clone, Debug)]
pub struct Systemd {
    connection: Connection,
    peer: Peer,
}

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peer {
    /// The bus, which carries messages to systemd.
    Bus,
    /// systemd itself.
    Manager,
}

impl Default for Sockets {
    fn default() -> Self {
        Sockets { bus: "/run/dbus/system_bus_socket".into(), private: "/run/systemd/private".into() }
    }
}

impl Systemd {
    /// Connects by the usual sockets.
    ///
    /// # Errors
    ///
    /// If there is no systemd to speak to, or it does not answer `within` the time.
    pub async fn connect(within: Duration) -> Result<Self, SystemdError> {
        Systemd::connect_to(&Sockets::default(), within).await
    }

    /// Connects by the bus or, where nobody listens there, by systemd's own socket.
    ///
    /// # Errors
    ///
    /// If there is no systemd to speak to, or it does not answer `within` the time.
    pub async fn connect_to(sockets: &Sockets, within: Duration) -> Result<Self, SystemdError> {
        let (stream, peer) = match UnixStream::connect(&sockets.bus) {
            Ok(stream) => (stream, Peer::Bus),
            Err(bus) => match UnixStream::connect(&sockets.private) {
                Ok(stream) => (stream, Peer::Manager),
                Err(private) => return Err(no_manager(sockets, bus, private)),
            },
        };
        let builder = Builder::unix_stream(stream);
        let builder = match peer {
            Peer::Bus => builder,
            Peer::Manager => builder.p2p(),
        };
        let call = Call { operation: Operation::Connect, unit: None, within };
        let connection =
            call.within(async { builder.build().await.map_err(|error| call.failed(error)) }).await?;
        Ok(Systemd { connection, peer })
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
            let mut properties = self.properties(&call, &path, UNIT).await?;
            properties.extend(self.properties(&call, &path, SERVICE).await?);
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

    /// Forgets that a service has failed, and how often it was started: what it may be started again for.
    ///
    /// # Errors
    ///
    /// If systemd refuses or does not answer `within` the time.
    pub async fn reset_failed(&self, name: &ServiceName, within: Duration) -> Result<(), SystemdError> {
        let call = Call { operation: Operation::ResetFailed, unit: Some(name), within };
        call.within(async { self.manager(&call, "ResetFailedUnit", &name.as_str()).await.map(drop) }).await
    }

    /// Sends a signal to all processes of a service.
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
        call.within(async { self.manager(&call, "KillUnit", &body).await.map(drop) }).await
    }

    async fn properties(
        &self,
        call: &Call<'_>,
        path: &OwnedObjectPath,
        interface: &str,
    ) -> Result<HashMap<String, OwnedVariant>, SystemdError> {
        let asked = self.connection.call_method(
            self.destination(),
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
        let asked =
            self.connection.call_method(self.destination(), MANAGER_PATH, Some(MANAGER), method, body);
        asked.await.map(|answer: Message| answer.body()).map_err(|error| judge(call, error))
    }

    fn destination(&self) -> Option<&'static str> {
        match self.peer {
            Peer::Bus => Some(DESTINATION),
            Peer::Manager => None,
        }
    }
}

fn no_manager(sockets: &Sockets, bus: io::Error, private: io::Error) -> SystemdError {
    SystemdError::NoManager {
        bus: sockets.bus.clone(),
        private: sockets.private.clone(),
        why: private,
        source: bus,
    }
}

#[cfg(test)]
mod tests;
