//! The command service: read-only questions by tools on this machine, or over TCP where configured.
//!
//! Whoever asks gets a connection of its own, of which there is a bounded number; a newcomer gets the place of whoever
//! has the weakest claim to one, so that no client keeps out others by staying. What they ask goes to the driver loop by
//! a queue of its own, so no number of askers delays a peer. How long a connection may be idle and how large a message
//! may be is bounded in `imex-wire`.

mod desk;
mod places;
mod socket;

use std::future::ready;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use imex_config::settings::{Command, CommandTcp};
use tokio::net::{TcpListener, TcpStream};

pub(crate) use desk::{Desk, Publication, Question, Reply};
pub(crate) use socket::{CommandSocket, SocketError};

use crate::failure::{StartError, system};
use crate::fence::Fence;
use crate::peer::rate::Rates;
use crate::peer::{Outlet, PeerEvent};
use crate::ports::{self, PortError};
use crate::stats::Counter;
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
    pub(crate) async fn take(command: &Command, fence: &Fence) -> Result<Self, StartError> {
        let wanted = command.tcp.as_ref();
        let tcp = wanted.filter(|_| fence.admits_tools()).map(listen_tcp).transpose()?;
        if wanted.is_some() && tcp.is_none() {
            tracing::warn!(
                "The command service does not listen on TCP: this kind of security proves nothing about tools; the \
                 Unix socket is served"
            );
        }
        let socket = CommandSocket::bind(&command.socket, command.socket_mode).await?;
        if let Some(tcp) = &tcp {
            let address = tcp.local_addr().map_err(system("name the command port"))?;
            tracing::info!(%address, "The command service listens on TCP");
        }
        tracing::info!(socket = %command.socket.display(), "The command service listens on a Unix socket");
        Ok(Listeners { socket, tcp })
    }

    /// Serves for ever. The socket's file is removed when this is dropped. Those who come too often are told to `outlet`.
    pub(crate) async fn serve(self, desk: Arc<Desk>, fence: Fence, outlet: Outlet) {
        let tcp = async {
            match &self.tcp {
                Some(listener) => serve_tcp(listener, &fence, &desk, &outlet).await,
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
            Ok((stream, _)) => {
                if let Ok(asker) = stream.peer_cred() {
                    tracing::debug!(uid = asker.uid(), pid = asker.pid(), "Somebody asks at the Unix socket");
                }
                places.serve(ready(Some(stream)), desk).await;
            }
            Err(error) => rest(&error).await,
        }
    }
}

async fn serve_tcp(listener: &TcpListener, fence: &Fence, desk: &Arc<Desk>, outlet: &Outlet) {
    let (mut places, mut rates) = (Places::default(), Rates::new(0));
    loop {
        match listener.accept().await {
            // A tool's handshake costs as much as a peer's, on the same thread.
            Ok((stream, from)) if !rates.admit_source(from.ip().to_canonical(), outlet.now()) => {
                drop(stream);
                let (counter, from) = (Counter::StrangersTurnedAway, from.ip().to_canonical());
                outlet.put(PeerEvent::Stranger { counter, from, why: None }).await;
            }
            Ok((stream, from)) => {
                // Without this an answer may wait for a delayed acknowledgement; it is no reason not to give it.
                let _ = stream.set_nodelay(true);
                places.serve(secured(stream, from, fence.clone()), desk).await;
            }
            Err(error) => rest(&error).await,
        }
    }
}

/// A client's connection, secured like a peer's: it must show a certificate of the authority, whosever it is, because all
/// that it can do is ask.
async fn secured(stream: TcpStream, from: SocketAddr, fence: Fence) -> Option<Box<dyn imex_wire::Io>> {
    match fence.accepted(stream).await {
        Ok(secured) => Some(secured.io),
        Err(error) => {
            tracing::debug!(%from, %error, "A command connection did not authenticate");
            None
        }
    }
}

async fn rest(error: &io::Error) {
    tracing::debug!(%error, "A command connection could not be accepted");
    tokio::time::sleep(REST).await;
}
