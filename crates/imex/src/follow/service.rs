//! Who restarts the service: systemd, or the owner of a lab.

use std::path::PathBuf;
use std::time::Duration;

use imex_host::systemd::{ServiceName, Systemd, SystemdError};
use imex_lab::{ControlError, LabClient, Life, NodeSignal};
use tokio::time::sleep;

use super::args::{FollowArgs, ServiceArg};
use crate::clock::Stopwatch;
use crate::exit::Exit;
use crate::failure::Failure;

/// How long a leaving daemon may take. It tells its peers and cleans up, which takes milliseconds.
const LEAVE: Duration = Duration::from_secs(15);

/// How long one question to systemd may take. It answers within milliseconds unless it reads all of its units anew.
const ASK: Duration = Duration::from_secs(10);

/// How often a leaving daemon of a lab is looked for.
const LOOK: Duration = Duration::from_millis(20);

/// A service that can be restarted. It is up again when the domain says so, not when this is done.
pub(super) trait Restart {
    /// Restarts it.
    async fn restart(&self) -> Result<(), Failure>;
}

/// The service of this node.
#[derive(Clone, Debug)]
pub(super) enum Service {
    /// A unit of systemd's.
    Systemd(Unit),
    /// A node of a lab.
    Lab(LabNode),
}

/// A unit of systemd's.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    name: ServiceName,
}

/// A node of a lab.
#[derive(Clone, Debug)]
pub(super) struct LabNode {
    dir: PathBuf,
    node: usize,
}

impl Service {
    /// The one that the command line names.
    pub(super) fn new(args: &FollowArgs) -> Self {
        match &args.service {
            ServiceArg::Systemd { unit } => Service::Systemd(Unit { name: unit.clone() }),
            ServiceArg::Lab { dir, node } => Service::Lab(LabNode { dir: dir.clone(), node: *node }),
        }
    }
}

impl Restart for Service {
    async fn restart(&self) -> Result<(), Failure> {
        match self {
            Service::Systemd(unit) => unit.restart().await,
            Service::Lab(node) => node.restart().await,
        }
    }
}

impl Unit {
    /// Not waited for: the unit is `notify`, and is ready only when all members are.
    async fn ask(&self) -> Result<(), SystemdError> {
        let systemd = Systemd::connect(ASK).await?;
        // A unit that failed too often with the map before must not refuse this one. One that never failed is no error.
        let _ = systemd.reset_failed(&self.name, ASK).await;
        systemd.begin_restart(&self.name, ASK).await
    }
}

impl Restart for Unit {
    async fn restart(&self) -> Result<(), Failure> {
        self.ask().await.map_err(|error| Failure::new(Exit::NotFollowed, &error))
    }
}

impl LabNode {
    async fn life(&self, lab: &LabClient) -> Result<Life, ControlError> {
        let status = lab.status().await?;
        // The lab answers a number that it does not have to `start`.
        let report = status.nodes.into_iter().nth(self.node);
        Ok(report.map_or(Life::Running { pid: 0 }, |report| report.life))
    }
}

impl Restart for LabNode {
    async fn restart(&self) -> Result<(), Failure> {
        let lab = LabClient::open(&self.dir)?;
        if !matches!(self.life(&lab).await?, Life::Dead { .. }) {
            lab.kill(self.node, NodeSignal::Term).await?;
        }
        let started = Stopwatch::start();
        while !matches!(self.life(&lab).await?, Life::Dead { .. }) && started.elapsed() < LEAVE {
            sleep(LOOK).await;
        }
        lab.start(self.node).await?;
        Ok(())
    }
}
