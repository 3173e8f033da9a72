//! The links that this node dials: when to try, what an answer means, what a loss brings with it.

use std::sync::Arc;
use std::time::Duration;

use super::Machine;
use crate::acquaintance::{CleanUp, Evidence, Terms};
use crate::action::{CleanUpReason, Note};
use crate::cause::{AuthFailure, Unreachable, Violation};
use crate::input::{Answer, DialFailure, StreamId};
use crate::link::{Link, LinkEvent};
use crate::peer::{Attempt, Dial, Kept, Peer, Stage, Urgency};
use crate::timers::Timer;
use crate::timing::{Grace, SHOWN_DIFFERENCES};
use crate::{Action, Cause, Hello, InstanceId, Moment, NodeId, PeerMessage, Refusal};

/// How soon a failed dial is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// From [`crate::Timing::first_retry`] doubling to `retry_max`.
    Doubling,
    /// Always `retry_max`: an operator has to do something first, or the peer will come by itself.
    Slow,
    /// [`crate::Timing::auth_retry`], or as `Doubling`.
    Authentication,
}

impl Pace {
    /// After a failed authentication: whoever did not answer may do so at any time.
    fn after(why: AuthFailure) -> Self {
        if why.is_silence() { Pace::Doubling } else { Pace::Authentication }
    }
}

impl Machine {
    /// Dials every node, this one first, then its successors: so that nodes that start together do not all fall upon
    /// node 0.
    pub(super) fn dial_all(&mut self, now: Moment) {
        self.start_heartbeat(now);
        let nodes = self.setup.map.ids();
        for peer in nodes.cycle().skip(self.me.index()).take(self.peers.len()) {
            self.dial_next(peer, Urgency::Ordinary);
        }
    }

    /// Dials a peer next, unless an attempt is under way or the link is open.
    pub(super) fn dial_next(&mut self, peer: NodeId, urgency: Urgency) {
        let entry = &mut self.peers[peer.index()];
        let promoted = entry.dial == Dial::Queued(Urgency::Ordinary) && urgency == Urgency::Urgent;
        if promoted || matches!(entry.dial, Dial::Waiting(_)) {
            entry.failures = 0;
            self.queue_dial(peer, urgency);
        }
    }

    /// Dials everybody anew. A stream that is open stays in use until the new one is up: a domain that is UP stays so.
    pub(super) fn redial(&mut self) {
        for peer in self.setup.map.ids() {
            let entry = &mut self.peers[peer.index()];
            if let Dial::Open(heard) = entry.dial {
                let attempt = entry.attempt;
                entry.failures = 0;
                self.drop_kept(peer);
                self.peers[peer.index()].kept = Some(Kept { attempt, heard });
                self.queue_dial(peer, Urgency::Ordinary);
            } else {
                self.dial_next(peer, Urgency::Ordinary);
            }
        }
    }

    /// Closes the older stream, if there still is one.
    pub(super) fn drop_kept(&mut self, peer: NodeId) {
        if let Some(Kept { attempt, .. }) = self.peers[peer.index()].kept.take() {
            self.actions.push_back(Action::Close { stream: StreamId::Dialled { peer, attempt } });
        }
    }

    /// When the peer's dial timer is due: at the next attempt, or at the end of the one under way.
    pub(super) fn dial_due(&self, peer: &Peer) -> Option<Moment> {
        match peer.dial {
            Dial::Waiting(due) => due,
            Dial::Asking(attempt) => Some(attempt.until),
            Dial::Queued(_) | Dial::Open(_) => None,
        }
    }

    pub(super) fn dial_timeout(&mut self, peer: NodeId, at: Moment, now: Moment) {
        let entry = &self.peers[peer.index()];
        if self.dial_due(entry) != Some(at) {
            return;
        }
        match entry.dial {
            Dial::Waiting(_) => self.queue_dial(peer, Urgency::Ordinary),
            Dial::Asking(Attempt { stage, .. }) => {
                let stream = StreamId::Dialled { peer, attempt: entry.attempt };
                self.actions.push_back(Action::Close { stream });
                let (cause, pace) = match stage {
                    Stage::Reaching => (Cause::Unreachable(Unreachable::TimedOut), Pace::Doubling),
                    Stage::Reached => (Cause::Unreachable(Unreachable::Unanswered), Pace::Doubling),
                    Stage::Authenticating => {
                        let why = AuthFailure::TimedOut;
                        (Cause::Unauthenticated(why), Pace::after(why))
                    }
                };
                self.fail(peer, cause, pace, now);
            }
            Dial::Queued(_) | Dial::Open(_) => {}
        }
    }

