//! What stands between TCP and HTTP/2: who the far end is, and whether others can read along.
//!
//! This is the one place for it. A connection passes here right after it is made, whichever side made it, and comes out
//! as a [`Secured`] one: bytes that may carry HTTP/2, and a [`Session`] that knows what was proven about the far end. Then
//! come the hellos. A kind of security that needs a proof inside the hello has the session make and judge it, before the
//! core sees the hello. `docs/protocol.md` has the whole order.
//!
//! To add a kind: a variant of [`Fence`] and one of [`Session`], each with a file of its own in this folder.

#[cfg(feature = "gssapi")]
mod gss;
mod munge;
mod open;
#[cfg(feature = "gssapi")]
mod patience;
mod tls;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use imex_config::{Security, chain};
use imex_core::{AuthFailure, Hello, NodeId, Refusal};
use imex_wire::{Credential, Io};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::time::timeout;

#[cfg(feature = "gssapi")]
pub(crate) use gss::GssFence;
#[cfg(feature = "gssapi")]
use gss::GssSession;
use munge::MungeSession;
pub(crate) use munge::{MungeFence, MungeUnusable, load as load_munge};
use open::FirstByte;
use tls::TlsSession;
pub(crate) use tls::{News, Reread, TlsFence, problems};

/// How long a stranger may take to authenticate. As long as the core gives its own attempts
/// ([`imex_core::Timing::auth_deadline`]).
pub(crate) const AUTH_DEADLINE: Duration = Duration::from_secs(5);

/// The kind of security that the configuration asks for. One per daemon, shared by the dials and the door.
#[derive(Clone, Debug)]
pub(crate) enum Fence {
    /// None: whoever reaches the port and knows the map is believed.
    Open,
    /// Mutual TLS.
    Tls(Arc<TlsFence>),
    /// Kerberos.
    #[cfg(feature = "gssapi")]
    Gss(Arc<GssFence>),
    /// MUNGE, over TLS that proves nothing by itself.
    Munge(Arc<MungeFence>),
}

/// A connection that may carry HTTP/2.
pub(crate) struct Secured {
    /// The bytes.
    pub(crate) io: Box<dyn Io>,
    /// What was proven.
    pub(crate) session: Session,
}

/// What is known of the far end of one connection.
#[derive(Debug)]
pub(crate) enum Session {
    /// Nothing but how it began.
    Open(FirstByte),
    /// Its certificate.
    Tls(TlsSession),
    /// Its principal.
    #[cfg(feature = "gssapi")]
    Gss(GssSession),
    /// Nothing yet, but which connection it is.
    Munge(MungeSession),
}

/// Why two nodes did not authenticate each other.
#[derive(Clone, Debug, Error)]
#[error("{failure}{}", detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default())]
pub(crate) struct AuthError {
    /// In a word, for the core and the table.
    pub(crate) failure: AuthFailure,
    /// What the library says, for the log. Never holds a secret.
    pub(crate) detail: Option<String>,
}

/// Authentication failed for good, and that is to end the daemon.
#[derive(Clone, Debug, Error)]
#[error("authenticate{}: {why}", peer.map(|peer| format!(" with node {peer}")).unwrap_or_default())]
pub(crate) struct GivenUp {
    /// With whom; `None` if this node cannot show itself to anybody.
    pub(crate) peer: Option<NodeId>,
    /// Why.
    pub(crate) why: AuthError,
}

/// What this machine lacks for a kind of security, and what to do about it.
pub(crate) fn missing_library(security: &Security) -> Option<(String, String)> {
    match security {
        Security::Off | Security::Tls(_) => None,
        #[cfg(feature = "gssapi")]
        Security::Gss(_) => {
            let error = imex_gss::find_library().err()?;
            Some((chain(&error), error.hint().to_owned()))
        }
        #[cfg(not(feature = "gssapi"))]
        Security::Gss(_) => Some((
            "this build has no Kerberos".to_owned(),
            "install a build with the feature gssapi, or choose another mode".to_owned(),
        )),
        Security::Munge(munge) => {
            let error = imex_munge::Munge::load(munge.socket.as_deref()).err()?;
            Some((chain(&error), error.hint().to_owned()))
        }
    }
}

impl Fence {
    /// Waits until this node can authenticate others and itself, as far as it depends on this node.
    pub(crate) async fn start(&self) -> Result<(), GivenUp> {
        match self {
            // The credentials were judged before anything was bound.
            Fence::Open | Fence::Tls(_) => Ok(()),
            #[cfg(feature = "gssapi")]
            Fence::Gss(gss) => gss.start().await,
            Fence::Munge(munge) => {
                munge.start().await;
                Ok(())
            }
        }
    }

    /// Has what this node shows made anew, as far as that is not in files of this daemon's own: those of TLS are read
    /// apart. Where it cannot be had, everything stays as it is.
    pub(crate) async fn reload(&self) -> Result<(), AuthError> {
        match self {
            Fence::Open | Fence::Tls(_) => Ok(()),
            #[cfg(feature = "gssapi")]
            Fence::Gss(gss) => gss.reload().await,
            Fence::Munge(munge) => munge.check().await,
        }
    }

    /// Waits until authentication has failed for good, where that is to end the daemon; else for ever.
    pub(crate) async fn given_up(&self) -> GivenUp {
        match self {
            Fence::Open | Fence::Tls(_) | Fence::Munge(_) => std::future::pending().await,
            #[cfg(feature = "gssapi")]
            Fence::Gss(gss) => gss.given_up().await,
        }
    }

    /// Whether anything has to be proven.
    pub(crate) fn is_open(&self) -> bool {
        match self {
            Fence::Open => true,
            Fence::Tls(_) | Fence::Munge(_) => false,
            #[cfg(feature = "gssapi")]
            Fence::Gss(_) => false,
        }
    }

