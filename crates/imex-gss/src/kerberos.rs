//! This machine's Kerberos: what is asked when, by whom, and what is not asked again.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use imex_gssapi::{Context, Fault, Gssapi, LoadError, Protection, Store};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::calls::{CALL_DEADLINE, Deadline, Lane, Width, take_turn};
use crate::error::{AuthError, Blame};
use crate::keys::{Answered, Begun, Keys, NAME_INTERVAL, Own, TurnedAway, lock};
use crate::principal::{Expected, Peer};

/// Calls for a ticket for this machine itself, and for what is needed before: one after the other, as all but the first
/// find what that has got.
const OWN_CALLS: Width = Width { places: 1, late: 3 };

/// Calls for tickets for peers, which may wait for a KDC; no more than one for each peer. A KDC answers one at a time, and
/// MIT's lets five connections wait unless it is told otherwise: those of a rack that starts are more in any case, but each
/// that waits in vain waits a second.
const ASKING_CALLS: Width = Width { places: 2, late: 6 };

/// Calls that take the tokens of whoever comes. They only read and compute.
const ANSWERING_CALLS: Width = Width { places: 2, late: 0 };

/// Calls that end or renew a context: they only read and compute too, and must not wait behind strangers' tokens.
const RENEWING_CALLS: Width = Width { places: 2, late: 0 };

/// Calls for the principal of a host, which may wait for a name server.
const NAMING_CALLS: Width = Width { places: 2, late: 2 };

/// How many threads of the runtime's blocking pool this crate takes at most.
pub const BLOCKING_CALLS: usize = OWN_CALLS.threads()
    + ASKING_CALLS.threads()
    + ANSWERING_CALLS.threads()
    + RENEWING_CALLS.threads()
    + NAMING_CALLS.threads();

/// How long all that comes before the first token may take: a ticket for this machine, the peer's name, a ticket for the
/// peer, and the turns of each. The core gives an authentication 5 s; the rest is for the peer's answer, so that what
/// failed is told by its name.
const BEGIN_DEADLINE: Duration = Duration::from_millis(2500);

/// How often a peer's tickets are thrown away at most because it cannot read them: often enough for whoever has just
/// exported a key, seldom enough that somebody on the wire who refuses in the peer's stead costs the KDC little.
const DROP_INTERVAL: Duration = Duration::from_secs(15);

/// A future of this crate, for those who keep one.
pub(crate) type Pending<T> = Pin<Box<dyn Future<Output = T> + Send>>;

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
    /// Time between two tries after this machine's own key was refused, or a context could not be renewed.
    pub retry_interval: Duration,
    /// Where keys and tickets are.
    pub store: Store,
}

/// This machine's Kerberos. Cheap to clone; all clones are one.
#[derive(Clone, Debug)]
pub struct Kerberos(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    keys: Arc<Keys>,
    own: Lane,
    asking: Lane,
    answering: Lane,
    renewing: Lane,
    naming: Lane,
    /// Of each host.
    turns: Mutex<BTreeMap<String, Arc<Semaphore>>>,
    memory: Mutex<Memory>,
}

/// What is not asked for again.
#[derive(Debug, Default)]
struct Memory {
    /// Until when this machine does not try to show itself, because the KDC, or its own key table, has just said no.
    refused: Option<(Instant, AuthError)>,
    /// When a principal's tickets were last thrown away because it could not read one.
    dropped: BTreeMap<String, Instant>,
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

/// Who sends a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    /// Whoever has connected.
    Newcomer,
    /// The peer of a link that stands.
    Member,
}

/// Whether the library is there: asks nobody, and lets go of it again.
pub fn find_library() -> Result<(), LoadError> {
    Gssapi::load().map(drop)
}

impl Kerberos {
    /// Loads the library. Asks nobody yet.
    pub fn load(settings: Settings) -> Result<Self, LoadError> {
        Ok(Kerberos(Arc::new(Inner {
            keys: Arc::new(Keys::load(settings)?),
            own: Lane::new(OWN_CALLS),
            asking: Lane::new(ASKING_CALLS),
            answering: Lane::new(ANSWERING_CALLS),
            renewing: Lane::new(RENEWING_CALLS),
            naming: Lane::new(NAMING_CALLS),
            turns: Mutex::default(),
            memory: Mutex::default(),
        })))
    }