    pub(super) fn grace_timeout(&mut self, peer: NodeId, at: Moment, now: Moment) {
        let entry = &mut self.peers[peer.index()];
        if entry.grace != Some(at) {
            return;
        }
        entry.grace = None;
        let due = entry.acquaintance.take_clean_up();
        let instance = entry.acquaintance.instance();
        self.clean_up(peer, instance, due, CleanUpReason::GraceOver);
        self.turn(peer, LinkEvent::CleanedUp, now);
    }

    pub(super) fn handle_dial_failed(&mut self, dialled: (NodeId, u32), why: DialFailure, now: Moment) {
        if let Some((peer, _)) = self.asking(dialled) {
            let (cause, pace) = match why {
                DialFailure::NameUnknown => (Cause::NameUnknown, Pace::Doubling),
                DialFailure::Unreachable(why) => (Cause::Unreachable(why), Pace::Doubling),
                DialFailure::Unauthenticated(why) => (Cause::Unauthenticated(why), Pace::after(why)),
                DialFailure::Violation(how) => (Cause::Violation(how), Pace::Doubling),
            };
            self.fail(peer, cause, pace, now);
        }
    }

    /// Nothing that others see changes by it, only what a time-out will have meant.
    pub(super) fn handle_reached(&mut self, dialled: (NodeId, u32)) {
        let (peer, attempt) = dialled;
        let Some(entry) = self.peers.get_mut(peer.index()).filter(|entry| entry.attempt == attempt) else {
            return;
        };
        if let Dial::Asking(Attempt { stage: stage @ Stage::Reaching, .. }) = &mut entry.dial {
            *stage = Stage::Reached;
        }
    }

    pub(super) fn handle_authentication(&mut self, dialled: (NodeId, u32), now: Moment) {
        if let Some((peer, since)) = self.asking(dialled) {
            let until = now + self.setup.timing.auth_deadline;
            self.set_dial(peer, Dial::Asking(Attempt { since, until, stage: Stage::Authenticating }));
            self.timers.arm(until, peer, Timer::Dial);
            self.turn(peer, LinkEvent::AuthenticationStarted, now);
        }
    }

    pub(super) fn handle_answer(&mut self, dialled: (NodeId, u32), answer: Answer, now: Moment) {
        let Some((peer, asked)) = self.asking(dialled) else {
            let stream = StreamId::Dialled { peer: dialled.0, attempt: dialled.1 };
            self.actions.push_back(Action::Close { stream });
            return;
        };
        match answer {
            Answer::Hello(hello) => self.judge_hello(peer, &hello, asked, now),
            Answer::Refusal(refusal) => self.take_refusal(peer, refusal, asked, now),
        }
    }

    /// The end of an open link, for whatever reason.
    pub(super) fn lose(&mut self, peer: NodeId, cause: Cause, now: Moment) {
        self.peers[peer.index()].failures = 0;
        self.part(peer, (LinkEvent::Lost, cause), Pace::Doubling, now);
    }

    /// Cleans up after an instance if that is due.
    pub(super) fn clean_up(
        &mut self,
        peer: NodeId,
        instance: Option<InstanceId>,
        due: CleanUp,
        reason: CleanUpReason,
    ) {
        match (instance, due) {
            (Some(instance), CleanUp::Due) => {
                self.actions.push_back(Action::CleanUp { peer, instance, reason });
            }
            (_, CleanUp::Done) | (None, CleanUp::Due) => {}
        }
    }

    /// Another instance has taken a peer's place: everything that hung on the old one goes.
    pub(super) fn succeed(&mut self, peer: NodeId, old: InstanceId, due: CleanUp, now: Moment) {
        self.drop_connected(peer, now);
        let entry = &mut self.peers[peer.index()];
        let new = entry.acquaintance.instance();
        entry.report = None;
        entry.grace = None;
        if let Some(stale) = entry.accepted.take_if(|accepted| Some(accepted.instance) != new) {
            let stream = StreamId::Accepted { peer, serial: stale.serial };
            self.actions.push_back(Action::Close { stream });
        }
        if let Some(new) = new {
            self.actions.push_back(Action::Note(Note::NewInstance { peer, old, new }));
        }
        self.clean_up(peer, Some(old), due, CleanUpReason::NewInstance);
        self.turn(peer, LinkEvent::CleanedUp, now);
    }

    /// The peer and the time of the question, if the attempt is the one under way.
    fn asking(&self, (peer, attempt): (NodeId, u32)) -> Option<(NodeId, Moment)> {
        let entry = self.peers.get(peer.index()).filter(|entry| entry.attempt == attempt)?;
        match entry.dial {
            Dial::Asking(attempt) => Some((peer, attempt.since)),
            Dial::Waiting(_) | Dial::Queued(_) | Dial::Open(_) => None,
        }
    }

