//! Carrying out what the machine asks for.

use std::collections::BTreeSet;
use std::sync::Arc;

use imex_config::chain;
use imex_core::cause::Violation;
use imex_core::input::{Closure, DialFailure, StreamId};
use imex_core::{Action, Input, Moment, NodeId, PeerMessage, Refusal};

use super::streams::Sent;
use super::{Driver, Phase};
use crate::peer::addresses::Route;
use crate::peer::dial::Try;
use crate::stats::Counter;

impl Driver {
    /// Performs actions until there are none; performing one may bring more.
    pub(super) fn perform_all(&mut self, now: Moment) {
        while let Some(action) = self.machine.poll_action() {
            self.perform(action, now);
        }
        self.publish(now);
    }

    fn perform(&mut self, action: Action, now: Moment) {
        match action {
            Action::Dial { peer, attempt } => self.dial(peer, attempt, now),
            Action::Admit { stream } => self.admit(stream),
            Action::Refuse { stream, refusal } => self.refuse(stream, refusal),
            Action::Send { stream, message } => self.send(stream, &message, now),
            Action::Close { stream } => {
                self.waiting.remove(&stream);
                self.streams.close(stream);
            }
            Action::CleanUp { peer, instance, reason } => {
                self.stats.count(Counter::CleanUps);
                self.notes.clean_up(peer, instance, reason);
            }
            Action::RecordImporters(importers) => self.record(&importers),
            Action::StartAuthServer => self.start_auth_server(),
            Action::Reload { peer } => self.reload.told(peer),
            Action::AttachGpu => self.machine.handle(Input::GpuReady, now),
            Action::AnswerTable { ticket, table } => {
                if let Some(reply) = self.asked.remove(&ticket) {
                    // Whoever asked may have gone.
                    let _ = reply.send(Ok(table));
                }
            }
            Action::Exit => self.phase = Phase::Ended,
            Action::Note(note) => self.notes.take(&note, &mut self.stats),
        }
    }

    fn dial(&mut self, peer: NodeId, attempt: u32, now: Moment) {
        let route = self.book.route(peer, now);
        if route == Route::Unknown {
            let why = DialFailure::NameUnknown;
            self.machine.handle(Input::DialFailed { peer, attempt, why }, now);
            return;
        }
        let task = tokio::spawn(Arc::clone(&self.dialler).dial(Try { peer, attempt }, route));
        self.streams.dialling(StreamId::Dialled { peer, attempt }, task);
    }

    fn admit(&mut self, stream: StreamId) {
        let Some(arrival) = self.waiting.remove(&stream) else { return };
        self.stats.count(Counter::AdmittedHellos);
        let link = arrival.incoming.admit(self.machine.hello());
        self.streams.admit(stream, link, &self.outlet, arrival.place);
    }

    fn refuse(&mut self, stream: StreamId, refusal: Refusal) {
        let Some(arrival) = self.waiting.remove(&stream) else { return };
        self.stats.count(counter(&refusal));
        tokio::spawn(async move {
            arrival.incoming.refuse(&refusal).await;
            drop(arrival.place);
        });
    }

    fn send(&mut self, stream: StreamId, message: &PeerMessage, now: Moment) {
        match self.streams.send(stream, message) {
            Sent::Queued => self.stats.sent(message.into()),
            Sent::StreamGone => {}
            Sent::QueueFull => {
                self.streams.close(stream);
                self.take_closed(stream, Closure::Violation(Violation::NotReading), now);
            }
        }
    }

    fn record(&mut self, importers: &BTreeSet<NodeId>) {
        let Err(error) = self.persist.record(importers) else { return };
        let error = chain(&error);
        if importers.is_empty() {
            tracing::warn!(%error, "That nobody imports from this node could not be stored; the next run may wait in vain");
        } else {
            tracing::error!(
                %error,
                "The nodes that import from this one could not be stored; after an unclean end it will not wait for them"
            );
        }
    }
}

fn counter(refusal: &Refusal) -> Counter {
    match refusal {
        Refusal::Version { .. } => Counter::RefusedVersion,
        Refusal::Map { .. } => Counter::RefusedMap,
        Refusal::NotAtItsAddress { .. } => Counter::RefusedNotAtItsAddress,
        Refusal::OtherDomain => Counter::RefusedOtherDomain,
        Refusal::EndedInstance => Counter::RefusedEndedInstance,
        Refusal::Leaving => Counter::RefusedLeaving,
        Refusal::Unproven => Counter::RefusedUnproven,
        Refusal::AddressUnknown => Counter::RefusedAddressUnknown,
    }
}
