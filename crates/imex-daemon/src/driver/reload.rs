//! SIGUSR1: names and credentials anew, here and, for credentials, on the other members.
//!
//! ```text
//!  operator ─USR1─► read six files ─bad─► report, nothing changes
//!                        │      └─the same─► dial everybody anew, tell nobody
//!                        │ good: use them, tell every member
//!                        ▼
//!              wait for the head start ─► dial everybody anew
//!                        ▲
//!  member ─Reload─► read six files (good: use them; the same: nothing)
//! ```
//!
//! A member passes nothing on, and both ways in have a throttle: however often and by however many it is asked for, a
//! daemon reads its files at most twice and dials at most once per [`REDIAL_INTERVAL`]. A member that says again and
//! again that something changed costs the others six small files every time, and no link.
//!
//! The files are read by one thread at a time, so that what was read last is what is used.
//!
//! Kerberos and MUNGE have no files of the daemon's own, and nobody is told: the KDC or munged is asked anew first, and
//! the nodes are dialled only if it answers. Links that were made stand without it.

use std::sync::Arc;
use std::time::Duration;

use imex_config::Severity;
use imex_core::{AuthFailure, Input, Moment, NodeId};
use imex_tls::Finding;

use super::Driver;
use crate::clock::WallTime;
use crate::fence::{AuthError, Fence, News, Reread, TlsFence};
use crate::peer::{AskedBy, CredentialsRead, Outlet, PeerEvent};
use crate::signals::{REDIAL_INTERVAL, Throttle};

/// How long after new credentials are in use the nodes are dialled by them: whoever is dialled must have read its own
/// by then. A message and six small files take a few milliseconds.
const HEAD_START: Duration = Duration::from_millis(250);

/// How often the credentials in use are judged again: one that nears its end is warned of every day.
const JUDGE_INTERVAL: Duration = Duration::from_secs(24 * 3600);

/// What is to be done about names and credentials, and when.
#[derive(Debug)]
pub(super) struct Reload {
    fence: Fence,
    operator: Throttle,
    member: Throttle,
    /// Who told this node to read its credentials anew, for the log.
    teller: Option<NodeId>,
    reading: Reading,
    dial_at: Option<Moment>,
    judge_at: Option<Moment>,
}

/// Whether the credentials are read, or a service is asked for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    No,
    UnderWay,
}

impl Reload {
    /// Nothing is to be done yet.
    pub(super) fn new(fence: Fence) -> Self {
        let judge_at = (!fence.is_open()).then(|| Moment::ZERO + JUDGE_INTERVAL);
        let throttle = Throttle::new(REDIAL_INTERVAL);
        Reload {
            fence,
            operator: throttle,
            member: throttle,
            teller: None,
            reading: Reading::No,
            dial_at: None,
            judge_at,
        }
    }

    /// What stands between TCP and HTTP/2.
    pub(super) fn fence(&self) -> &Fence {
        &self.fence
    }

    /// The operator asks for it.
    pub(super) fn ask(&mut self) {
        self.operator.ask();
    }

    /// A member says that its credentials were replaced.
    pub(super) fn told(&mut self, by: NodeId) {
        self.teller.get_or_insert(by);
        self.member.ask();
    }

    /// When something is to be done next.
    pub(super) fn due(&self) -> Option<Moment> {
        let asked = match self.reading {
            Reading::No => [self.operator.due(), self.member.due()],
            Reading::UnderWay => [None, None],
        };
        asked.into_iter().chain([self.dial_at, self.judge_at]).flatten().min()
    }

    fn operator_is_due(&mut self, now: Moment) -> bool {
        self.reading == Reading::No && self.operator.take(now)
    }

    fn member_is_due(&mut self, now: Moment) -> bool {
        self.reading == Reading::No && self.member.take(now)
    }

    /// Asks the service that makes this node's credentials.
    fn ask_service(&mut self, outlet: Outlet) {
        self.reading = Reading::UnderWay;
        let fence = self.fence.clone();
        let asking = tokio::spawn(async move { fence.reload().await });
        tokio::spawn(async move {
            // A task that panicked has got nothing; the next signal is served all the same.
            let asked = asking.await.unwrap_or_else(|error| {
                Err(AuthError { failure: AuthFailure::Unanswered, detail: Some(error.to_string()) })
            });
            outlet.put(PeerEvent::ServiceAsked(asked)).await;
        });
    }

