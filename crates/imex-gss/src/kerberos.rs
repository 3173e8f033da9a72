//! The Kerberos library behind threads and deadlines.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use imex_gssapi::{
    Accepted, Context, Fault, GssError, Gssapi, Initiation, LoadError, Protection, Refused, Store, Usage,
};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use crate::error::{AuthError, Blame};
use crate::frame;
use crate::principal::{Expected, Peer};

/// How many calls that may wait for a KDC run at once. Each holds a thread until the library gives up, which takes it
/// up to half a minute where a KDC is silent.
const ASKING_CALLS: usize = 4;

/// How many calls that take others' tokens run at once: they never wait behind those that ask a KDC, so that a KDC that
/// is silent does not keep peers with tickets out.
const ANSWERING_CALLS: usize = 2;

/// How many calls that ask for the principal of a host run at once. They may ask a name server.
const NAMING_CALLS: usize = 2;

/// How many calls that end a context begun by this side run at once. They only compute, and a renewal's must not wait
/// behind strangers' tokens or a name server: the acceptor has gone over already.
const FINISHING_CALLS: usize = 2;

/// How many threads of the runtime's blocking pool this crate takes at most.
pub const BLOCKING_CALLS: usize = ASKING_CALLS + ANSWERING_CALLS + NAMING_CALLS + FINISHING_CALLS;

/// How often a host's principal is asked for anew at most because somebody else came: often enough that a wrong answer of
/// a name server keeps nobody out for long.
const NAME_INTERVAL: Duration = Duration::from_secs(10);

/// How long an authentication waits for one call of the library. A KDC answers within milliseconds. An
/// authentication has 5 s from the core and takes three calls at most, so that what failed has a name. The call itself goes
/// on, and its ticket is kept.
pub const CALL_DEADLINE: Duration = Duration::from_millis(1500);

/// How often tickets are thrown away at most because a peer cannot read its one: often enough for whoever has just
/// exported a key, seldom enough that somebody on the wire who refuses in the peers' stead costs the KDC little.
const DROP_INTERVAL: Duration = Duration::from_secs(15);

/// A future of this crate, for those who keep one.
pub(crate) type Pending<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What became of an initiator's token.
pub(crate) type Answered = Result<Accepted, TurnedAway>;

/// An initiator's token was not accepted.
#[derive(Debug)]
pub(crate) struct TurnedAway {
    /// Why.
    pub(crate) error: AuthError,
    /// What to tell the initiator.
    pub(crate) reply: Option<Vec<u8>>,
}

/// What an authentication goes by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How records are protected.
    pub protection: Protection,
    /// The service part of everybody's principal.
    pub service: String,
    /// This machine's host part, as the node map has it.
    pub host: String,
    /// How long a context lives at most; `None` leaves it to the ticket.
    pub lifetime: Option<Duration>,
    /// Time between two tries after this machine or the KDC failed.
    pub retry_interval: Duration,
    /// Where keys and tickets are.
    pub store: Store,
}

/// This machine's Kerberos. Cheap to clone; all clones are one.
#[derive(Clone, Debug)]
pub struct Kerberos(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    gssapi: Gssapi,
    settings: Settings,
    asking: Arc<Semaphore>,
    answering: Arc<Semaphore>,
    naming: Arc<Semaphore>,
    finishing: Arc<Semaphore>,
    /// The tickets in use; `None` where the environment names a cache, which is not this daemon's to empty.
    tickets: Option<Mutex<Arc<Tickets>>>,
    memory: Mutex<Memory>,
}

/// A cache of tickets in this process's memory, away from those that a person got on this machine. It is emptied when
/// nobody uses it any more: calls that are under way when new tickets are wanted may still use the old ones.
#[derive(Debug)]
struct Tickets {
    gssapi: Gssapi,
    name: String,
}

/// A context that waits for the acceptor's answer, and the tickets that it was begun with.
#[derive(Debug)]
pub(crate) struct Begun {
    initiation: Initiation,
    tickets: Option<Arc<Tickets>>,
    /// Who is to answer.
    target: String,
}

