//! Dialling a peer: from its entry in the map to its answer.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use imex_config::{Settings, chain};
use imex_core::input::DialFailure;
use imex_core::{Hello, NodeId};
use imex_wire::{DialError, DialTarget, Dialled, LinkLimits};
use thiserror::Error;
use tokio::sync::Semaphore;

use super::addresses::{AddressShape, Route};
use super::told::Told;
use super::{Outlet, PeerEvent};
use crate::fence::{AuthError, Fence};

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
    fence: Fence,
    told: Told,
    outlet: Outlet,
}

/// One attempt to reach a peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Try {
    /// Whom.
    pub(crate) peer: NodeId,
    /// Its number.
    pub(crate) attempt: u32,
}

impl Dialler {
    /// Dials come from the configured address, are secured by `fence` and introduce this daemon by `hello`; results go
    /// to `outlet`.
    pub(crate) fn new(
        settings: &Settings,
        shape: AddressShape,
        (hello, fence): (Arc<Hello>, Fence),
        outlet: Outlet,
    ) -> Self {
        Dialler {
            hello,
            fence,
            told: Told::default(),
            source: settings.bind.address,
            limits: LinkLimits::for_nodes(settings.map.len()),
            shape,
            look_ups: Arc::new(Semaphore::new(LOOK_UPS)),
            outlet,
        }
    }

    /// Dials once and reports how it ended. Dropping the future gives the dial up.
    pub(crate) async fn dial(self: Arc<Self>, this: Try, route: Route) {
        let end = self.try_route(this, route).await.map(Box::new);
        let Try { peer, attempt } = this;
        self.outlet.put(PeerEvent::DialEnded { peer, attempt, end }).await;
    }

    async fn try_route(&self, this: Try, route: Route) -> Result<Dialled, DialFailure> {
        match route {
            Route::To(address) => self.try_address(this, address).await,
            Route::ByName(name) => self.try_name(this, &name).await,
            Route::Unknown => Err(DialFailure::NameUnknown),
        }
    }

    async fn try_name(&self, this: Try, name: &str) -> Result<Dialled, DialFailure> {
        let found = self.look_up(name).await;
        let learnt = PeerEvent::LookedUp { peer: this.peer, found: found.clone() };
        self.outlet.put(learnt).await;
        let mut failure = DialFailure::NameUnknown;
        let reachable = found.into_iter().filter(|ip| ip.is_ipv4() == self.source.is_ipv4());
        for ip in reachable.take(TRIED_ADDRESSES) {
            match self.try_address(this, self.shape.socket_addr(ip)).await {
                Err(why) => failure = why,
                answered => return answered,
            }
        }
        Err(failure)
    }

    async fn try_address(&self, this: Try, address: SocketAddr) -> Result<Dialled, DialFailure> {
        self.reach(this, address).await.map_err(|error| {
            self.tell(this.peer, &error);
            tracing::debug!(%address, error = %chain(&error), "A dial failed");
            error.failure()
        })
    }

    /// What the link's cause has no room for.
    fn tell(&self, peer: NodeId, error: &ReachError) {
        if let ReachError::Authentication(error) = error
            && let Some(detail) = &error.detail
            && self.told.is_news(peer, error.failure)
        {
            tracing::warn!("Authentication with node {peer} failed: {detail}");
        }
    }

    async fn reach(&self, this: Try, address: SocketAddr) -> Result<Dialled, ReachError> {
        let target = DialTarget { address, source: Some(self.source) };
        let tcp = imex_wire::connect(target).await?;
        let Try { peer, attempt } = this;
        let next = match self.fence.is_open() {
            true => PeerEvent::Reached { peer, attempt },
            false => PeerEvent::Authenticating { peer, attempt },
        };
        self.outlet.put(next).await;
        let secured = self.fence.dialled(tcp, this.peer).await?;
        let (io, session) = (secured.io, secured.session);
        let proof = session.prove(this.peer).await?;
        let answer = imex_wire::introduce(io, &self.hello, proof.as_ref(), self.limits).await;
        match answer {
            Ok(Dialled::Admitted { hello, credential, link }) => {
                session.judge(&hello, credential.as_ref()).await?;
                self.told.succeeded(this.peer);
                Ok(Dialled::Admitted { hello, credential, link })
            }
            Ok(Dialled::Refused(refusal, credential)) => {
                session.judge_refusal(&refusal, credential.as_ref()).await?;
                Ok(Dialled::Refused(refusal, credential))
            }
            Err(error) => match session.objection() {
                Some(failure) => Err(AuthError::from(failure).into()),
                None => Err(error.into()),
            },
        }
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

/// Why a peer was not reached at one of its addresses.
#[derive(Debug, Error)]
enum ReachError {
    #[error(transparent)]
    Dial(#[from] DialError),
    #[error(transparent)]
    Authentication(#[from] AuthError),
}

impl ReachError {
    fn failure(&self) -> DialFailure {
        match self {
            ReachError::Dial(error) => error.failure(),
            ReachError::Authentication(error) => DialFailure::Unauthenticated(error.failure),
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