    /// Judges the introduction of who answered at the peer's address.
    fn judge_hello(&mut self, peer: NodeId, hello: &Arc<Hello>, asked: Moment, now: Moment) {
        let stream = StreamId::Dialled { peer, attempt: self.peers[peer.index()].attempt };
        if let Some((event, cause)) = self.objection(peer, hello) {
            self.actions.push_back(Action::Close { stream });
            self.part(peer, (event, cause), Pace::Slow, now);
            return;
        }
        match self.peers[peer.index()].acquaintance.learn(hello, Terms::Member, asked, now) {
            Evidence::First | Evidence::Same => self.connect(peer, stream, hello.instance(), now),
            Evidence::Successor { old, clean_up } => {
                self.succeed(peer, old, clean_up, now);
                self.connect(peer, stream, hello.instance(), now);
            }
            Evidence::Ended => {
                self.actions.push_back(Action::Close { stream });
                self.fail(peer, Cause::Violation(Violation::EndedInstance), Pace::Doubling, now);
            }
            Evidence::Inconclusive => {
                self.actions.push_back(Action::Note(Note::Inconclusive { peer }));
                self.actions.push_back(Action::Close { stream });
                self.fail(peer, Cause::ConnectionReset, Pace::Doubling, now);
            }
        }
    }

    /// What is wrong with an introduction that came from the peer's address, if anything.
    fn objection(&self, peer: NodeId, hello: &Hello) -> Option<(LinkEvent, Cause)> {
        let (ours, theirs) = (self.hello().get(), hello.get());
        if ours.token != theirs.token {
            return Some((LinkEvent::Lost, Cause::OtherDomain));
        }
        if ours.protocol != theirs.protocol || ours.driver != theirs.driver {
            return Some((LinkEvent::RefusedVersion, self.version_cause(hello)));
        }
        if ours.digest != theirs.digest {
            let differences = Arc::new([]);
            return Some((LinkEvent::RefusedMap, Cause::MapDiffers { differences }));
        }
        let impostor = peer == self.me && ours.instance != theirs.instance;
        if theirs.node != peer || impostor {
            return Some((LinkEvent::RefusedMap, Cause::NotAtItsAddress { claimed: theirs.node.number() }));
        }
        None
    }

    fn connect(&mut self, peer: NodeId, stream: StreamId, instance: InstanceId, now: Moment) {
        let entry = &mut self.peers[peer.index()];
        let was_connected = entry.link == Link::Connected;
        entry.failures = 0;
        entry.grace = None;
        entry.cause = None;
        entry.times += u32::from(!was_connected);
        let times = entry.times;
        self.set_dial(peer, Dial::Open(now));
        self.turn(peer, LinkEvent::Admitted, now);
        self.recount(peer);
        if !was_connected {
            self.actions.push_back(Action::Note(Note::LinkUp { peer, instance, times }));
        }
        // The far end takes this node's instance for living only when something follows the hello that it answered.
        let message = PeerMessage::Report(self.newest_report());
        self.actions.push_back(Action::Send { stream, message });
    }

    /// A link that counted as connected was to an instance that has ended.
    fn drop_connected(&mut self, peer: NodeId, now: Moment) {
        let entry = &mut self.peers[peer.index()];
        if entry.link != Link::Connected {
            return;
        }
        entry.cause = Some(Box::new(Cause::ConnectionReset));
        let is_open = matches!(entry.dial, Dial::Open(_));
        self.drop_kept(peer);
        if is_open {
            let entry = &self.peers[peer.index()];
            let stream = StreamId::Dialled { peer, attempt: entry.attempt };
            self.set_dial(peer, Dial::Waiting(None));
            self.actions.push_back(Action::Close { stream });
        }
        self.actions.push_back(Action::Note(Note::LinkLost { peer, cause: Cause::ConnectionReset }));
        self.turn(peer, LinkEvent::Lost, now);
        self.recount(peer);
    }

    fn take_refusal(&mut self, peer: NodeId, refusal: Refusal, asked: Moment, now: Moment) {
        let pace = if refusal == Refusal::Unproven { Pace::Authentication } else { Pace::Slow };
        let (event, cause, by) = match refusal {
            Refusal::Version { by } => (LinkEvent::RefusedVersion, self.version_cause(&by), Some(by)),
            Refusal::Map { by, entries, len } => {
                let differences = self.setup.map.differences(&entries, len, SHOWN_DIFFERENCES).into();
                (LinkEvent::RefusedMap, Cause::MapDiffers { differences }, Some(by))
            }
            Refusal::NotAtItsAddress { by } => (LinkEvent::RefusedMap, Cause::AddressRefused, Some(by)),
            Refusal::OtherDomain => (LinkEvent::Lost, Cause::OtherDomain, None),
            Refusal::EndedInstance => (LinkEvent::Lost, Cause::Violation(Violation::EndedInstance), None),
            Refusal::Leaving => (LinkEvent::Lost, Cause::Leaving, None),
            Refusal::Unproven => (LinkEvent::Lost, Cause::Unauthenticated(AuthFailure::Refused), None),
            Refusal::AddressUnknown => (LinkEvent::RefusedMap, Cause::AddressRefused, None),
        };
        self.actions.push_back(Action::Close {
            stream: StreamId::Dialled { peer, attempt: self.peers[peer.index()].attempt },
        });
        if let Some(by) = by.filter(|by| by.get().token == self.hello().get().token) {
            self.take_refuser(peer, &by, asked, now);
        }
        self.part(peer, (event, cause), pace, now);
    }