/// What is not asked for again.
#[derive(Debug, Default)]
struct Memory {
    /// Until when nothing is tried, because it has just failed for a reason that all peers have in common.
    failed: Option<(Instant, AuthError)>,
    /// When tickets were last thrown away because a peer could not read one.
    dropped: Option<Instant>,
    /// Which principals of the node map have shown themselves since.
    met: BTreeSet<String>,
    /// What hosts come to as principals.
    expected: BTreeMap<String, Asked>,
}

/// What a host came to as a principal.
#[derive(Clone, Debug)]
struct Asked {
    expected: Expected,
    at: Instant,
}

/// Whether the library is there: asks nobody, and lets go of it again.
pub fn find_library() -> Result<(), LoadError> {
    Gssapi::load().map(drop)
}

impl Kerberos {
    /// Loads the library. Asks nobody yet.
    pub fn load(settings: Settings) -> Result<Self, LoadError> {
        let gssapi = Gssapi::load()?;
        let own = settings.store.ticket_cache.is_none();
        let tickets = own.then(|| Mutex::new(Tickets::new(&gssapi)));
        Ok(Kerberos(Arc::new(Inner {
            gssapi,
            settings,
            asking: Arc::new(Semaphore::new(ASKING_CALLS)),
            answering: Arc::new(Semaphore::new(ANSWERING_CALLS)),
            naming: Arc::new(Semaphore::new(NAMING_CALLS)),
            finishing: Arc::new(Semaphore::new(FINISHING_CALLS)),
            tickets,
            memory: Mutex::default(),
        })))
    }

    /// What it goes by.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Forgets tickets, failures and names, so that key tables are read and the KDC is asked anew.
    pub fn forget(&self) {
        *self.memory() = Memory::default();
        self.0.renew_tickets();
    }

    /// Looks whether this machine can show itself and see others, as both kinds of link need: the own key is there, and
    /// the KDC gives a ticket for it.
    pub async fn check(&self) -> Result<(), AuthError> {
        let inner = Arc::clone(&self.0);
        self.answer_call(move || inner.acceptor().map(drop)).await?;
        let inner = Arc::clone(&self.0);
        let checked = self.ask_call(move || inner.initiator(inner.tickets().as_deref()).map(drop)).await;
        self.remember(checked)
    }

    /// Who the peer at a host of the node map must be.
    pub async fn expected(&self, host: &str) -> Result<Expected, AuthError> {
        if let Some(known) = self.memory().expected.get(host) {
            return Ok(known.expected.clone());
        }
        self.ask_name(host).await
    }

    /// Whether a peer is the service on a host of the node map. What the host comes to may be a name server's answer, which
    /// may have been wrong: where the two differ, it is asked for once more, every ten seconds at most.
    pub async fn judge(&self, peer: &Peer, host: &str) -> Result<(), AuthError> {
        let Err(error) = peer.check(&self.expected(host).await?) else { return Ok(()) };
        let differs = AuthError::Principal(error);
        if !self.may_ask_again(host) {
            return Err(differs);
        }
        // What was known stays where there is no answer.
        let Ok(expected) = self.ask_name(host).await else { return Err(differs) };
        peer.check(&expected).map_err(AuthError::Principal)
    }

    fn may_ask_again(&self, host: &str) -> bool {
        let now = Instant::now();
        let mut memory = self.memory();
        let known = memory.expected.get_mut(host).filter(|known| known.at + NAME_INTERVAL <= now);
        known.map(|known| known.at = now).is_some()
    }

    async fn ask_name(&self, host: &str) -> Result<Expected, AuthError> {
        let (inner, name) = (Arc::clone(&self.0), host.to_owned());
        let expected = run(&self.0.naming, move || inner.expected(&name)).await?;
        let known = Asked { expected: expected.clone(), at: Instant::now() };
        self.memory().expected.insert(host.to_owned(), known);
        Ok(expected)
    }

