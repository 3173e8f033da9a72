//! Mutual TLS: certificates that are good for the nodes' entries in the map.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use imex_config::security::Tls;
use imex_config::{Problem, Settings, Severity, ThisMachine, chain};
use imex_core::{AuthFailure, Hello, NodeId};
use imex_tls::{Ends, Finding, NoName, PeerName};
use jiff::Timestamp;
use tokio::net::TcpStream;

use super::AuthError;

/// What all connections of one daemon are secured by.
#[derive(Debug)]
pub(crate) struct TlsFence {
    own: PeerName,
    names: Vec<PeerName>,
    // Held only to copy or replace what is in it, never across a wait.
    held: Mutex<Held>,
}

#[derive(Clone, Debug)]
struct Held {
    tls: Arc<Tls>,
    ends: Arc<Ends>,
}

/// What is known of the far end of one connection.
#[derive(Debug)]
pub(crate) struct TlsSession {
    session: imex_tls::Session,
    fence: Arc<TlsFence>,
}

/// What the files hold now, read and judged.
#[derive(Debug)]
pub(crate) struct Reread {
    /// Whether that is something else than what is in use.
    pub(crate) news: News,
    /// What will soon be wrong with it.
    pub(crate) warnings: Vec<Finding>,
}

/// Whether credentials that were read anew differ from those in use.
#[derive(Debug)]
pub(crate) enum News {
    /// They are the same to the byte.
    Unchanged,
    /// They differ.
    Changed(Replacement),
}

/// New credentials, not yet in use.
#[derive(Debug)]
pub(crate) struct Replacement(Held);

impl TlsFence {
    /// The fence of settings whose credentials have been judged.
    pub(crate) fn new(settings: &Settings, tls: &Tls) -> Result<Self, Vec<Problem>> {
        let names = names(settings, tls).map_err(|error| vec![no_name(Path::new(""), &error)])?;
        let ends = Ends::new(tls).map_err(|_| Vec::new())?;
        let own = names[settings.node.index()].clone();
        let held = Held { tls: Arc::new(tls.clone()), ends: Arc::new(ends) };
        Ok(TlsFence { own, names, held: Mutex::new(held) })
    }

    /// The ends that are in use.
    pub(crate) fn ends(&self) -> Arc<Ends> {
        Arc::clone(&self.lock().ends)
    }

    /// Secures a connection that this daemon made.
    pub(super) async fn dialled(
        self: &Arc<Self>,
        tcp: TcpStream,
        peer: NodeId,
    ) -> Result<(imex_tls::Io, TlsSession), AuthError> {
        let name = self.name(peer).ok_or(AuthFailure::OtherName)?;
        let secured = self.ends().connect(tcp, name).await?;
        Ok((secured.io, TlsSession { session: secured.session, fence: Arc::clone(self) }))
    }

    /// Secures a connection that somebody made.
    pub(super) async fn accepted(
        self: &Arc<Self>,
        tcp: TcpStream,
    ) -> Result<(imex_tls::Io, TlsSession), AuthError> {
        let secured = self.ends().accept(tcp).await?;
        Ok((secured.io, TlsSession { session: secured.session, fence: Arc::clone(self) }))
    }

    /// Reads the credentials anew and judges them. Blocks on files.
    pub(crate) fn read_anew(&self, now: Timestamp) -> Result<Reread, Vec<Finding>> {
        let used = Arc::clone(&self.lock().tls);
        let tls = used.reread(&ThisMachine).map_err(|unread| {
            let finding = |unread: imex_config::security::Unread| Finding {
                key: unread.key,
                line: None,
                severity: Severity::Error,
                what: format!("{}: {}", unread.key, chain(&unread.error)),
                hint: unread.error.hint(),
            };
            unread.into_iter().map(finding).collect::<Vec<_>>()
        })?;
        let findings = imex_tls::judge(&tls, &self.own, now);
        if findings.iter().any(|finding| finding.severity == Severity::Error) {
            return Err(findings);
        }
        if tls == *used {
            return Ok(Reread { news: News::Unchanged, warnings: findings });
        }
        // Whoever judged them has told everything.
        let ends = Ends::new(&tls).map_err(|_| Vec::new())?;
        let replacement = Replacement(Held { tls: Arc::new(tls), ends: Arc::new(ends) });
        Ok(Reread { news: News::Changed(replacement), warnings: findings })
    }

    /// What is wrong with the credentials in use by now, or soon will be.
    pub(crate) fn findings(&self, now: Timestamp) -> Vec<Finding> {
        let tls = Arc::clone(&self.lock().tls);
        imex_tls::judge(&tls, &self.own, now)
    }

    /// Uses new credentials for every connection from now on.
    pub(crate) fn replace(&self, Replacement(held): Replacement) {
        *self.lock() = held;
    }

    fn name(&self, node: NodeId) -> Option<&PeerName> {
        self.names.get(node.index())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TlsSession {
    /// Whether the far end's certificate is good for the entry of the node that it claims to be.
    pub(super) fn judge(&self, hello: &Hello) -> Result<(), AuthError> {
        let name = self.fence.name(hello.node()).ok_or(AuthFailure::OtherName)?;
        Ok(self.session.is_good_for(name)?)
    }

    /// See [`super::Session::objection`].
    pub(super) fn objection(&self) -> Option<AuthFailure> {
        self.session.objection()
    }
}

/// What is wrong with the credentials of settings that are otherwise in order. `path` is the configuration's.
pub(crate) fn problems(settings: &Settings, tls: &Tls, path: &Path, now: Timestamp) -> Vec<Problem> {
    match names(settings, tls) {
        Ok(names) => {
            let findings = imex_tls::judge(tls, &names[settings.node.index()], now);
            findings.into_iter().map(|finding| finding.problem(path)).collect()
        }
        Err(error) => vec![no_name(path, &error)],
    }
}

/// By which name each node's certificate goes.
fn names(settings: &Settings, tls: &Tls) -> Result<Vec<PeerName>, NoName> {
    let one = tls.target_override.as_deref().map(PeerName::of_host).transpose()?;
    let entries = settings.addresses.iter();
    entries.map(|entry| one.clone().map_or_else(|| PeerName::of_entry(entry), Ok)).collect()
}

fn no_name(path: &Path, error: &NoName) -> Problem {
    let hint = "with TLS every entry of the node list must be a name that a certificate can have".to_owned();
    Problem::new(Severity::Error, path, error.to_string()).hint(hint)
}

impl From<imex_tls::TlsError> for AuthError {
    fn from(error: imex_tls::TlsError) -> Self {
        AuthError { failure: error.failure, detail: Some(error.detail) }
    }
}
