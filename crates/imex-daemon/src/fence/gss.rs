//! Kerberos: principals that are those of the nodes' entries in the map.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use imex_config::security::{Gss, GssFailure, GssProtection};
use imex_config::{NodeAddress, Settings, chain};
use imex_core::{AuthFailure, Hello, NodeId};
use imex_gss::frame::FrameError;
use imex_gss::{
    Blame, Fault, GssStream, Kerberos, LoadError, Peer, PrincipalError, Protection, Refusal, Store,
};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::patience::{Patience, Verdict};
use super::{AuthError, GivenUp};

/// How long this side waits for a peer to authenticate: less than the core does, so that this counts as a failure too.
const DEADLINE: Duration = Duration::from_millis(4500);

/// The least time between two looks for a key that is not there, whatever the configuration says.
const LEAST_INTERVAL: Duration = Duration::from_secs(1);

/// What all connections of one daemon are secured by.
#[derive(Debug)]
pub(crate) struct GssFence {
    kerberos: Kerberos,
    /// The host part of each node's principal.
    hosts: Vec<String>,
    on_failure: GssFailure,
    begun: Instant,
    // Held only to note a failure, never across a wait.
    patience: Mutex<Patience>,
    given_up: watch::Sender<Option<GivenUp>>,
}

/// What is known of the far end of one connection.
#[derive(Debug)]
pub(crate) struct GssSession {
    peer: Peer,
    fence: Arc<GssFence>,
}

impl GssFence {
    /// The fence of judged settings. Asks nobody yet.
    pub(crate) fn new(settings: &Settings, gss: &Gss) -> Result<Self, LoadError> {
        let hosts: Vec<String> = settings.addresses.iter().map(|entry| host(entry, gss)).collect();
        let kerberos = Kerberos::load(imex_gss::Settings {
            protection: match gss.protection {
                GssProtection::Encrypt => Protection::Privacy,
                GssProtection::AuthenticateOnly => Protection::Integrity,
            },
            service: gss.service.clone(),
            host: hosts[settings.node.index()].clone(),
            lifetime: gss.context_lifetime,
            retry_interval: gss.retry_interval,
            // The key tables are those of the environment (KRB5_CLIENT_KTNAME, KRB5_KTNAME) and of krb5.conf.
            store: Store { ticket_cache: gss.ticket_cache.clone(), ..Store::default() },
        })?;
        Ok(GssFence {
            kerberos,
            hosts,
            on_failure: gss.on_failure,
            begun: Instant::now(),
            patience: Mutex::new(Patience::new(gss.timeout)),
            given_up: watch::Sender::new(None),
        })
    }

    /// Waits until this node can show itself and see others. A KDC that does not answer is not waited for: peers that
    /// have tickets can come in, and dials are tried again anyway.
    pub(crate) async fn start(&self) -> Result<(), GivenUp> {
        let mut told = false;
        loop {
            let Err(error) = self.kerberos.check().await else { return Ok(()) };
            let why = AuthError::from(&error);
            match (error.blame(), self.on_failure) {
                (Blame::Kdc | Blame::Peer, _) => {
                    tracing::warn!(error = %why, "Kerberos does not work yet; it is tried again");
                    return Ok(());
                }
                (Blame::Own, GssFailure::Shutdown) => return Err(GivenUp { peer: None, why }),
                (Blame::Own, GssFailure::DropPeer) if !told => {
                    tracing::error!(error = %why, "Kerberos does not work; it is tried again");
                }
                (Blame::Own, GssFailure::DropPeer) => {}
            }
            told = true;
            tokio::time::sleep(self.kerberos.settings().retry_interval.max(LEAST_INTERVAL)).await;
        }
    }

    /// Waits until authentication with a peer has failed for good, where that is to end the daemon.
    pub(crate) async fn given_up(&self) -> GivenUp {
        let mut given_up = self.given_up.subscribe();
        let why = given_up.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
        match why {
            Some(why) => why,
            // The sender lives as long as this, so there is always a reason.
            None => std::future::pending().await,
        }
    }

    /// Has the key tables read and tickets got anew; what was known before stays where that comes to nothing.
    pub(super) async fn reload(&self) -> Result<(), AuthError> {
        self.kerberos.reload().await.map_err(|error| AuthError::from(&error))
    }

    /// Secures a connection that this daemon made.
    pub(super) async fn dialled(
        self: &Arc<Self>,
        tcp: TcpStream,
        peer: NodeId,
    ) -> Result<(GssStream<TcpStream>, GssSession), AuthError> {
        let host = self.host(peer)?;
        let secured = timeout(DEADLINE, self.kerberos.initiate(tcp, host)).await;
        let secured = secured.map_err(|_| AuthError::from(AuthFailure::TimedOut));
        match secured.and_then(|secured| secured.map_err(|error| AuthError::from(&error))) {
            Ok(stream) => {
                self.patience().succeeded(peer);
                Ok(self.session(stream))
            }
            Err(error) => {
                self.note_failure(peer, &error);
                Err(error)
            }
        }
    }

    /// Secures a connection that somebody made.
    pub(super) async fn accepted(
        self: &Arc<Self>,
        tcp: TcpStream,
    ) -> Result<(GssStream<TcpStream>, GssSession), AuthError> {
        let stream = self.kerberos.accept(tcp).await.map_err(|error| AuthError::from(&error))?;
        Ok(self.session(stream))
    }