    /// Begins a context to the service on a host.
    pub(crate) fn begin(&self, host: &str) -> Pending<Result<(Begun, Vec<u8>), AuthError>> {
        let (this, host) = (self.clone(), host.to_owned());
        Box::pin(async move {
            if let Some((until, error)) = &this.memory().failed
                && Instant::now() < *until
            {
                return Err(error.clone());
            }
            let inner = Arc::clone(&this.0);
            let begun = this.ask_call(move || inner.begin(&host)).await;
            this.remember(begun)
        })
    }

    /// Ends it with the acceptor's answer.
    pub(crate) fn finish(&self, begun: Begun, token: Vec<u8>) -> Pending<Result<Context, AuthError>> {
        let this = self.clone();
        let Begun { initiation, tickets, target } = begun;
        Box::pin(async move {
            let call = move || {
                let finished = initiation.finish(&token).map_err(AuthError::Answer);
                drop(tickets);
                finished
            };
            let finished = run(&this.0.finishing, call).await;
            this.learn(target, &finished);
            finished
        })
    }

    /// Takes an initiator's token. A refusal comes with what to tell it.
    pub(crate) fn answer(&self, token: Vec<u8>) -> Pending<Answered> {
        let this = self.clone();
        Box::pin(async move {
            let inner = Arc::clone(&this.0);
            let answered = this.answer_call(move || Ok(inner.answer(&token))).await;
            answered.unwrap_or_else(|error| Err(TurnedAway { error, reply: None }))
        })
    }

    /// A node of the map has shown itself, whichever side dialled. Only then is a later refusal of its ticket a reason to
    /// get new ones.
    pub fn met(&self, peer: &Peer) {
        self.memory().met.insert(peer.principal().to_owned());
    }

    /// An acceptor that cannot read a ticket may have got a new key since: the next attempt asks the KDC for new tickets.
    ///
    /// Its refusal is not protected: whoever takes connections at its address, while its daemon is down, can say so. Hence
    /// the tickets are thrown away only if the peer itself has shown itself since that was last done, and at most once per
    /// [`DROP_INTERVAL`].
    fn learn<T>(&self, target: String, finished: &Result<T, AuthError>) {
        let mut memory = self.memory();
        let error = match finished {
            Ok(_) => {
                memory.met.insert(target);
                return;
            }
            Err(AuthError::Answer(error)) => error,
            Err(_) => return,
        };
        let now = Instant::now();
        let soon = memory.dropped.is_some_and(|dropped| now < dropped + DROP_INTERVAL);
        let stale = matches!(error.fault(), Fault::WrongKey | Fault::NoKey | Fault::Expired);
        if !stale || soon || !memory.met.contains(&target) {
            return;
        }
        memory.dropped = Some(now);
        memory.met.clear();
        self.0.renew_tickets();
    }

    async fn ask_call<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> Result<T, AuthError> + Send + 'static,
    ) -> Result<T, AuthError> {
        run(&self.0.asking, call).await
    }

    async fn answer_call<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> Result<T, AuthError> + Send + 'static,
    ) -> Result<T, AuthError> {
        run(&self.0.answering, call).await
    }

    /// A failure that is not the peer's would only be repeated for every other peer: they share it for a while.
    fn remember<T>(&self, outcome: Result<T, AuthError>) -> Result<T, AuthError> {
        let failed = outcome.as_ref().err().filter(|error| error.blame() != Blame::Peer);
        let until = Instant::now() + self.0.settings.retry_interval;
        self.memory().failed = failed.map(|error| (until, error.clone()));
        outcome
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        lock(&self.0.memory)
    }
}

