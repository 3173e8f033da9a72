//! The command service: read-only questions by tools on this machine, or over TCP where configured.
//!
//! Whoever asks gets a connection of its own, of which there is a bounded number; a newcomer gets the place of whoever
//! has the weakest claim to one, so that no client keeps out others by staying. What they ask goes to the driver loop by
//! a queue of its own, so no number of askers delays a peer. How long a connection may be idle and how large a message
//! may be is bounded in `imex-wire`.

mod desk;
mod places;
mod socket;

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use imex_config::settings::{Command, CommandTcp};
use tokio::net::TcpListener;

pub(crate) use desk::{Desk, Publication, Question, Reply};
pub(crate) use socket::{CommandSocket, SocketError};

use crate::failure::{StartError, system};
use crate::ports::{self, PortError};
use places::Places;

/// How many connections each of the two listeners serves at once: one person with a few monitors. More wait in the
/// listener's backlog until a place is free or taken from another, see [`Places`].
pub(crate) const CONNECTIONS: usize = 15;

/// How long a listener rests when a connection could not be accepted; see the peers' door.
const REST: Duration = Duration::from_millis(100);

/// The listeners of the command service, taken but not yet served.
#[derive(Debug)]
pub(crate) struct Listeners {
    socket: CommandSocket,
    tcp: Option<TcpListener>,
}

impl Listeners {
    /// Takes them.
    pub(crate) async fn take(command: &Command) -> Result<Self, StartError> {
        let tcp = command.tcp.as_ref().map(listen_tcp).transpose()?;
        let socket = CommandSocket::bind(&command.socket, command.socket_mode).await?;
        if let Some(tcp) = &tcp {
            let address = tcp.local_addr().map_err(system("name the command port"))?;
            tracing::info!(%address, "The command service listens on TCP");
        }
        tracing::info!(socket = %command.socket.display(), "The command service listens on a Unix socket");
        Ok(Listeners { socket, tcp })
    }

    /// Serves for ever. The socket's file is removed when this is dropped.
    pub(crate) async fn serve(self, desk: Arc<Desk>) {
        let tcp = async {
            match &self.tcp {
                Some(listener) => serve_tcp(listener, &desk).await,
                None => std::future::pending().await,
            }
        };
        tokio::join!(serve_unix(&self.socket, &desk), tcp);
    }
}

/// Without an address all interfaces are served, of both families where the machine has both.
fn listen_tcp(tcp: &CommandTcp) -> Result<TcpListener, PortError> {
    if let Some(address) = tcp.socket_addr() {
        return ports::listen(address);
    }
    match ports::listen((Ipv6Addr::UNSPECIFIED, tcp.port).into()) {
        Err(PortError::Refused { .. }) => ports::listen((Ipv4Addr::UNSPECIFIED, tcp.port).into()),
        taken => taken,
    }
}

async fn serve_unix(socket: &CommandSocket, desk: &Arc<Desk>) {
    let mut places = Places::default();
    loop {
        match socket.listener().accept().await {
            Ok((stream, _)) => places.serve(stream, desk).await,
            Err(error) => rest(&error).await,
        }
    }
}

async fn serve_tcp(listener: &TcpListener, desk: &Arc<Desk>) {
    let mut places = Places::default();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Without this an answer may wait for a delayed acknowledgement; it is no reason not to give it.
                let _ = stream.set_nodelay(true);
                places.serve(stream, desk).await;
            }
            Err(error) => rest(&error).await,
        }
    }
}

async fn rest(error: &io::Error) {
    tracing::debug!(%error, "A command connection could not be accepted");
    tokio::time::sleep(REST).await;
}
