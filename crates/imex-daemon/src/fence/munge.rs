//! MUNGE: whoever is the right user on a machine of the same cluster.
//!
//! A connection becomes private first, by TLS with certificates that prove nothing. Then each hello carries a credential
//! that says which node and which run it is from, to whom, in which domain, and on which connection.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use imex_config::security::{Munge as Asked, MungeOrigin};
use imex_core::{AuthFailure, Hello, NodeId, Refusal};
use imex_munge::{Claim, ClaimError, Fault, LoadError, Munge, MungeError, Role};
use imex_tls::{RunEnds, RunError};
use imex_wire::Credential;
use nix::unistd::geteuid;
use thiserror::Error;
use tokio::net::TcpStream;

use super::AuthError;

/// How often munged is tried while it does not answer at the start. systemd starts it within a second of its failure.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// What all connections of one daemon are secured by.
#[derive(Debug)]
pub(crate) struct MungeFence {
    munge: Munge,
    ends: RunEnds,
    uid: u32,
    origin: MungeOrigin,
    hello: Arc<Hello>,
}

/// What is known of one connection.
#[derive(Debug)]
pub(crate) struct MungeSession {
    session: imex_tls::Session,
    role: Role,
    /// The address at its far end.
    far: IpAddr,
    fence: Arc<MungeFence>,
}

/// Why MUNGE cannot be used.
#[derive(Debug, Error)]
pub(crate) enum MungeUnusable {
    #[error("use MUNGE")]
    Library(#[from] LoadError),
    #[error(transparent)]
    Certificate(#[from] RunError),
    #[error("use MUNGE: OPENIMEX_MUNGE_UID is {wanted}, but this daemon runs as user {own}")]
    OtherUser {
        /// Whom the configuration names.
        wanted: u32,
        /// Who this is.
        own: u32,
    },
}

impl MungeUnusable {
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            MungeUnusable::Library(error) => Some(error.hint().to_owned()),
            MungeUnusable::Certificate(_) => None,
            MungeUnusable::OtherUser { own, .. } => {
                Some(format!("set OPENIMEX_MUNGE_UID={own} on all nodes, or run the daemons as another user"))
            }
        }
    }
}

/// Looks whether MUNGE can be used as the configuration asks. Asks munged nothing yet.
pub(crate) fn load(asked: &Asked) -> Result<Munge, MungeUnusable> {
    let (wanted, own) = (asked.uid, geteuid().as_raw());
    if wanted != own {
        return Err(MungeUnusable::OtherUser { wanted, own });
    }
    Ok(Munge::load(asked.socket.as_deref())?)
}

impl MungeFence {
    /// The fence for a daemon with this introduction.
    pub(crate) fn new(munge: Munge, settings: &Asked, hello: Arc<Hello>) -> Result<Self, MungeUnusable> {
        Ok(MungeFence { munge, ends: RunEnds::new()?, uid: settings.uid, origin: settings.origin, hello })
    }