    /// What it goes by.
    pub fn settings(&self) -> &Settings {
        self.0.keys.settings()
    }

    /// Looks whether this machine can show itself and see others, as both kinds of link need: the own key is there, and
    /// the KDC gives a ticket for it.
    pub async fn check(&self) -> Result<(), AuthError> {
        let keys = self.keys();
        self.0.naming.run(begin_deadline(), move || keys.acceptor().map(drop)).await?;
        self.own(&self.settings().host, begin_deadline()).await.map(drop)
    }

    /// Reads the key tables and asks the KDC anew, and forgets what was known before. Where this machine could not show
    /// itself or see others after that, everything stays as it is.
    pub async fn reload(&self) -> Result<(), AuthError> {
        let keys = self.keys();
        let acceptor = self.0.naming.run(begin_deadline(), move || keys.acceptor_anew()).await?;
        let keys = self.keys();
        let own = self.0.own.run(begin_deadline(), move || keys.own_anew()).await?;
        self.0.keys.take_over(acceptor, own);
        *self.memory() = Memory::default();
        Ok(())
    }

    /// Who the peer at a host of the node map must be.
    pub async fn expected(&self, host: &str) -> Result<Expected, AuthError> {
        self.expected_until(host, call_deadline()).await
    }

    async fn expected_until(&self, host: &str, deadline: Deadline) -> Result<Expected, AuthError> {
        if let Some(known) = self.memory().expected.get(host) {
            return Ok(known.expected.clone());
        }
        self.ask_name(host, deadline).await
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
        let Ok(expected) = self.ask_name(host, call_deadline()).await else { return Err(differs) };
        peer.check(&expected).map_err(AuthError::Principal)
    }

    fn may_ask_again(&self, host: &str) -> bool {
        let now = Instant::now();
        let mut memory = self.memory();
        let known = memory.expected.get_mut(host).filter(|known| known.at + NAME_INTERVAL <= now);
        known.map(|known| known.at = now).is_some()
    }

    async fn ask_name(&self, host: &str, deadline: Deadline) -> Result<Expected, AuthError> {
        let (keys, name) = (self.keys(), host.to_owned());
        let expected = self.0.naming.run(deadline, move || keys.expected(&name)).await?;
        let known = Asked { expected: expected.clone(), at: Instant::now() };
        self.memory().expected.insert(host.to_owned(), known);
        Ok(expected)
    }

    /// Begins a context to the service on a host.
    pub(crate) fn begin(&self, host: &str) -> Pending<Result<(Begun, Vec<u8>), AuthError>> {
        let (this, host, deadline) = (self.clone(), host.to_owned(), begin_deadline());
        apart(async move {
            let turn = take_turn(&this.turn(&host), deadline).await?;
            let own = this.own(&host, deadline).await?;
            let expected = this.expected_until(&host, deadline).await?;
            let (keys, name) = (this.keys(), host.clone());
            let call = move || {
                let begun = keys.begin(name, own, &expected);
                drop(turn);
                begun
            };
            let begun = this.0.asking.run(deadline, call).await;
            if begun.as_ref().is_err_and(|error| error.blame() == Blame::Peer) {
                this.doubt(&host).await;
            }
            begun
        })
    }

