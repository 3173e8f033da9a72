//! Asking the owner of a lab, from another process.

use std::io;
use std::path::Path;
use std::time::Duration;

use imex_core::DomainSummary;
use imex_wire::Endpoint;
use thiserror::Error;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::{sleep, timeout};

use crate::control::{DEADLINE, END_GRACE, LabStatus, MAX_REPLY, Refused, Reply, Request};
use crate::lab::{WaitError, is_up};
use crate::layout::{Layout, LayoutError};
use crate::process::{Life, NodeSignal};
use crate::watch::watch_until;

/// How often it is checked, while waiting for the domain, that no daemon has ended: rarely enough to cost nothing,
/// often enough that nobody waits for a domain that cannot come.
const LIFE_CHECK: Duration = Duration::from_millis(250);

/// How long the owner's process may take to end after it has said that all nodes have, and how often that is checked.
const LAST_BREATH: (Duration, Duration) = (Duration::from_secs(5), Duration::from_millis(5));

/// A lab that another process owns, or another part of this one.
#[derive(Clone, Debug)]
pub struct LabClient {
    layout: Layout,
}

/// Why a lab's owner did not do as asked.
#[derive(Debug, Error)]
pub enum ControlError {
    /// There is no lab that runs.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The owner cannot be asked.
    #[error("the lab in {dir} runs but cannot be asked")]
    NoAnswer {
        /// The lab's directory.
        dir: String,
        /// What the system said.
        source: io::Error,
    },
    /// The owner did not answer in time.
    #[error("the lab in {dir} did not answer within {} s", after.as_secs())]
    Deadline {
        /// The lab's directory.
        dir: String,
        /// The deadline.
        after: Duration,
    },
    /// What it answered makes no sense.
    #[error("the lab in {dir} gave no proper answer")]
    Malformed {
        /// The lab's directory.
        dir: String,
    },
    /// It would not.
    #[error("{}", .0.message)]
    Refused(Refused),
}

impl ControlError {
    /// What to do about it.
    pub fn hint(&self) -> &str {
        match self {
            ControlError::Layout(error) => error.hint(),
            ControlError::NoAnswer { .. }
            | ControlError::Deadline { .. }
            | ControlError::Malformed { .. } => {
                "its process id is in DIR/lab.lock; when that process ends, so do all nodes"
            }
            ControlError::Refused(refused) => &refused.hint,
        }
    }
}

impl LabClient {
    /// The lab in `dir`, which must run.
    pub fn open(dir: &Path) -> Result<Self, ControlError> {
        let layout = Layout::new(dir)?;
        layout.check_runs()?;
        Ok(LabClient { layout })
    }

    /// Where its files are.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Where a node's daemon answers commands.
    pub fn endpoint(&self, node: usize) -> Endpoint {
        Endpoint::Unix(self.layout.node(node).socket)
    }

    /// How everything fares.
    pub async fn status(&self) -> Result<LabStatus, ControlError> {
        match self.ask(Request::Status, DEADLINE).await? {
            Reply::Status(status) => Ok(status),
            Reply::Done { .. } | Reply::Ended { .. } | Reply::Refused(_) => Err(self.malformed()),
        }
    }

    /// Sends a signal to a node. Returns the process that got it.
    pub async fn kill(&self, node: usize, signal: NodeSignal) -> Result<u32, ControlError> {
        self.act(Request::Kill { node, signal }).await
    }

    /// Starts a node that has ended. Returns its process.
    pub async fn start(&self, node: usize) -> Result<u32, ControlError> {
        self.act(Request::Start { node }).await
    }

    /// Ends all nodes and the lab. Returns how many nodes had to be killed because they did not leave in time.
    pub async fn down(&self) -> Result<usize, ControlError> {
        let Reply::Ended { killed } = self.ask(Request::Down, END_GRACE + DEADLINE).await? else {
            return Err(self.malformed());
        };
        let ended = async {
            while self.layout.check_runs().is_ok() {
                sleep(LAST_BREATH.1).await;
            }
        };
        // All nodes have ended; what is late is only the owner's own end.
        drop(timeout(LAST_BREATH.0, ended).await);
        Ok(killed)
    }

    /// Waits until a node that runs sees the domain UP, telling `progress` of each change. Ends early when a node's
    /// process has ended.
    pub async fn wait_up(
        &self,
        deadline: Duration,
        mut progress: impl FnMut(DomainSummary),
    ) -> Result<DomainSummary, WaitError> {
        let viewer = viewer(&self.status().await.map_err(WaitError::Owner)?);
        let endpoint = self.endpoint(viewer);
        let judge = |summary: DomainSummary| {
            progress(summary);
            is_up(summary)
        };
        tokio::select! {
            found = watch_until(&endpoint, deadline, judge) => Ok(found?),
            dead = self.first_death() => Err(dead),
        }
    }

    async fn first_death(&self) -> WaitError {
        loop {
            let status = match self.status().await {
                Ok(status) => status,
                Err(error) => return WaitError::Owner(error),
            };
            for report in status.nodes {
                if let Life::Dead { end } = report.life {
                    let node = report.node;
                    return WaitError::NodeDead { node, end };
                }
            }
            sleep(LIFE_CHECK).await;
        }
    }

    async fn act(&self, request: Request) -> Result<u32, ControlError> {
        match self.ask(request, DEADLINE).await? {
            Reply::Done { pid } => Ok(pid),
            Reply::Refused(refused) => Err(ControlError::Refused(refused)),
            Reply::Status(_) | Reply::Ended { .. } => Err(self.malformed()),
        }
    }

    async fn ask(&self, request: Request, within: Duration) -> Result<Reply, ControlError> {
        let dir = || self.layout.dir().display().to_string();
        match timeout(within, self.exchange(request)).await {
            Ok(Ok(line)) => serde_json::from_str(&line).map_err(|_| self.malformed()),
            Ok(Err(source)) => Err(ControlError::NoAnswer { dir: dir(), source }),
            Err(_) => Err(ControlError::Deadline { dir: dir(), after: within }),
        }
    }

    async fn exchange(&self, request: Request) -> io::Result<String> {
        let mut stream = UnixStream::connect(self.layout.control_socket()).await?;
        let mut question = serde_json::to_string(&request)?;
        question.push('\n');
        stream.write_all(question.as_bytes()).await?;
        let mut line = String::new();
        BufReader::new(stream.take(MAX_REPLY)).read_line(&mut line).await?;
        Ok(line)
    }

    fn malformed(&self) -> ControlError {
        let dir = self.layout.dir().display().to_string();
        ControlError::Malformed { dir }
    }
}

/// The node to ask about the domain: the first that runs, or the first of all.
pub fn viewer(status: &LabStatus) -> usize {
    let runs = |life: &Life| matches!(life, Life::Running { .. });
    status.nodes.iter().position(|report| runs(&report.life)).unwrap_or(0)
}