    /// Whoever turned this node away holds the peer's address, so another instance that was there has ended.
    fn take_refuser(&mut self, peer: NodeId, by: &Arc<Hello>, asked: Moment, now: Moment) {
        let evidence = self.peers[peer.index()].acquaintance.learn(by, Terms::Refused, asked, now);
        if let Evidence::Successor { old, clean_up } = evidence {
            self.succeed(peer, old, clean_up, now);
        }
    }

    /// That `theirs` runs other versions than this node.
    pub(super) fn version_cause(&self, theirs: &Hello) -> Cause {
        Cause::VersionDiffers {
            ours: self.hello().version_text().into(),
            theirs: theirs.version_text().into(),
        }
    }

    /// An attempt failed without a word from a living peer.
    fn fail(&mut self, peer: NodeId, cause: Cause, pace: Pace, now: Moment) {
        self.part(peer, (LinkEvent::Lost, cause), pace, now);
    }

    /// The one way from an attempt or an open link back to waiting.
    fn part(&mut self, peer: NodeId, (event, cause): (LinkEvent, Cause), pace: Pace, now: Moment) {
        self.drop_kept(peer);
        let entry = &mut self.peers[peer.index()];
        let was_connected = entry.link == Link::Connected;
        let asked = match entry.dial {
            Dial::Asking(attempt) => Some(attempt.since),
            Dial::Waiting(_) | Dial::Queued(_) | Dial::Open(_) => None,
        };
        if was_connected {
            self.actions.push_back(Action::Note(Note::LinkLost { peer, cause: cause.clone() }));
        } else if asked.is_some() {
            let news = !entry.outranks(&cause) && entry.cause.as_deref() != Some(&cause);
            let attempt = entry.attempt;
            let failed = Note::DialFailed { peer, attempt, cause: cause.clone(), news };
            self.actions.push_back(Action::Note(failed));
        }
        if !entry.outranks(&cause) {
            entry.cause = Some(Box::new(cause));
        }
        self.turn(peer, event, now);
        if was_connected {
            self.start_grace(peer, now);
        }
        self.schedule(peer, asked, pace, now);
        self.recount(peer);
        self.table_lost(peer, now);
    }

    /// Sets the next attempt. A peer that said hello while the failed attempt was under way has come up since.
    fn schedule(&mut self, peer: NodeId, asked: Option<Moment>, pace: Pace, now: Moment) {
        let wait = self.wait(self.peers[peer.index()].failures, pace);
        let entry = &mut self.peers[peer.index()];
        entry.failures = entry.failures.saturating_add(1);
        let came = entry.arriving.as_ref().map(|arriving| arriving.asked);
        let came = came.max(entry.accepted.as_ref().map(|accepted| accepted.came));
        let has_come = pace != Pace::Slow && asked.is_some() && came > asked;
        if has_come {
            self.queue_dial(peer, Urgency::Urgent);
            return;
        }
        self.set_dial(peer, Dial::Waiting(Some(now + wait)));
        self.timers.arm(now + wait, peer, Timer::Dial);
    }

    fn wait(&mut self, failures: u32, pace: Pace) -> Duration {
        let longest = self.setup.timing.retry_max;
        let first = self.setup.timing.first_retry(self.peers.len());
        let doubled = first.saturating_mul(1 << failures.min(16)).min(longest);
        let wait = match pace {
            Pace::Doubling => doubled,
            Pace::Slow => longest,
            Pace::Authentication => self.setup.timing.auth_retry.unwrap_or(doubled),
        };
        self.jitter.shorten(wait)
    }

    /// Starts the time after which what came from a lost peer is cleaned up.
    pub(super) fn start_grace(&mut self, peer: NodeId, now: Moment) {
        match self.setup.timing.grace {
            Grace::Forever => {}
            Grace::For(time) => {
                self.peers[peer.index()].grace = Some(now + time);
                if time.is_zero() {
                    self.grace_timeout(peer, now, now);
                } else {
                    self.timers.arm(now + time, peer, Timer::Grace);
                }
            }
        }
    }
}
