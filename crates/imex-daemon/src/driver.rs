//! The driver loop: the one place that owns the node's [`Machine`] and carries out what it asks for.
//!
//! Everything that happens comes here by a queue, a signal or the clock; each turn takes in all that waits, lets time
//! pass, and then performs the machine's actions until there are none. Nothing here waits for anything but the next
//! turn, so neither a peer nor a client nor a file that hangs can hold up another.

mod note;
mod perform;
mod reload;
mod streams;

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use imex_core::input::{Answer, Closure, StreamId};
use imex_core::{DomainTable, Hello, Input, Machine, Moment, NodeId, NodeMap, NodeState};
use imex_wire::{CommandError, Dialled, NodeStatus};
use tokio::sync::mpsc;
use tokio::time::Sleep;

use crate::clock::Clock;
use crate::command::{Publication, Question, Reply};
use crate::fence::{Fence, GivenUp};
use crate::logging::{self, Logging};
use crate::notify::Notifier;
use crate::peer::addresses::AddressBook;
use crate::peer::dial::Dialler;
use crate::peer::{Arrival, Outlet, PeerEvent, Queued};
use crate::persist::PersistFile;
use crate::signals::Wish;
use crate::stats::{Counter, MessageKind, Passage, QueueState, Stats, StatsFile};
use note::NoteLog;
use reload::Reload;
use streams::Streams;

/// How many events one turn takes in before it performs actions: enough that a domain that forms is a few turns, few
/// enough that a turn takes well under a millisecond.
const BATCH: usize = 256;

/// How long a stop may take to hand the notice of leaving to the peers. A reachable peer takes it in less than a
/// millisecond; scripts that stop the service allow 15 s.
const FLUSH: Duration = Duration::from_secs(1);

/// How many askers may wait for tables at once. The core makes fewer tables than this and lets askers share them.
const OPEN_QUESTIONS: usize = 64;

/// What the driver loop is made of.
#[derive(Debug)]
pub(crate) struct Parts {
    /// The node.
    pub(crate) machine: Machine,
    /// The time.
    pub(crate) clock: Clock,
    /// What stands between TCP and HTTP/2.
    pub(crate) fence: Fence,
    /// Where the nodes of the map are.
    pub(crate) book: AddressBook,
    /// How they are dialled.
    pub(crate) dialler: Dialler,
    /// What tasks learn.
    pub(crate) events: mpsc::Receiver<Queued>,
    /// Where tasks put it.
    pub(crate) outlet: Outlet,
    /// What tools ask and see.
    pub(crate) publication: Publication,
    /// Who imports from this node.
    pub(crate) persist: PersistFile,
    /// Where statistics go.
    pub(crate) stats_file: StatsFile,
    /// Who wants to know how the service fares.
    pub(crate) notifier: Notifier,
    /// What the operator wants.
    pub(crate) wishes: mpsc::Receiver<Wish>,
    /// The log.
    pub(crate) logging: Logging,
}

/// The driver loop's state. One per daemon.
#[derive(Debug)]
pub(crate) struct Driver {
    machine: Machine,
    clock: Clock,
    reload: Reload,
    book: AddressBook,
    dialler: Arc<Dialler>,
    events: mpsc::Receiver<Queued>,
    batch: Vec<Queued>,
    outlet: Outlet,
    streams: Streams,
    waiting: BTreeMap<StreamId, Arrival>,
    publication: Publication,
    asked: BTreeMap<u64, Reply<DomainTable>>,
    tickets: u64,
    shown: Option<u64>,
    persist: PersistFile,
    notes: NoteLog,
    stats: Stats,
    stats_file: StatsFile,
    stats_due: Moment,
    notifier: Notifier,
    alive_due: Option<Moment>,
    wishes: mpsc::Receiver<Wish>,
    logging: Logging,
    /// Why this daemon ends, if nobody told it to.
    given_up: Option<GivenUp>,
    phase: Phase,
}

/// Whether the loop goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Serving,
    Ended,
}

impl Driver {
    /// Puts a driver together. Nothing happens until it runs.
    pub(crate) fn new(parts: Parts) -> Self {
        let now = parts.clock.now();
        Driver {
            batch: Vec::with_capacity(BATCH),
            streams: Streams::default(),
            waiting: BTreeMap::new(),
            asked: BTreeMap::new(),
            tickets: 0,
            shown: None,
            notes: NoteLog::new(parts.machine.map().clone()),
            stats: Stats::new(now),
            stats_due: now + parts.stats_file.interval(),
            alive_due: parts.notifier.watchdog_interval().map(|interval| now + interval),
            reload: Reload::new(parts.fence),
            given_up: None,
            phase: Phase::Serving,
            machine: parts.machine,
            clock: parts.clock,
            book: parts.book,
            dialler: Arc::new(parts.dialler),
            events: parts.events,
            outlet: parts.outlet,
            publication: parts.publication,
            persist: parts.persist,
            stats_file: parts.stats_file,
            notifier: parts.notifier,
            wishes: parts.wishes,
            logging: parts.logging,
        }
    }

