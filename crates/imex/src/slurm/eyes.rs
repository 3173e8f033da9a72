//! How this node sees its domain: through imexd's command socket, or through NVIDIA's control tool.

use std::ops::ControlFlow;
use std::time::Duration;

use imex_config::keys::table::{IMEX_CMD_UNIX_DOMAIN_PATH, SERVER_PORT};
use imex_config::operator::{Operator, Provider};
use imex_config::{DEFAULT_SOCKET, chain};
use imex_core::{DomainState, DomainSummary, NodeMap};
use imex_lab::watch_until;
use imex_slurm::eyes::{Blind, ControlTool, Eyes};
use imex_slurm::map;
use imex_slurm::view::View;
use imex_wire::{CommandClient, Endpoint};
use tokio::time::{sleep, timeout};

/// How long the daemon is listened to; whoever waits ends it earlier.
const LONG: Duration = Duration::from_secs(24 * 60 * 60);

/// How long one table may take.
const TABLE: Duration = Duration::from_secs(3);

/// The pause before a daemon that has another map is asked again.
const PAUSE: Duration = Duration::from_millis(100);

/// The eyes of a node, by provider.
#[derive(Debug)]
pub(super) enum NodeEyes {
    Daemon(LocalDaemon),
    Tool(ControlTool),
}

/// imexd, by its command socket.
#[derive(Debug)]
pub(super) struct LocalDaemon {
    endpoint: Endpoint,
}

impl NodeEyes {
    /// Those of the node that the node map has as `own`.
    pub(super) fn new(operator: &Operator, own: &str) -> Self {
        let service = &operator.service;
        match service.provider {
            Provider::Imexd => NodeEyes::Daemon(LocalDaemon { endpoint: endpoint(operator) }),
            Provider::NvidiaImex => {
                let tool = (service.control.as_str(), operator.tools.path.as_str());
                NodeEyes::Tool(ControlTool::new(tool, &service.config, port(operator), own))
            }
        }
    }
}

/// The socket that the service's configuration names. One that cannot be read is the daemon's to complain about.
fn endpoint(operator: &Operator) -> Endpoint {
    let file = map::read_config(&operator.service.config).ok();
    let set = file.as_ref().and_then(|file| file.get(IMEX_CMD_UNIX_DOMAIN_PATH.name));
    let path = set.map(|set| set.value).filter(|value| !value.is_empty()).unwrap_or(DEFAULT_SOCKET);
    Endpoint::Unix(path.into())
}

/// The port between the services, by the configuration that was written for the job.
fn port(operator: &Operator) -> u16 {
    let file = map::read_config(&operator.service.config).ok();
    let set = file.as_ref().and_then(|file| file.get(SERVER_PORT.name));
    let text = set.map_or(SERVER_PORT.default, |set| set.value);
    // As the service itself reads it: what is no number is the default.
    text.parse().or_else(|_| SERVER_PORT.default.parse()).unwrap_or_default()
}

impl LocalDaemon {
    async fn table(&self, within: Duration) -> Result<View, Blind> {
        let asked = async {
            let mut client = CommandClient::connect(&self.endpoint, within).await?;
            client.get_domain().await
        };
        let no_answer = |why: String| Blind::NoAnswer { why };
        match timeout(within, asked).await {
            Ok(Ok(status)) => {
                View::of(&status.table).ok_or_else(|| no_answer("it is in no domain".to_owned()))
            }
            Ok(Err(error)) => Err(no_answer(chain(&error))),
            Err(_) => Err(no_answer(format!("no answer within {} ms", within.as_millis()))),
        }
    }

    async fn until_up(&self, map: &NodeMap) -> Result<View, Blind> {
        loop {
            let up = watch_until(&self.endpoint, LONG, |summary: DomainSummary| match summary.state {
                DomainState::Up if summary.nodes == map.len() => ControlFlow::Break(()),
                DomainState::Up | DomainState::Down | DomainState::Degraded => ControlFlow::Continue(()),
            });
            up.await.map_err(|error| Blind::NoAnswer { why: chain(&error) })?;
            // The summary counts; the table tells whose links they are.
            if let Ok(view) = self.table(TABLE).await
                && view.state == DomainState::Up
                && view.has_members(map.iter().map(|(_, entry)| entry))
            {
                return Ok(view);
            }
            sleep(PAUSE).await;
        }
    }
}

impl Eyes for NodeEyes {
    async fn until_up(&self, map: &NodeMap) -> Result<View, Blind> {
        match self {
            NodeEyes::Daemon(daemon) => daemon.until_up(map).await,
            NodeEyes::Tool(tool) => tool.until_up(map).await,
        }
    }

    async fn look(&self, within: Duration) -> Result<View, Blind> {
        match self {
            NodeEyes::Daemon(daemon) => daemon.table(within).await,
            NodeEyes::Tool(tool) => tool.look(within).await,
        }
    }
}
