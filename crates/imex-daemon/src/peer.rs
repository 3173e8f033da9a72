//! The streams between this daemon and the others, as the driver loop sees them.
//!
//! Every stream has one task at a time: first one that dials ([`dial`]) or waits for a hello ([`accept`]), then one that
//! reads ([`listen`]). None of them decides anything; what they learn goes to the driver loop by one bounded queue.

pub(crate) mod accept;
pub(crate) mod addresses;
pub(crate) mod dial;
mod lobby;
pub(crate) mod rate;
mod told;

use std::net::IpAddr;

use imex_core::input::{Closure, DialFailure, StreamId};
use imex_core::{Moment, NodeId, PeerMessage};
use imex_tls::Finding;
use imex_wire::{Dialled, Incoming, LinkReceiver};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::clock::Clock;
use crate::fence::{AuthError, GivenUp, Reread};
use crate::stats::Counter;

/// How many events may wait for the driver loop: a few messages per link of a rack, 100 bytes each. At the brim the
/// tasks wait, their connections' windows fill, and the senders wait too.
const EVENT_QUEUE: usize = 1024;

/// Something that a task learnt.
#[derive(Debug)]
pub(crate) enum PeerEvent {
    /// Somebody dialled this daemon and introduced itself.
    Arrived(Arrival),
    /// A connection came to nothing before an introduction.
    Stranger {
        /// What is counted.
        counter: Counter,
        /// Where it came from.
        from: IpAddr,
        /// What is known beyond that; never a secret.
        why: Option<String>,
    },
    /// A host name was looked up for a dial; empty if it does not resolve.
    LookedUp {
        /// Whose name.
        peer: NodeId,
        /// Its addresses.
        found: Vec<IpAddr>,
    },
    /// The peer's machine took the connection of a dial, which goes on without authentication.
    Reached {
        /// Whom it is for.
        peer: NodeId,
        /// Which attempt.
        attempt: u32,
    },
    /// A dial has reached the peer, and the two have begun to authenticate each other.
    Authenticating {
        /// Whom it is for.
        peer: NodeId,
        /// Which attempt.
        attempt: u32,
    },
    /// This node can authenticate others and itself.
    AuthServerReady,
    /// Authentication has failed for good, and that is to end the daemon.
    GivenUp(Box<GivenUp>),
    /// The credentials were read anew, or not.
    CredentialsRead(Box<CredentialsRead>),
    /// The service that makes this node's credentials was asked anew.
    ServiceAsked(Result<(), AuthError>),
    /// A dial ended.
    DialEnded {
        /// Whom it was for.
        peer: NodeId,
        /// Which attempt.
        attempt: u32,
        /// How.
        end: Result<Box<Dialled>, DialFailure>,
    },
    /// A message came.
    Received {
        /// By which stream.
        stream: StreamId,
        /// What.
        message: PeerMessage,
    },
    /// A stream ended, and not because this side ended it.
    Closed {
        /// Which.
        stream: StreamId,
        /// Why.
        why: Closure,
    },
}

/// What came of reading the credentials anew.
#[derive(Debug)]
pub(crate) struct CredentialsRead {
    /// Whether the operator asked for it, so that the others are to be told.
    pub(crate) asked_by: AskedBy,
    /// What is there now, or everything that is wrong with it.
    pub(crate) read: Result<Reread, Vec<Finding>>,
}

/// Who asked for a reload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AskedBy {
    /// Another member, which has told everybody itself.
    Member,
    /// The operator, by SIGUSR1.
    Operator,
}

/// A connection that was accepted and has introduced itself.
#[derive(Debug)]
pub(crate) struct Arrival {
    /// A number that no other open connection has.
    pub(crate) serial: u32,
    /// The introduction, and the connection behind it.
    pub(crate) incoming: Box<Incoming>,
    /// The address it came from.
    pub(crate) from: IpAddr,
    /// Its place among the accepted connections; given back when the connection ends.
    pub(crate) place: OwnedSemaphorePermit,
}

/// An event and when it came into the queue.
#[derive(Debug)]
pub(crate) struct Queued {
    /// The event.
    pub(crate) event: PeerEvent,
    /// When it came.
    pub(crate) at: Moment,
}

/// Where tasks put their events.
#[derive(Clone, Debug)]
pub(crate) struct Outlet {
    events: mpsc::Sender<Queued>,
    clock: Clock,
}

impl Outlet {
    /// The queue's two ends.
    pub(crate) fn queue(clock: Clock) -> (Outlet, mpsc::Receiver<Queued>) {
        let (events, inlet) = mpsc::channel(EVENT_QUEUE);
        (Outlet { events, clock }, inlet)
    }

    /// The time by which events are queued.
    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Queues an event, waiting for room.
    pub(crate) async fn put(&self, event: PeerEvent) {
        let at = self.clock.now();
        // The loop has ended, and with it all interest.
        let _ = self.events.send(Queued { event, at }).await;
    }
}

/// Reads a stream to its end. This also drives what is sent by it.
pub(crate) async fn listen(stream: StreamId, mut receiver: LinkReceiver, outlet: Outlet) {
    loop {
        match receiver.recv().await {
            Ok(message) => outlet.put(PeerEvent::Received { stream, message }).await,
            Err(end) => {
                if let Some(why) = end.closure() {
                    outlet.put(PeerEvent::Closed { stream, why }).await;
                }
                return;
            }
        }
    }
}