    /// Whether tools can be told from strangers over TCP. Kerberos and MUNGE prove nodes to each other by what a tool does
    /// not have.
    pub(crate) fn admits_tools(&self) -> bool {
        match self {
            Fence::Open | Fence::Tls(_) => true,
            Fence::Munge(_) => false,
            #[cfg(feature = "gssapi")]
            Fence::Gss(_) => false,
        }
    }

    /// Secures a connection that this daemon made to a node of the map. It has no deadline: the core gives attempts up.
    pub(crate) async fn dialled(&self, tcp: TcpStream, peer: NodeId) -> Result<Secured, AuthError> {
        match self {
            Fence::Open => {
                let (io, heard) = open::dialled(tcp);
                Ok(Secured { io: Box::new(io), session: Session::Open(heard) })
            }
            Fence::Tls(tls) => tls.dialled(tcp, peer).await.map(Secured::tls),
            #[cfg(feature = "gssapi")]
            Fence::Gss(gss) => gss.dialled(tcp, peer).await.map(Secured::gss),
            Fence::Munge(munge) => munge.dialled(tcp).await.map(Secured::munge),
        }
    }

    /// Secures a connection that somebody made to this daemon, within [`AUTH_DEADLINE`].
    pub(crate) async fn accepted(&self, tcp: TcpStream) -> Result<Secured, AuthError> {
        let secured = timeout(AUTH_DEADLINE, self.receive(tcp)).await;
        secured.unwrap_or(Err(AuthFailure::TimedOut.into()))
    }

    async fn receive(&self, tcp: TcpStream) -> Result<Secured, AuthError> {
        match self {
            Fence::Open => {
                let io = Box::new(open::accepted(tcp).await?);
                Ok(Secured { io, session: Session::Open(FirstByte::default()) })
            }
            Fence::Tls(tls) => tls.accepted(tcp).await.map(Secured::tls),
            #[cfg(feature = "gssapi")]
            Fence::Gss(gss) => gss.accepted(tcp).await.map(Secured::gss),
            Fence::Munge(munge) => munge.accepted(tcp).await.map(Secured::munge),
        }
    }
}

impl Secured {
    fn tls((io, session): (imex_tls::Io, TlsSession)) -> Self {
        Secured { io: Box::new(io), session: Session::Tls(session) }
    }

    #[cfg(feature = "gssapi")]
    fn gss((io, session): (imex_gss::GssStream<TcpStream>, GssSession)) -> Self {
        Secured { io: Box::new(io), session: Session::Gss(session) }
    }

    fn munge((io, session): (imex_tls::Io, MungeSession)) -> Self {
        Secured { io: Box::new(io), session: Session::Munge(session) }
    }
}

impl Session {
    /// What this daemon's hello is to carry so that `peer` believes it.
    pub(crate) async fn prove(&self, peer: NodeId) -> Result<Option<Credential>, AuthError> {
        match self {
            Session::Open(_) | Session::Tls(_) => Ok(None),
            #[cfg(feature = "gssapi")]
            Session::Gss(_) => Ok(None),
            Session::Munge(munge) => munge.prove(peer).await.map(Some),
        }
    }

    /// Whether the far end of a connection is the node that its hello claims to be. A proof that was not asked for is as
    /// wrong as one that is missing.
    pub(crate) async fn judge(&self, hello: &Hello, proof: Option<&Credential>) -> Result<(), AuthError> {
        match (self, proof) {
            (Session::Open(_) | Session::Tls(_), Some(_)) => Err(AuthFailure::NotOffered.into()),
            (Session::Open(_), None) => Ok(()),
            (Session::Tls(tls), None) => tls.judge(hello),
            #[cfg(feature = "gssapi")]
            (Session::Gss(_), Some(_)) => Err(AuthFailure::NotOffered.into()),
            #[cfg(feature = "gssapi")]
            (Session::Gss(gss), None) => gss.judge(hello).await,
            (Session::Munge(munge), Some(proof)) => munge.judge(hello, proof).await,
            (Session::Munge(_), None) => Err(AuthFailure::Missing.into()),
        }
    }

    /// Whether a refusal may be believed as far as it says more than that this attempt has failed. Where the connection
    /// itself was made with the node that was dialled, whatever comes by it is that node's.
    pub(crate) async fn judge_refusal(
        &self,
        refusal: &Refusal,
        proof: Option<&Credential>,
    ) -> Result<(), AuthError> {
        match (self, proof) {
            (Session::Open(_) | Session::Tls(_), Some(_)) => Err(AuthFailure::NotOffered.into()),
            (Session::Open(_) | Session::Tls(_), None) => Ok(()),
            #[cfg(feature = "gssapi")]
            (Session::Gss(_), Some(_)) => Err(AuthFailure::NotOffered.into()),
            #[cfg(feature = "gssapi")]
            (Session::Gss(_), None) => Ok(()),
            (Session::Munge(munge), proof) => munge.judge_refusal(refusal, proof).await,
        }
    }

    /// What the far end objected to after this side took the two for authenticated, if it did: asked when the
    /// connection broke before a hello came.
    pub(crate) fn objection(&self) -> Option<AuthFailure> {
        match self {
            Session::Open(heard) => open::objection(heard),
            Session::Tls(tls) => tls.objection(),
            #[cfg(feature = "gssapi")]
            Session::Gss(_) => None,
            Session::Munge(munge) => munge.objection(),
        }
    }
}

impl From<AuthFailure> for AuthError {
    fn from(failure: AuthFailure) -> Self {
        AuthError { failure, detail: None }
    }
}

impl fmt::Debug for Secured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secured").field("session", &self.session).finish_non_exhaustive()
    }
}