    /// Reads and judges in a thread that may wait for a disk.
    fn read(&mut self, tls: Arc<TlsFence>, asked_by: AskedBy, outlet: Outlet) {
        self.reading = Reading::UnderWay;
        let reading = tokio::task::spawn_blocking(move || tls.read_anew(WallTime::now().timestamp()));
        tokio::spawn(async move {
            // A thread that panicked has read nothing.
            let read = reading.await.unwrap_or(Err(Vec::new()));
            outlet.put(PeerEvent::CredentialsRead(Box::new(CredentialsRead { asked_by, read }))).await;
        });
    }
}

impl Driver {
    /// Does what is due.
    pub(super) fn reload_if_due(&mut self, now: Moment) {
        if self.reload.operator_is_due(now) {
            self.book.forget_failures();
            match self.reload.fence.clone() {
                Fence::Open => self.dial_anew(now),
                Fence::Tls(tls) => self.reload.read(tls, AskedBy::Operator, self.outlet.clone()),
                #[cfg(feature = "gssapi")]
                Fence::Gss(_) => self.reload.ask_service(self.outlet.clone()),
                Fence::Munge(_) => self.reload.ask_service(self.outlet.clone()),
            }
        }
        if self.reload.member_is_due(now) {
            let teller = self.reload.teller.take();
            if let Some(teller) = teller {
                tracing::info!(
                    "Node {teller} says that its credentials were replaced; reading this node's anew"
                );
            }
            match self.reload.fence.clone() {
                // Their credentials are their services' business, which need no word from a member.
                Fence::Open | Fence::Munge(_) => {}
                #[cfg(feature = "gssapi")]
                Fence::Gss(_) => {}
                Fence::Tls(tls) => self.reload.read(tls, AskedBy::Member, self.outlet.clone()),
            }
        }
        if self.reload.dial_at.take_if(|at| *at <= now).is_some() {
            self.dial_anew(now);
        }
        if self.reload.judge_at.take_if(|at| *at <= now).is_some() {
            self.reload.judge_at = Some(now + JUDGE_INTERVAL);
            if let Fence::Tls(tls) = &self.reload.fence {
                report(&tls.findings(WallTime::now().timestamp()));
            }
        }
    }

    /// Takes over what came of reading the credentials anew.
    pub(super) fn take_credentials(&mut self, read: CredentialsRead, now: Moment) {
        let CredentialsRead { asked_by, read } = read;
        self.reload.reading = Reading::No;
        let Reread { news, warnings } = match read {
            Ok(reread) => reread,
            Err(findings) => {
                report(&findings);
                tracing::error!(
                    "The new credentials cannot be used; those in use stay, and nothing else changes"
                );
                return;
            }
        };
        report(&warnings);
        let Fence::Tls(tls) = &self.reload.fence else { return };
        match (news, asked_by) {
            (News::Changed(replacement), _) => tls.replace(replacement),
            (News::Unchanged, AskedBy::Member) => {
                tracing::debug!("This node's credentials have not changed");
                return;
            }
            (News::Unchanged, AskedBy::Operator) => {
                tracing::info!("This node's credentials have not changed; the other members are not told");
                return self.dial_anew(now);
            }
        }
        tracing::info!("New credentials are in use for every connection from now on");
        if asked_by == AskedBy::Operator {
            self.machine.handle(Input::TellReload, now);
        }
        self.reload.dial_at = Some(self.reload.dial_at.unwrap_or(now + HEAD_START));
    }

    /// Takes over what the service that makes this node's credentials said.
    pub(super) fn take_service(&mut self, asked: Result<(), AuthError>, now: Moment) {
        self.reload.reading = Reading::No;
        match asked {
            Ok(()) => self.dial_anew(now),
            Err(error) => {
                tracing::error!(%error, "No new credentials are to be had; those in use stay, and nothing else changes");
            }
        }
    }

    /// Sets security up beside the loop, and then waits for it to fail for good.
    pub(super) fn start_auth_server(&self) {
        let (fence, outlet) = (self.reload.fence.clone(), self.outlet.clone());
        tokio::spawn(async move {
            let given_up = match fence.start().await {
                Ok(()) => {
                    outlet.put(PeerEvent::AuthServerReady).await;
                    fence.given_up().await
                }
                Err(given_up) => given_up,
            };
            outlet.put(PeerEvent::GivenUp(Box::new(given_up))).await;
        });
    }

    fn dial_anew(&mut self, now: Moment) {
        tracing::info!("Dialling every node anew");
        self.machine.handle(Input::Redial, now);
    }
}

fn report(findings: &[Finding]) {
    for Finding { severity, what, hint, .. } in findings {
        let hint = hint.as_deref();
        match severity {
            Severity::Note | Severity::Warning => tracing::warn!(hint, "{what}"),
            Severity::Error => tracing::error!(hint, "{what}"),
        }
    }
}
