//! Taking in those who dial this daemon, with a bound on everything that a stranger can hold.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use imex_config::chain;
use imex_core::{NodeId, Refusal};
use imex_wire::{AcceptError, Incoming, LinkLimits};
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Arrival, Outlet, PeerEvent};
use crate::fence::{AuthError, Fence};
use crate::stats::Counter;

/// How many accepted connections there may be besides one per node of the map: restarted peers whose old connection
/// is not yet gone, and strangers. One more is closed at once; a peer tries again.
pub(crate) const SPARE_CONNECTIONS: usize = 32;

/// How many connections of one address may be without an introduction at once. A peer needs one, and one more when it
/// was restarted; with this no single machine fills the spare places.
const UNINTRODUCED_PER_SOURCE: usize = 8;

/// How long the listener rests when a connection could not be accepted for want of descriptors or memory: the condition
/// lasts, and the waiting connection would be reported again at once.
const REST: Duration = Duration::from_millis(100);

/// The listener for peers, and who came lately.
#[derive(Debug)]
pub(crate) struct Door {
    listener: TcpListener,
    reception: Arc<Reception>,
    places: Arc<Semaphore>,
    sources: BTreeMap<IpAddr, Arc<Semaphore>>,
    serial: u32,
}

/// What everybody who comes needs.
#[derive(Debug)]
struct Reception {
    fence: Fence,
    limits: LinkLimits,
    outlet: Outlet,
}

/// What an accepted connection holds until it has introduced itself.
struct Ticket {
    serial: u32,
    from: IpAddr,
    place: OwnedSemaphorePermit,
    _of_source: OwnedSemaphorePermit,
}

impl Door {
    /// A door for a map of `nodes` nodes.
    pub(crate) fn new(listener: TcpListener, nodes: usize, fence: Fence, outlet: Outlet) -> Self {
        Door {
            listener,
            reception: Arc::new(Reception { fence, limits: LinkLimits::for_nodes(nodes), outlet }),
            places: Arc::new(Semaphore::new(nodes + SPARE_CONNECTIONS)),
            sources: BTreeMap::new(),
            serial: 0,
        }
    }

    /// Accepts for ever.
    pub(crate) async fn keep(mut self) {
        loop {
            match self.listener.accept().await {
                Ok((stream, from)) => self.receive(stream, from).await,
                Err(error) => self.rest(&error).await,
            }
        }
    }

    async fn receive(&mut self, stream: TcpStream, from: SocketAddr) {
        let Some(ticket) = self.admit(from.ip().to_canonical()) else {
            drop(stream);
            tracing::debug!(%from, "Closed a connection: too many have not introduced themselves");
            self.reception.outlet.put(PeerEvent::Stranger(Counter::StrangersTurnedAway)).await;
            return;
        };
        tokio::spawn(Arc::clone(&self.reception).receive(stream, ticket));
    }

    fn admit(&mut self, from: IpAddr) -> Option<Ticket> {
        // Only sources with an open connection are kept, of which there are at most as many as places.
        self.sources.retain(|_, open| open.available_permits() < UNINTRODUCED_PER_SOURCE);
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let source = self.sources.entry(from);
        let source = source.or_insert_with(|| Arc::new(Semaphore::new(UNINTRODUCED_PER_SOURCE)));
        let of_source = Arc::clone(source).try_acquire_owned().ok()?;
        // Billions of connections later the first of them are long closed.
        self.serial = self.serial.wrapping_add(1);
        Some(Ticket { serial: self.serial, from, place, _of_source: of_source })
    }

    async fn rest(&self, error: &io::Error) {
        if is_about_one_connection(error) {
            return;
        }
        tracing::debug!(%error, "A connection could not be accepted");
        self.reception.outlet.put(PeerEvent::Stranger(Counter::AcceptFailures)).await;
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
        match self.introduce(stream).await {
            Ok(incoming) => {
                let Ticket { serial, from, place, .. } = ticket;
                let incoming = Box::new(incoming);
                self.outlet.put(PeerEvent::Arrived(Arrival { serial, incoming, from, place })).await;
            }
            Err(error) => {
                tracing::debug!(from = %ticket.from, error = %chain(&error), "A connection came to nothing");
                self.outlet.put(PeerEvent::Stranger(error.counter())).await;
            }
        }
    }

    /// From a bare connection to a hello that may be believed as far as this node's security goes.
    async fn introduce(&self, stream: TcpStream) -> Result<Incoming, Stranger> {
        // Nagle's algorithm would hold every second small message back until the first is acknowledged.
        stream.set_nodelay(true).map_err(AcceptError::Socket)?;
        let secured = self.fence.accepted(stream).await.map_err(Stranger::Unauthenticated)?;
        let (io, session) = (secured.io, secured.session);
        let incoming = imex_wire::await_hello(io, self.limits).await?;
        let (claimed, credential) = (incoming.hello().node(), incoming.credential());
        let judged = session.judge(incoming.hello(), credential).await;
        let proof = match judged {
            Ok(()) => session.prove(claimed).await,
            Err(error) => Err(error),
        };
        match proof {
            Ok(proof) => Ok(incoming.answering_with(proof)),
            Err(error) => {
                incoming.refuse(&Refusal::Unproven).await;
                Err(Stranger::Unproven { claimed, source: error })
            }
        }
    }
}

/// Why a connection came to nothing before the core heard of it.
#[derive(Debug, Error)]
enum Stranger {
    #[error("it did not authenticate")]
    Unauthenticated(#[source] AuthError),
    #[error(transparent)]
    NoHello(#[from] AcceptError),
    #[error("it does not prove that it is node {claimed}")]
    Unproven { claimed: NodeId, source: AuthError },
}

impl Stranger {
    fn counter(&self) -> Counter {
        match self {
            Stranger::Unauthenticated(_) => Counter::StrangersUnauthenticated,
            Stranger::Unproven { .. } => Counter::RefusedUnproven,
            Stranger::NoHello(AcceptError::TimedOut) => Counter::StrangersSilent,
            Stranger::NoHello(AcceptError::Ended | AcceptError::Socket(_)) => Counter::StrangersEnded,
            Stranger::NoHello(AcceptError::Breach(_)) => Counter::StrangersMalformed,
        }
    }
}