    /// Serves until the operator wants an end, or authentication has failed for good; then tells the peers and flushes.
    pub(crate) async fn run(mut self) -> Option<GivenUp> {
        let now = self.clock.now();
        self.machine.handle(Input::Start, now);
        self.perform_all(now);
        let mut alarm = Box::pin(tokio::time::sleep_until(self.clock.instant(self.next_alarm())));
        while self.phase == Phase::Serving {
            self.turn(alarm.as_mut()).await;
            let next = self.clock.instant(self.next_alarm());
            if next != alarm.deadline() {
                alarm.as_mut().reset(next);
            }
        }
        let given_up = self.given_up.take();
        self.end().await;
        given_up
    }

    async fn turn(&mut self, alarm: Pin<&mut Sleep>) {
        tokio::select! {
            biased;
            Some(wish) = self.wishes.recv() => self.grant(wish),
            () = alarm => {}
            _ = self.events.recv_many(&mut self.batch, BATCH) => {}
            Some(question) = self.publication.questions.recv() => self.answer(question),
        }
        // Whatever woke the loop, peers that wait are served.
        while self.batch.len() < BATCH
            && let Ok(event) = self.events.try_recv()
        {
            self.batch.push(event);
        }
        let queue = self.queue_state();
        // First what has come, then the time: a peer whose answer waits here is not silent.
        let now = self.take_in_batch();
        self.pass_time(queue, now);
        self.perform_all(now);
    }

    fn queue_state(&self) -> QueueState {
        let waiting_since = self.batch.first().map(|queued| queued.at);
        QueueState { depth: self.batch.len() + self.events.len(), waiting_since }
    }

    fn grant(&mut self, wish: Wish) {
        match wish {
            Wish::Leave(signal) => {
                tracing::info!(signal, "Leaving the domain");
                self.machine.handle(Input::Leave, self.clock.now());
            }
            Wish::FlushVerbose => self.logging.flush_verbose(),
            Wish::Redial => self.reload.ask(),
        }
    }

    fn next_alarm(&self) -> Moment {
        // Statistics are always due some time.
        let others = [
            self.machine.poll_timeout().map(|(at, _)| at),
            self.reload.due(),
            self.alive_due,
            self.notifier.due(),
        ];
        others.into_iter().flatten().fold(self.stats_due, Moment::min)
    }

    fn pass_time(&mut self, queue: QueueState, now: Moment) {
        if self.machine.poll_timeout().is_some_and(|(at, _)| at <= now) {
            self.machine.handle_timeout(now);
        }
        self.reload_if_due(now);
        if self.stats_due <= now {
            self.stats_due = now + self.stats_file.interval();
            if let Fence::Tls(tls) = self.reload.fence() {
                self.stats.show_certificates(&tls.ends());
            }
            self.stats_file.write(&self.stats.take_block(queue, now));
        }
        if self.notifier.due().is_some_and(|due| due <= now) {
            self.notifier.state(self.machine.state(), self.machine.domain(), now);
        }
        if self.alive_due.is_some_and(|due| due <= now) {
            self.notifier.alive();
            self.alive_due = self.notifier.watchdog_interval().map(|interval| now + interval);
        }
    }

    /// Takes in what has come; returns when that was done. The clock is read once per turn and once per message.
    fn take_in_batch(&mut self) -> Moment {
        let mut batch = std::mem::take(&mut self.batch);
        let mut now = self.clock.now();
        for Queued { event, at } in batch.drain(..) {
            now = self.take_in(event, at, now);
        }
        self.batch = batch;
        now
    }