/// Runs a call on a thread of its own, within the deadline. One that takes longer goes on and keeps its place, so that
/// calls that nobody waits for do not pile up.
async fn run<T: Send + 'static>(
    places: &Arc<Semaphore>,
    call: impl FnOnce() -> Result<T, AuthError> + Send + 'static,
) -> Result<T, AuthError> {
    let silent = || AuthError::Silent { after: CALL_DEADLINE };
    let places = Arc::clone(places);
    let called = timeout(CALL_DEADLINE, async move {
        let place = places.acquire_owned().await.map_err(|_| silent())?;
        let thread = tokio::task::spawn_blocking(move || {
            let result = call();
            drop(place);
            result
        });
        // A call that panicked has given up its place, and no answer.
        thread.await.map_err(|_| silent())?
    });
    called.await.unwrap_or_else(|_| Err(silent()))
}

/// What blocks.
impl Inner {
    fn begin(&self, host: &str) -> Result<(Begun, Vec<u8>), AuthError> {
        let tickets = self.tickets();
        let target = self.name(host);
        let ticket = |source| AuthError::Ticket { target: target.clone(), source };
        let credential = self.initiator(tickets.as_deref())?;
        // Named with its realm: a KDC must not choose another one for it.
        let own = credential.principal().map_err(ticket)?;
        let expected = self.expected(host)?.principal(&own);
        let name = self.gssapi.principal(&expected).map_err(ticket)?;
        let protection = self.settings.protection;
        let binding = frame::preface(protection);
        let (initiation, token) =
            self.gssapi.initiate(credential, name, protection, &binding).map_err(ticket)?;
        Ok((Begun { initiation, tickets, target: expected }, token))
    }

    fn answer(&self, token: &[u8]) -> Answered {
        let credential = self.acceptor().map_err(|error| TurnedAway { error, reply: None })?;
        let protection = self.settings.protection;
        let binding = frame::preface(protection);
        let accepted = self.gssapi.accept(&credential, token, protection, &binding);
        accepted.map_err(|Refused { error, reply }| TurnedAway { error: AuthError::Token(error), reply })
    }

    fn expected(&self, host: &str) -> Result<Expected, AuthError> {
        let name = || self.gssapi.service(&self.settings.service, host)?.principal()?.text();
        let failed = |source: GssError| AuthError::Ticket { target: self.name(host), source };
        name().map(Expected::new).map_err(failed)
    }

    fn initiator(&self, tickets: Option<&Tickets>) -> Result<imex_gssapi::Credential, AuthError> {
        let own = self.name(&self.settings.host);
        let failed = |source| AuthError::Ticket { target: own.clone(), source };
        let name = self.gssapi.service(&self.settings.service, &self.settings.host).map_err(failed)?;
        let mut store = self.settings.store.clone();
        if let Some(tickets) = tickets {
            store.ticket_cache = Some(tickets.name.clone());
        }
        self.gssapi.acquire(&name, Usage::Initiate, &store).map_err(failed)
    }

    fn acceptor(&self) -> Result<imex_gssapi::Credential, AuthError> {
        let own = self.name(&self.settings.host);
        let failed = |source| AuthError::Key { name: own.clone(), source };
        let name = self.gssapi.service(&self.settings.service, &self.settings.host).map_err(failed)?;
        self.gssapi.acquire(&name, Usage::Accept, &self.settings.store).map_err(failed)
    }

    fn tickets(&self) -> Option<Arc<Tickets>> {
        self.tickets.as_ref().map(|tickets| Arc::clone(&lock(tickets)))
    }

    /// From now on tickets are got anew.
    fn renew_tickets(&self) {
        if let Some(tickets) = &self.tickets {
            *lock(tickets) = Tickets::new(&self.gssapi);
        }
    }

    fn name(&self, host: &str) -> String {
        format!("{}@{host}", self.settings.service)
    }
}

impl Tickets {
    fn new(gssapi: &Gssapi) -> Arc<Self> {
        /// Counts the caches of this process, so that each has a name of its own.
        static MADE: AtomicU64 = AtomicU64::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        Arc::new(Tickets { gssapi: gssapi.clone(), name: format!("MEMORY:imexd-{number}") })
    }
}

impl Drop for Tickets {
    fn drop(&mut self) {
        self.gssapi.destroy_cache(&self.name);
    }
}

// Held only to copy or replace what is in it, never across a wait.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no holder of the lock panics")
}
