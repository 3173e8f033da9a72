//! This machine's keys and tickets, and the library's calls with them. All of them block.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use imex_gssapi::{Accepted, Context, Credential, GssError, Gssapi, Initiation, LoadError, Refused, Usage};
use tokio::time::Instant;

use crate::error::{AuthError, Blame};
use crate::frame;
use crate::kerberos::Settings;
use crate::principal::Expected;

/// How often names are asked for anew at most because they seem wrong: often enough that a wrong answer of a name server
/// keeps nobody out for long.
pub(crate) const NAME_INTERVAL: Duration = Duration::from_secs(10);

/// What this machine has to show itself and to see others.
#[derive(Debug)]
pub(crate) struct Keys {
    gssapi: Gssapi,
    settings: Settings,
    /// The tickets in use; `None` where the environment names a cache, which is not this daemon's to empty.
    tickets: Option<Mutex<InUse>>,
    /// This machine's principal, once it is known: what the library makes of its host may be a name server's answer.
    principal: Mutex<Option<String>>,
    acceptor: Mutex<Option<Acceptor>>,
}

/// A cache of tickets in this process's memory, away from those that a person got on this machine. It is emptied when
/// nobody uses it any more: calls that are under way when new tickets are wanted may still use the old ones.
#[derive(Debug)]
struct Tickets {
    gssapi: Gssapi,
    name: String,
}

/// The tickets in use.
#[derive(Debug)]
struct InUse {
    /// For every host but those.
    all: Arc<Tickets>,
    /// For hosts whose ticket was thrown away: GSSAPI throws caches away as a whole only, so what is got instead is in one
    /// of its own, and nobody else's has to be got again.
    renewed: BTreeMap<String, Arc<Tickets>>,
}

/// The key table as others' tickets are read with it. The table itself is read anew for each.
#[derive(Clone, Debug)]
pub(crate) struct Acceptor {
    credential: Arc<Credential>,
    at: Instant,
}

/// What this machine shows itself with: a ticket for itself, good for asking the KDC for others.
#[derive(Debug)]
pub(crate) struct Own {
    credential: Credential,
    principal: String,
    tickets: Option<Arc<Tickets>>,
}

/// A context that waits for the acceptor's answer.
#[derive(Debug)]
pub(crate) struct Begun {
    initiation: Initiation,
    /// Whose it is in the node map.
    pub(crate) host: String,
    /// Who is to answer.
    pub(crate) target: String,
    /// Those that it was begun with.
    tickets: Option<Arc<Tickets>>,
}

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