    /// Takes in one event that was queued at `queued`; returns when that was done.
    fn take_in(&mut self, event: PeerEvent, queued: Moment, now: Moment) -> Moment {
        match event {
            PeerEvent::Received { stream, message } => {
                let kind = MessageKind::from(&message);
                self.machine.handle(Input::Received { stream, message }, now);
                let done = self.clock.now();
                self.stats.received(kind, Passage { queued, begun: now, done });
                return done;
            }
            PeerEvent::Reached { peer, attempt } => {
                self.machine.handle(Input::Reached { peer, attempt }, now);
            }
            PeerEvent::Authenticating { peer, attempt } => {
                self.machine.handle(Input::AuthenticationStarted { peer, attempt }, now);
            }
            PeerEvent::AuthServerReady => self.machine.handle(Input::AuthServerReady, now),
            PeerEvent::GivenUp(given_up) => self.give_up(*given_up, now),
            PeerEvent::CredentialsRead(read) => self.take_credentials(*read, now),
            PeerEvent::ServiceAsked(asked) => self.take_service(asked, now),
            PeerEvent::DialEnded { peer, attempt, end } => match end {
                Ok(dialled) => self.take_answer(peer, attempt, *dialled, now),
                Err(why) => {
                    self.streams.forget(StreamId::Dialled { peer, attempt });
                    self.machine.handle(Input::DialFailed { peer, attempt, why }, now);
                }
            },
            PeerEvent::Arrived(arrival) => self.take_arrival(arrival, now),
            PeerEvent::LookedUp { peer, found } => self.book.learn(peer, found, now),
            PeerEvent::Stranger { counter, from, why } => {
                self.stats.count(counter);
                self.notes.stranger(counter, (from, why.as_deref()), now);
            }
            PeerEvent::Closed { stream, why } => self.take_closed(stream, why, now),
        }
        now
    }

    /// Authentication has failed for good: this node leaves, and says why.
    fn give_up(&mut self, given_up: GivenUp, now: Moment) {
        tracing::error!(target: logging::CRITICAL, "Failed for good to {given_up}; leaving the domain");
        self.given_up = Some(given_up);
        self.machine.handle(Input::Leave, now);
    }

    /// A dial that was given up may have ended a moment before; then its link closes here.
    fn take_answer(&mut self, peer: NodeId, attempt: u32, dialled: Dialled, now: Moment) {
        let stream = StreamId::Dialled { peer, attempt };
        let answer = match dialled {
            Dialled::Admitted { hello, link, .. } => {
                if !self.streams.connect(stream, link, &self.outlet) {
                    return;
                }
                Answer::Hello(hello)
            }
            Dialled::Refused(refusal, _) => {
                self.streams.forget(stream);
                Answer::Refusal(refusal)
            }
        };
        self.machine.handle(Input::Answered { peer, attempt, answer }, now);
    }

    fn take_arrival(&mut self, arrival: Arrival, now: Moment) {
        let hello = Arc::clone(arrival.incoming.hello());
        let (serial, source) = (arrival.serial, self.book.source(hello.node(), arrival.from));
        self.waiting.insert(StreamId::Accepted { peer: hello.node(), serial }, arrival);
        self.machine.handle(Input::Arrived { serial, hello, source }, now);
    }

    fn take_closed(&mut self, stream: StreamId, why: Closure, now: Moment) {
        self.streams.forget(stream);
        if let Closure::Violation(_) = why {
            self.stats.count(Counter::Violations);
        }
        self.machine.handle(Input::Closed { stream, why }, now);
    }

    fn answer(&mut self, question: Question) {
        match question {
            // Whoever asked may have gone.
            Question::Node(reply) => _ = reply.send(Ok(self.node_status())),
            Question::Domain(reply) if self.asked.len() < OPEN_QUESTIONS => {
                self.tickets += 1;
                self.asked.insert(self.tickets, reply);
                self.machine.handle(Input::TableAsked { ticket: self.tickets }, self.clock.now());
            }
            Question::Domain(reply) => _ = reply.send(Err(CommandError::Busy)),
        }
    }

    fn node_status(&self) -> NodeStatus {
        let hello = self.machine.hello();
        NodeStatus {
            state: self.machine.state(),
            links: self.machine.row(self.clock.now()),
            ..unstarted(hello, self.machine.map())
        }
    }

    /// Shows what changed to those who watch.
    fn publish(&mut self, now: Moment) {
        let changes = self.machine.changes();
        if self.shown == Some(changes) {
            return;
        }
        self.shown = Some(changes);
        let (state, domain) = (self.machine.state(), self.machine.domain());
        self.publication.show_node(state);
        self.publication.show_domain(domain);
        self.notifier.state(state, domain, now);
    }

    async fn end(mut self) {
        self.notifier.stopping();
        // From here on nobody takes events; tasks must not wait for that.
        self.events.close();
        if tokio::time::timeout(FLUSH, self.streams.finish()).await.is_err() {
            tracing::warn!("Some nodes did not take the notice of leaving in time");
        }
        tracing::info!("The daemon ends");
        self.logging.flush_verbose();
    }
}

/// A node's status before it has begun.
pub(crate) fn unstarted(hello: &Hello, map: &NodeMap) -> NodeStatus {
    let own = hello.get();
    NodeStatus {
        node: own.node,
        address: map.get(own.node).unwrap_or_default().into(),
        state: NodeState::Initializing,
        version: Arc::clone(&own.driver),
        software: Arc::clone(&own.software),
        host: Arc::clone(&own.host),
        links: Vec::new(),
    }
}
