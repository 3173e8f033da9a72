//! Dialling a peer: from its entry in the map to its answer.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use imex_config::{Settings, chain};
use imex_core::input::DialFailure;
use imex_core::{Hello, NodeId};
use imex_wire::{DialTarget, Dialled, LinkLimits};
use tokio::sync::Semaphore;

use super::addresses::{AddressShape, Route};
use super::{Outlet, PeerEvent};

/// How many names are looked up at once. The system's resolver blocks a thread each; more would not make a name server
/// that does not answer any faster.
pub(crate) const LOOK_UPS: usize = 4;

/// How many of a name's addresses are tried in one dial, so that it ends within the core's deadline.
const TRIED_ADDRESSES: usize = 4;

/// What all dials of one daemon have in common.
#[derive(Debug)]
pub(crate) struct Dialler {
    hello: Arc<Hello>,
    // Peers check it against their map.
    source: IpAddr,
    limits: LinkLimits,
    shape: AddressShape,
    look_ups: Arc<Semaphore>,
    outlet: Outlet,
}

impl Dialler {
    /// Dials come from the configured address and introduce this daemon by `hello`; results go to `outlet`.
    pub(crate) fn new(settings: &Settings, shape: AddressShape, hello: Arc<Hello>, outlet: Outlet) -> Self {
        Dialler {
            hello,
            source: settings.bind.address,
            limits: LinkLimits::for_nodes(settings.map.len()),
            shape,
            look_ups: Arc::new(Semaphore::new(LOOK_UPS)),
            outlet,
        }
    }

    /// Dials once and reports how it ended. Dropping the future gives the dial up.
    pub(crate) async fn dial(self: Arc<Self>, peer: NodeId, attempt: u32, route: Route) {
        let end = self.try_route(peer, route).await.map(Box::new);
        self.outlet.put(PeerEvent::DialEnded { peer, attempt, end }).await;
    }

    async fn try_route(&self, peer: NodeId, route: Route) -> Result<Dialled, DialFailure> {
        match route {
            Route::To(address) => self.try_address(address).await,
            Route::ByName(name) => self.try_name(peer, &name).await,
            Route::Unknown => Err(DialFailure::NameUnknown),
        }
    }

    async fn try_name(&self, peer: NodeId, name: &str) -> Result<Dialled, DialFailure> {
        let found = self.look_up(name).await;
        self.outlet.put(PeerEvent::LookedUp { peer, found: found.clone() }).await;
        let mut failure = DialFailure::NameUnknown;
        let reachable = found.into_iter().filter(|ip| ip.is_ipv4() == self.source.is_ipv4());
        for ip in reachable.take(TRIED_ADDRESSES) {
            match self.try_address(self.shape.socket_addr(ip)).await {
                Err(why) => failure = why,
                answered => return answered,
            }
        }
        Err(failure)
    }

    async fn try_address(&self, address: SocketAddr) -> Result<Dialled, DialFailure> {
        let target = DialTarget { address, source: Some(self.source) };
        imex_wire::dial(target, &self.hello, self.limits).await.map_err(|error| {
            tracing::debug!(%address, error = %chain(&error), "A dial failed");
            error.failure()
        })
    }

    /// The addresses of a name; none if it does not resolve. A look-up that nobody waits for any more keeps its place
    /// until the resolver is done with it, so that abandoned ones do not pile up.
    async fn look_up(&self, name: &str) -> Vec<IpAddr> {
        let Ok(place) = Arc::clone(&self.look_ups).acquire_owned().await else { return Vec::new() };
        let name = name.to_owned();
        let asked = tokio::task::spawn_blocking(move || {
            let found = resolve(&name);
            drop(place);
            found
        });
        match asked.await {
            Ok(Ok(found)) => found,
            Ok(Err(_)) | Err(_) => Vec::new(),
        }
    }
}

/// Asks the system's resolver. Blocks.
fn resolve(name: &str) -> io::Result<Vec<IpAddr>> {
    let mut found: Vec<IpAddr> = std::net::ToSocketAddrs::to_socket_addrs(&(name, 0))?
        .map(|address| address.ip().to_canonical())
        .collect();
    found.dedup();
    Ok(found)
}
