//! Taking in those who dial this daemon, with a bound on everything that a stranger can hold.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use imex_config::chain;
use imex_core::{Hello, NodeId, Refusal};
use imex_wire::accept::HELLO_DEADLINE;
use imex_wire::{AcceptError, Credential, Incoming, LinkLimits};
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::addresses::{Neighbours, Whereabouts};
use super::lobby::Lobby;
use super::rate::Rates;
use super::{Arrival, Outlet, PeerEvent};
use crate::fence::{AuthError, Fence, Session};
use crate::stats::Counter;

/// How many accepted connections there may be besides two per node of the map (a peer that dials anew keeps its older
/// one until the newer is up): restarted peers whose old connection
/// is not yet gone, and strangers. One more is closed at once; a peer tries again.
pub(crate) const SPARE_CONNECTIONS: usize = 32;

/// How long a newcomer is kept waiting for a place that is being freed, before anybody is put out for it: when many nodes
/// dial anew at once, their old connections are closed already, and only their tasks have yet to see it.
const FREED: Duration = Duration::from_millis(5);

/// How long a newcomer is kept waiting for the place of somebody who was put out: until its task has been dropped.
const PLACE_DEADLINE: Duration = Duration::from_millis(50);

/// How long the listener rests when a connection could not be accepted for want of descriptors or memory: the condition
/// lasts, and the waiting connection would be reported again at once.
const REST: Duration = Duration::from_millis(100);

/// The listener for peers, and who waits at it.
#[derive(Debug)]
pub(crate) struct Door {
    listener: TcpListener,
    reception: Arc<Reception>,
    places: Arc<Semaphore>,
    lobby: Lobby,
    rates: Rates,
    serial: u32,
}

/// What everybody who comes needs.
#[derive(Debug)]
pub(crate) struct Reception {
    /// What stands between TCP and HTTP/2.
    pub(crate) fence: Fence,
    /// Who is expected.
    pub(crate) neighbours: Neighbours,
    /// This daemon.
    pub(crate) hello: Arc<Hello>,
    /// Bounds of what a peer may send.
    pub(crate) limits: LinkLimits,
    /// Where it goes.
    pub(crate) outlet: Outlet,
}

/// What an accepted connection holds until it has introduced itself.
struct Ticket {
    serial: u32,
    from: IpAddr,
    origin: Whereabouts,
    place: OwnedSemaphorePermit,
}

impl Door {
    /// A door for a map of `nodes` nodes.
    pub(crate) fn new(listener: TcpListener, nodes: usize, reception: Reception) -> Self {
        Door {
            listener,
            reception: Arc::new(reception),
            places: Arc::new(Semaphore::new(2 * nodes + SPARE_CONNECTIONS)),
            lobby: Lobby::default(),
            rates: Rates::new(nodes),
            serial: 0,
        }
    }

    /// Accepts for ever.
    pub(crate) async fn keep(mut self) {
        loop {
            match self.listener.accept().await {
                Ok((stream, from)) => self.receive(stream, from.ip().to_canonical()).await,
                Err(error) => self.rest(&error).await,
            }
        }
    }

    async fn receive(&mut self, stream: TcpStream, from: IpAddr) {
        let origin = self.reception.neighbours.whereabouts(from);
        // Whoever has to prove something need not begin where nobody is expected from.
        if origin == Whereabouts::Foreign && !self.reception.fence.is_open() {
            drop(stream);
            return self.reception.count(Counter::StrangersForeign, from).await;
        }
        // Whoever comes too often goes itself, before it costs a handshake.
        if !self.rates.admit((from, origin), self.reception.outlet.now()) {
            drop(stream);
            return self.reception.count(Counter::StrangersTurnedAway, from).await;
        }
        if self.lobby.make_room(from, origin) {
            self.reception.count(Counter::StrangersTurnedAway, from).await;
        }
        let Some(place) = self.place(origin).await else {
            drop(stream);
            return self.reception.count(Counter::StrangersTurnedAway, from).await;
        };
        // Billions of connections later the first of them are long closed.
        self.serial = self.serial.wrapping_add(1);
        let ticket = Ticket { serial: self.serial, from, origin, place };
        let task = tokio::spawn(Arc::clone(&self.reception).receive(stream, ticket));
        self.lobby.take(from, origin, task.abort_handle());
    }

    /// A place, if need be that of whoever has waited longest without an introduction.
    async fn place(&mut self, newcomer: Whereabouts) -> Option<OwnedSemaphorePermit> {
        if let Some(place) = self.free_place(FREED).await {
            return Some(place);
        }
        if !self.lobby.put_out_for(newcomer) {
            return None;
        }
        self.free_place(PLACE_DEADLINE).await
    }

    async fn free_place(&self, within: Duration) -> Option<OwnedSemaphorePermit> {
        timeout(within, Arc::clone(&self.places).acquire_owned()).await.ok()?.ok()
    }