impl Keys {
    /// Loads the library. Asks nobody yet.
    pub(crate) fn load(settings: Settings) -> Result<Self, LoadError> {
        let gssapi = Gssapi::load()?;
        let own = settings.store.ticket_cache.is_none();
        let tickets = own.then(|| Mutex::new(InUse { all: Tickets::new(&gssapi), renewed: BTreeMap::new() }));
        Ok(Keys { gssapi, settings, tickets, principal: Mutex::default(), acceptor: Mutex::default() })
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A ticket for this machine itself, to get one for a host with. Asks the KDC if there is none yet, and at first may
    /// ask a name server.
    pub(crate) fn own(&self, host: &str) -> Result<Own, AuthError> {
        let tickets = self.tickets.as_ref().map(|tickets| lock(tickets).for_host(host));
        let known = lock(&self.principal).clone();
        let own = self.acquire(tickets, known.as_deref());
        match &own {
            Ok(own) => *lock(&self.principal) = Some(own.principal.clone()),
            // It was taken for somebody whom nobody knows: the name server may have been wrong.
            Err(error) if error.blame() == Blame::Own => *lock(&self.principal) = None,
            Err(_) => {}
        }
        own
    }

    /// The same as if nothing were known yet, with tickets of its own, which are not in use.
    pub(crate) fn own_anew(&self) -> Result<Own, AuthError> {
        let tickets = self.tickets.as_ref().map(|_| Tickets::new(&self.gssapi));
        self.acquire(tickets, None)
    }

    fn acquire(&self, tickets: Option<Arc<Tickets>>, known: Option<&str>) -> Result<Own, AuthError> {
        let failed = |source| AuthError::Ticket { target: self.service_on(&self.settings.host), source };
        let name = match known {
            Some(principal) => self.gssapi.principal(principal),
            None => self.gssapi.service(&self.settings.service, &self.settings.host),
        };
        let mut store = self.settings.store.clone();
        if let Some(tickets) = &tickets {
            store.ticket_cache = Some(tickets.name.clone());
        }
        let acquired = name.and_then(|name| self.gssapi.acquire(&name, Usage::Initiate, &store));
        let credential = acquired.map_err(failed)?;
        let principal = credential.principal().map_err(failed)?;
        Ok(Own { credential, principal, tickets })
    }

    /// The key with which others' tickets are read. At first may ask a name server.
    pub(crate) fn acceptor(&self) -> Result<Acceptor, AuthError> {
        if let Some(known) = &*lock(&self.acceptor) {
            return Ok(known.clone());
        }
        self.look_again()
    }

    /// The same, looked for anew.
    pub(crate) fn look_again(&self) -> Result<Acceptor, AuthError> {
        let acceptor = self.acceptor_anew();
        *lock(&self.acceptor) = acceptor.as_ref().ok().cloned();
        acceptor
    }

    /// Whether the key was looked for so long ago that it may be again: true once, until that is done.
    pub(crate) fn may_look_again(&self) -> bool {
        let now = Instant::now();
        let mut acceptor = lock(&self.acceptor);
        let known = acceptor.as_mut().filter(|known| known.at + NAME_INTERVAL <= now);
        known.map(|known| known.at = now).is_some()
    }

    /// The same as if nothing were known yet; it is not in use.
    pub(crate) fn acceptor_anew(&self) -> Result<Acceptor, AuthError> {
        let failed = |source| AuthError::Key { name: self.service_on(&self.settings.host), source };
        let name = self.gssapi.service(&self.settings.service, &self.settings.host).map_err(failed)?;
        let credential = self.gssapi.acquire(&name, Usage::Accept, &self.settings.store).map_err(failed)?;
        Ok(Acceptor { credential: Arc::new(credential), at: Instant::now() })
    }

    /// From now on these are used.
    pub(crate) fn take_over(&self, acceptor: Acceptor, own: Own) {
        *lock(&self.acceptor) = Some(acceptor);
        *lock(&self.principal) = Some(own.principal);
        if let Some((in_use, tickets)) = self.tickets.as_ref().zip(own.tickets) {
            *lock(in_use) = InUse { all: tickets, renewed: BTreeMap::new() };
        }
    }

    /// From now on tickets for this host are got anew.
    pub(crate) fn drop_tickets(&self, host: String) {
        if let Some(tickets) = &self.tickets {
            lock(tickets).renewed.insert(host, Tickets::new(&self.gssapi));
        }
    }

    /// Begins a context. Asks the KDC if there is no ticket for the peer yet.
    pub(crate) fn begin(
        &self,
        host: String,
        own: Own,
        expected: &Expected,
    ) -> Result<(Begun, Vec<u8>), AuthError> {
        // Named with its realm: a KDC must not choose another one for it.
        let target = expected.principal(&own.principal);
        let failed = |source| AuthError::Ticket { target: target.clone(), source };
        let name = self.gssapi.principal(&target).map_err(failed)?;
        let protection = self.settings.protection;
        let binding = frame::preface(protection);
        let (initiation, token) =
            self.gssapi.initiate(own.credential, name, protection, &binding).map_err(failed)?;
        Ok((Begun { initiation, host, target, tickets: own.tickets }, token))
    }

    /// Takes an initiator's token.
    pub(crate) fn answer(&self, token: &[u8]) -> Answered {
        let acceptor = self.acceptor().map_err(|error| TurnedAway { error, reply: None })?;
        let protection = self.settings.protection;
        let binding = frame::preface(protection);
        match self.gssapi.accept(&acceptor.credential, token, protection, &binding) {
            Ok(accepted) if accepted.context.lifetime().is_some_and(|lifetime| lifetime.is_zero()) => {
                Err(TurnedAway { error: AuthError::Spent, reply: None })
            }
            Ok(accepted) => Ok(accepted),
            Err(Refused { error, reply }) => Err(TurnedAway { error: AuthError::Token(error), reply }),
        }
    }

    /// What a host comes to as a principal. May ask a name server.
    pub(crate) fn expected(&self, host: &str) -> Result<Expected, AuthError> {
        let name = || self.gssapi.service(&self.settings.service, host)?.principal()?.text();
        let failed = |source: GssError| AuthError::Ticket { target: self.service_on(host), source };
        name().map(Expected::new).map_err(failed)
    }

    fn service_on(&self, host: &str) -> String {
        format!("{}@{host}", self.settings.service)
    }
}

impl Begun {
    /// Ends it with the acceptor's answer.
    pub(crate) fn finish(self, token: &[u8]) -> Result<Context, AuthError> {
        let finished = self.initiation.finish(token).map_err(AuthError::Answer);
        drop(self.tickets);
        finished
    }
}

impl InUse {
    fn for_host(&self, host: &str) -> Arc<Tickets> {
        Arc::clone(self.renewed.get(host).unwrap_or(&self.all))
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
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no holder of the lock panics")
}