    /// Waits until munged answers.
    pub(crate) async fn start(&self) {
        let mut told = false;
        while let Err(error) = self.try_munged().await {
            if !told {
                let hint = error.hint().unwrap_or_default();
                tracing::warn!(%error, hint, "MUNGE does not work yet; it is tried again every second");
                told = true;
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
        if told {
            tracing::info!("MUNGE works now");
        }
    }

    /// Looks whether munged answers, as this node needs it to for every link that is made anew.
    pub(super) async fn check(&self) -> Result<(), AuthError> {
        Ok(self.try_munged().await?)
    }

    async fn try_munged(&self) -> Result<(), MungeError> {
        let credential = self.munge.encode(b"imexd tries its munged".to_vec(), self.uid).await?;
        self.munge.decode(credential).await.map(drop)
    }

    /// Makes a connection that this daemon made private.
    pub(super) async fn dialled(
        self: &Arc<Self>,
        tcp: TcpStream,
    ) -> Result<(imex_tls::Io, MungeSession), AuthError> {
        let far = far_end(&tcp)?;
        let secured = self.ends.connect(tcp).await?;
        Ok(self.session(secured, Role::Dialler, far))
    }

    /// Makes a connection that somebody made private.
    pub(super) async fn accepted(
        self: &Arc<Self>,
        tcp: TcpStream,
    ) -> Result<(imex_tls::Io, MungeSession), AuthError> {
        let far = far_end(&tcp)?;
        let secured = self.ends.accept(tcp).await?;
        Ok(self.session(secured, Role::Acceptor, far))
    }

    fn session(
        self: &Arc<Self>,
        secured: imex_tls::Secured,
        role: Role,
        far: IpAddr,
    ) -> (imex_tls::Io, MungeSession) {
        (secured.io, MungeSession { session: secured.session, role, far, fence: Arc::clone(self) })
    }
}

fn far_end(tcp: &TcpStream) -> Result<IpAddr, AuthError> {
    let address = tcp.peer_addr().map_err(|_| AuthFailure::Broken)?;
    Ok(address.ip().to_canonical())
}

impl MungeSession {
    /// A credential for this daemon's hello to `peer`.
    pub(super) async fn prove(&self, peer: NodeId) -> Result<Credential, AuthError> {
        let own = self.fence.hello.get();
        let claim = Claim {
            role: self.role,
            from: own.node,
            to: peer,
            instance: own.instance,
            token: own.token.clone(),
            binding: *self.session.binding(),
        };
        let credential = self.fence.munge.encode(claim.bytes(), self.fence.uid).await?;
        Credential::new(credential)
            .map_err(|error| AuthError { failure: AuthFailure::NoneOfOurs, detail: Some(error.to_string()) })
    }

    /// Whether a refusal may be believed. Anybody can take a connection at a node's address and refuse: what would say
    /// that the node was restarted, or has another map, needs its credential. The other refusals say no more than that
    /// this attempt has failed, as whoever is there could have it anyway.
    pub(super) async fn judge_refusal(
        &self,
        refusal: &Refusal,
        proof: Option<&Credential>,
    ) -> Result<(), AuthError> {
        let by = match refusal {
            Refusal::Version { by } | Refusal::Map { by, .. } | Refusal::NotAtItsAddress { by } => Some(by),
            Refusal::AddressUnknown => None,
            Refusal::OtherDomain | Refusal::EndedInstance | Refusal::Leaving | Refusal::Unproven => {
                return Ok(());
            }
        };
        match by.zip(proof) {
            Some((by, proof)) => self.judge(by, proof).await,
            None => {
                let detail = "it refuses this node, and does not prove who it is itself".to_owned();
                Err(AuthError { failure: AuthFailure::Refused, detail: Some(detail) })
            }
        }
    }

    /// Whether the far end's credential says what its hello says, of this connection, and comes from the right user.
    pub(super) async fn judge(&self, hello: &Hello, credential: &Credential) -> Result<(), AuthError> {
        let opened = self.fence.munge.decode(credential.bytes().to_vec()).await?;
        if opened.uid != self.fence.uid {
            let detail = format!("it comes from user {}, not {}", opened.uid, self.fence.uid);
            return Err(AuthError { failure: AuthFailure::OtherName, detail: Some(detail) });
        }
        if self.fence.origin == MungeOrigin::Peer && opened.origin != self.far {
            let detail = format!(
                "it was made on the machine that its munged calls {}, not {}; see OPENIMEX_MUNGE_ORIGIN",
                opened.origin, self.far
            );
            return Err(AuthError { failure: AuthFailure::OtherName, detail: Some(detail) });
        }
        let theirs = hello.get();
        let expected = Claim {
            role: match self.role {
                Role::Dialler => Role::Acceptor,
                Role::Acceptor => Role::Dialler,
            },
            from: theirs.node,
            to: self.fence.hello.node(),
            instance: theirs.instance,
            // Whether it is this domain's is the core's to judge, when the hello is known to be genuine.
            token: theirs.token.clone(),
            binding: *self.session.binding(),
        };
        Ok(expected.check(&opened.payload)?)
    }

    /// See [`super::Session::objection`].
    pub(super) fn objection(&self) -> Option<AuthFailure> {
        self.session.objection()
    }
}

impl From<MungeError> for AuthError {
    fn from(error: MungeError) -> Self {
        let failure = match error.fault() {
            Fault::NotRunning => AuthFailure::Unanswered,
            Fault::Other => AuthFailure::NoneOfOurs,
            Fault::Invalid => AuthFailure::OtherAuthority,
            Fault::Malformed => AuthFailure::Invalid,
            Fault::Expired => AuthFailure::Expired,
            Fault::Rewound => AuthFailure::NotYetValid,
            Fault::Replayed => AuthFailure::Replayed,
            Fault::NotForUs => AuthFailure::OtherName,
        };
        let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        AuthError { failure, detail: Some(format!("{error}{hint}")) }
    }
}

impl From<ClaimError> for AuthError {
    fn from(error: ClaimError) -> Self {
        let failure = match error {
            ClaimError::Malformed => AuthFailure::Invalid,
            // Somebody repeats on one connection what was said on another.
            ClaimError::OtherConnection | ClaimError::OtherRole => AuthFailure::Replayed,
            ClaimError::OtherDomain | ClaimError::OtherNode { .. } | ClaimError::OtherInstance => {
                AuthFailure::OtherName
            }
        };
        AuthError { failure, detail: Some(error.to_string()) }
    }
}