    async fn rest(&self, error: &io::Error) {
        if is_about_one_connection(error) {
            return;
        }
        tracing::debug!(%error, "A connection could not be accepted");
        self.reception.count(Counter::AcceptFailures, Ipv4Addr::UNSPECIFIED.into()).await;
        tokio::time::sleep(REST).await;
    }
}

/// Whether `accept` failed because the waiting connection is gone already: accept(2), "Error handling".
fn is_about_one_connection(error: &io::Error) -> bool {
    let kind = error.kind();
    kind == io::ErrorKind::ConnectionAborted || kind == io::ErrorKind::ConnectionReset
}

impl Reception {
    async fn receive(self: Arc<Self>, stream: TcpStream, ticket: Ticket) {
        let Ticket { serial, from, origin, place } = ticket;
        match self.introduce(stream, origin).await {
            Ok(incoming) => {
                let incoming = Box::new(incoming);
                self.outlet.put(PeerEvent::Arrived(Arrival { serial, incoming, from, place })).await;
            }
            Err(error) => {
                tracing::debug!(%from, error = %chain(&error), "A connection came to nothing");
                let (counter, why) = (error.counter(), error.why());
                self.outlet.put(PeerEvent::Stranger { counter, from, why }).await;
            }
        }
    }

    async fn count(&self, counter: Counter, from: IpAddr) {
        self.outlet.put(PeerEvent::Stranger { counter, from, why: None }).await;
    }

    /// Until there is a hello. Where nothing has to be proven first, the time for it runs from the first moment.
    async fn greet(&self, stream: TcpStream) -> Result<(Session, Incoming), Stranger> {
        let greeting = async {
            let secured = self.fence.accepted(stream).await.map_err(Stranger::Unauthenticated)?;
            Ok((secured.session, imex_wire::await_hello(secured.io, self.limits).await?))
        };
        if self.fence.is_open() {
            let greeted = timeout(HELLO_DEADLINE, greeting).await;
            return greeted.unwrap_or(Err(AcceptError::TimedOut.into()));
        }
        greeting.await
    }

    /// From a bare connection to a hello that may be believed as far as this node's security goes.
    async fn introduce(&self, stream: TcpStream, origin: Whereabouts) -> Result<Incoming, Stranger> {
        // Nagle's algorithm would hold every second small message back until the first is acknowledged.
        stream.set_nodelay(true).map_err(AcceptError::Socket)?;
        let (session, incoming) = self.greet(stream).await?;
        let claimed = incoming.hello().node();
        // Members of other domains are turned away by the core, which tells them that and nothing else.
        let ours = incoming.hello().get().token == self.hello.get().token;
        if origin == Whereabouts::Foreign && ours {
            incoming.refuse(&Refusal::AddressUnknown).await;
            return Err(Stranger::Foreign { claimed });
        }
        match prove_both(&session, &incoming).await {
            Ok(proof) => Ok(incoming.answering_with(proof)),
            Err(source) => {
                incoming.refuse(&Refusal::Unproven).await;
                Err(Stranger::Unproven { claimed, source })
            }
        }
    }
}

/// That the far end is who it claims to be, and then what this node shows to it.
async fn prove_both(session: &Session, incoming: &Incoming) -> Result<Option<Credential>, AuthError> {
    session.judge(incoming.hello(), incoming.credential()).await?;
    session.prove(incoming.hello().node()).await
}

/// Why a connection came to nothing before the core heard of it.
#[derive(Debug, Error)]
enum Stranger {
    #[error("it did not authenticate")]
    Unauthenticated(#[source] AuthError),
    #[error(transparent)]
    NoHello(#[from] AcceptError),
    #[error("it calls itself node {claimed}, but no node of the map has its address")]
    Foreign { claimed: NodeId },
    #[error("it does not prove that it is node {claimed}")]
    Unproven { claimed: NodeId, source: AuthError },
}

impl Stranger {
    /// What an operator wants to know of it beyond what is counted.
    fn why(&self) -> Option<String> {
        match self {
            Stranger::Unauthenticated(error) => Some(error.to_string()),
            Stranger::Unproven { claimed, source } => {
                Some(format!("it calls itself node {claimed}, but {source}"))
            }
            Stranger::Foreign { .. } | Stranger::NoHello(_) => None,
        }
    }

    fn counter(&self) -> Counter {
        match self {
            Stranger::Unauthenticated(_) => Counter::StrangersUnauthenticated,
            Stranger::Foreign { .. } => Counter::RefusedAddressUnknown,
            Stranger::Unproven { .. } => Counter::RefusedUnproven,
            Stranger::NoHello(AcceptError::TimedOut) => Counter::StrangersSilent,
            Stranger::NoHello(AcceptError::Ended | AcceptError::Socket(_)) => Counter::StrangersEnded,
            Stranger::NoHello(AcceptError::Breach(_)) => Counter::StrangersMalformed,
        }
    }
}

#[cfg(test)]
mod tests;