    fn session(self: &Arc<Self>, stream: GssStream<TcpStream>) -> (GssStream<TcpStream>, GssSession) {
        let session = GssSession { peer: stream.peer().clone(), fence: Arc::clone(self) };
        (stream, session)
    }

    fn note_failure(&self, peer: NodeId, error: &AuthError) {
        // A connection that breaks says nothing about who is at its other end.
        if error.failure == AuthFailure::Broken {
            return;
        }
        if self.patience().failed(peer, self.begun.elapsed()) == Verdict::GoOn {
            return;
        }
        match self.on_failure {
            GssFailure::Shutdown => {
                self.given_up.send_replace(Some(GivenUp { peer: Some(peer), why: error.clone() }));
            }
            GssFailure::DropPeer => {
                tracing::error!(%error, "Kerberos authentication with node {peer} failed for good; it is dropped");
            }
        }
    }

    fn host(&self, node: NodeId) -> Result<&str, AuthError> {
        let host = self.hosts.get(node.index()).ok_or(AuthFailure::OtherName)?;
        Ok(host)
    }

    fn patience(&self) -> std::sync::MutexGuard<'_, Patience> {
        self.patience.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GssSession {
    /// Whether the far end's principal is that of the node that it claims to be.
    pub(super) async fn judge(&self, hello: &Hello) -> Result<(), AuthError> {
        let host = self.fence.host(hello.node())?;
        let judged = self.fence.kerberos.judge(&self.peer, host).await;
        judged.map_err(|error| AuthError::from(&error))?;
        self.fence.kerberos.met(&self.peer);
        Ok(())
    }
}

/// The host part of a node's principal: what the map calls it, or the one name that all go by.
fn host(entry: &NodeAddress, gss: &Gss) -> String {
    match (&gss.target_override, entry) {
        (Some(name), _) => name.clone(),
        (None, NodeAddress::Ip { ip, .. }) => ip.to_string(),
        (None, NodeAddress::Name(name)) => name.as_str().to_owned(),
    }
}

impl From<&imex_gss::AuthError> for AuthError {
    fn from(error: &imex_gss::AuthError) -> Self {
        let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        AuthError { failure: failure(error), detail: Some(format!("{}{hint}", chain(error))) }
    }
}

/// A failure as the core knows it.
fn failure(error: &imex_gss::AuthError) -> AuthFailure {
    use imex_gss::AuthError::{
        Answer, Broken, Busy, Frame, Key, Principal, Refused, Silent, Spent, Ticket, Token,
    };
    match error {
        Ticket { .. } | Key { .. } | Silent { .. } if error.fault() == Some(Fault::ClockSkew) => {
            AuthFailure::ClockSkew
        }
        Ticket { .. } | Key { .. } | Silent { .. } if error.fault() == Some(Fault::KdcUnreachable) => {
            AuthFailure::Unanswered
        }
        Ticket { .. } | Key { .. } | Silent { .. } => AuthFailure::NoneOfOurs,
        Busy { .. } => AuthFailure::TimedOut,
        Spent => AuthFailure::Expired,
        Token(_) => of_token(error.fault()),
        // The acceptor says in Kerberos's words what it did not like about this node's credential.
        Answer(_) if error.fault() == Some(Fault::ClockSkew) => AuthFailure::ClockSkew,
        Answer(_) | Refused(Refusal::Token | Refusal::Unknown) => AuthFailure::Refused,
        Refused(Refusal::Unable) => AuthFailure::Missing,
        Refused(Refusal::OtherProtection) => AuthFailure::NotOffered,
        Principal(PrincipalError::Name { .. }) => AuthFailure::OtherName,
        Principal(PrincipalError::Realm { .. }) => AuthFailure::OtherAuthority,
        Frame(
            FrameError::OtherProtocol(_)
            | FrameError::OtherProtection { .. }
            | FrameError::Version { .. }
            | FrameError::Unknown { .. },
        ) => AuthFailure::NotOffered,
        Frame(
            FrameError::Length { .. } | FrameError::Unexpected { .. } | FrameError::UnexpectedRecord { .. },
        ) => AuthFailure::Invalid,
        Broken(_) => AuthFailure::Broken,
    }
}

/// What is wrong with a peer's token.
fn of_token(fault: Option<Fault>) -> AuthFailure {
    match fault {
        Some(Fault::Expired) => AuthFailure::Expired,
        Some(Fault::NotYetValid) => AuthFailure::NotYetValid,
        Some(Fault::ClockSkew) => AuthFailure::ClockSkew,
        Some(Fault::Replay) => AuthFailure::Replayed,
        // It is meant for a key that this node does not have.
        Some(Fault::NoKey | Fault::WrongKey | Fault::RealmUnknown) => AuthFailure::OtherAuthority,
        Some(
            Fault::KdcUnreachable
            | Fault::NoCredential
            | Fault::ClientUnknown
            | Fault::ServiceUnknown
            | Fault::OutOfOrder
            | Fault::BadToken
            | Fault::Unprotected
            | Fault::OtherBinding
            | Fault::Configuration
            | Fault::Other,
        )
        | None => AuthFailure::Invalid,
    }
}