    /// A peer's turn: no second call asks the KDC for a ticket for it while one does.
    fn turn(&self, host: &str) -> Arc<Semaphore> {
        let mut turns = lock(&self.0.turns);
        Arc::clone(turns.entry(host.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(1))))
    }

    /// What this machine shows itself to a host with. That it was refused would only be repeated for every peer: for a while all go
    /// by it. Everything else that may fail is one peer's affair, or heals by itself.
    async fn own(&self, host: &str, deadline: Deadline) -> Result<Own, AuthError> {
        if let Some((until, error)) = &self.memory().refused
            && Instant::now() < *until
        {
            return Err(error.clone());
        }
        let (keys, host) = (self.keys(), host.to_owned());
        let own = self.0.own.run(deadline, move || keys.own(&host)).await;
        let refused = own.as_ref().err().filter(|error| error.blame() == Blame::Own);
        let until = Instant::now() + self.settings().retry_interval;
        self.memory().refused = refused.map(|error| (until, error.clone()));
        own
    }

    /// A host's principal is unknown to the KDC, or its key to the host: the name server may have been wrong.
    pub(crate) async fn doubt(&self, host: &str) {
        if self.may_ask_again(host) {
            // Without an answer, what was known stays.
            let _ = self.ask_name(host, call_deadline()).await;
        }
    }

    /// Ends it with the acceptor's answer.
    pub(crate) fn finish(&self, begun: Begun, token: Vec<u8>) -> Pending<Result<Context, AuthError>> {
        let this = self.clone();
        let for_whom = (begun.host.clone(), begun.target.clone());
        let deadline = call_deadline();
        apart(async move {
            let call = move || begun.finish(&token);
            let finished = this.0.renewing.run(deadline, call).await;
            this.learn(for_whom, &finished);
            finished
        })
    }

    /// Takes an initiator's token. A refusal comes with what to tell it.
    pub(crate) fn answer(&self, token: Vec<u8>, from: Sender) -> Pending<Answered> {
        let this = self.clone();
        let deadline = call_deadline();
        let answered = apart(async move {
            let lane = match from {
                Sender::Newcomer => &this.0.answering,
                Sender::Member => &this.0.renewing,
            };
            let keys = this.keys();
            let answered = lane.run(deadline, move || Ok(keys.answer(&token))).await;
            let answered = answered.unwrap_or_else(|error| Err(TurnedAway { error, reply: None }));
            if answered.as_ref().is_err_and(|refused| refused.error.is_about_a_key()) {
                this.doubt_own_key();
            }
            Ok(answered)
        });
        Box::pin(async move { answered.await.unwrap_or_else(|error| Err(TurnedAway { error, reply: None })) })
    }

    /// A token is not for the key that this machine has. There may be another one now, or the name server may have been
    /// wrong about this machine.
    fn doubt_own_key(&self) {
        if self.0.keys.may_look_again() {
            let this = self.clone();
            tokio::spawn(async move {
                let keys = this.keys();
                // What comes of it, whoever comes next is told.
                let _ = this.0.naming.run(call_deadline(), move || keys.look_again()).await;
            });
        }
    }

    /// A node of the map has shown itself, whichever side dialled. Only then is a later refusal of its ticket a reason to
    /// get new ones.
    pub fn met(&self, peer: &Peer) {
        self.memory().met.insert(peer.principal().to_owned());
    }

    /// An acceptor that cannot read a ticket may have got a new key since: the next attempt asks the KDC for another one.
    ///
    /// Its refusal is not protected: whoever takes connections at its address, while its daemon is down, can say so. Hence
    /// its ticket, and no other's, is thrown away only if the peer itself has shown itself since that was last done, and
    /// at most once per [`DROP_INTERVAL`].
    fn learn<T>(&self, (host, target): (String, String), finished: &Result<T, AuthError>) {
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
        let soon = memory.dropped.get(&target).is_some_and(|dropped| now < *dropped + DROP_INTERVAL);
        let stale = matches!(error.fault(), Fault::WrongKey | Fault::NoKey | Fault::Expired);
        if !stale || soon || !memory.met.remove(&target) {
            return;
        }
        memory.dropped.insert(target, now);
        self.0.keys.drop_tickets(host);
    }

    fn keys(&self) -> Arc<Keys> {
        Arc::clone(&self.0.keys)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        lock(&self.0.memory)
    }
}

fn begin_deadline() -> Deadline {
    Deadline::after(BEGIN_DEADLINE)
}

fn call_deadline() -> Deadline {
    Deadline::after(CALL_DEADLINE)
}

/// Runs as a task of its own. A stream is polled only while somebody reads from it, and what a renewal holds, a place or a
/// turn, others wait for.
fn apart<T: Send + 'static>(
    call: impl Future<Output = Result<T, AuthError>> + Send + 'static,
) -> Pending<Result<T, AuthError>> {
    let task = tokio::spawn(call);
    // A task that panicked has no answer.
    Box::pin(async move { task.await.unwrap_or(Err(AuthError::Silent { after: CALL_DEADLINE })) })
}
