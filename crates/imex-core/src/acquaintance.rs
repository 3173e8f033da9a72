//! Which instance of a peer is the living one.
//!
//! A restarted daemon is a new instance, and everything that came from the old one is void. But answers travel: one
//! that an instance gave before it died can arrive after its successor has been met. Taking the late one for the newer
//! would clean up after a living peer. So every piece of evidence is dated twice: by when this node *asked* for it
//! (sent the hello that it answers) and by when it was *learned*. Whoever answered was alive after the question.
//! Two instances of one node never live at the same time, so evidence of another instance proves a restart if it was
//! asked for after the known one was last met; otherwise the two cannot be put in order, and the only right thing is
//! to ask again.

use std::sync::Arc;

use crate::timing::ENDED_INSTANCES;
use crate::{Hello, InstanceId, Moment};

/// What this node knows of a peer's instances.
#[derive(Debug, Default)]
pub(crate) struct Acquaintance {
    known: Option<Arc<Hello>>,
    learned: Moment,
    cleaned: bool,
    ended: Vec<InstanceId>,
}

/// What a piece of evidence says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// The first instance of this peer.
    First,
    /// The known instance.
    Same,
    /// Another instance has taken the place of the known one.
    Successor {
        /// The instance that is gone.
        old: InstanceId,
        /// Whether what came from it is still to be cleaned up.
        clean_up: CleanUp,
    },
    /// An instance that is known to have ended.
    Ended,
    /// Another instance, but nobody can tell which of the two is the later one.
    Inconclusive,
}

/// Whether there is something to clean up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CleanUp {
    /// What came from the instance is still there.
    Due,
    /// It has been cleaned up, or nothing ever came.
    Done,
}

/// On what terms an instance was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Terms {
    /// As a member: things may come from it.
    Member,
    /// As somebody who was turned away: nothing comes from it.
    Refused,
}

impl Acquaintance {
    /// The living instance, as far as is known.
    pub(crate) fn hello(&self) -> Option<&Arc<Hello>> {
        self.known.as_ref()
    }

    /// The living instance, as far as is known.
    pub(crate) fn instance(&self) -> Option<InstanceId> {
        self.known.as_ref().map(|hello| hello.instance())
    }

    /// Whether an instance is known to have ended.
    pub(crate) fn has_ended(&self, instance: InstanceId) -> bool {
        self.ended.contains(&instance)
    }

    /// Takes in evidence that was asked for at `asked` and arrives at `now`.
    pub(crate) fn learn(&mut self, hello: &Arc<Hello>, terms: Terms, asked: Moment, now: Moment) -> Evidence {
        let instance = hello.instance();
        if self.has_ended(instance) {
            return Evidence::Ended;
        }
        let Some(old) = self.instance() else {
            self.accept(hello, terms, now);
            return Evidence::First;
        };
        if old == instance {
            self.accept(hello, terms, now);
            return Evidence::Same;
        }
        if asked <= self.learned {
            return Evidence::Inconclusive;
        }
        let clean_up = self.take_clean_up();
        self.end(old);
        self.cleaned = false;
        self.accept(hello, terms, now);
        Evidence::Successor { old, clean_up }
    }

    /// Whether there is something to clean up after the known instance; from now on there is not.
    pub(crate) fn take_clean_up(&mut self) -> CleanUp {
        if self.known.is_none() || self.cleaned {
            return CleanUp::Done;
        }
        self.cleaned = true;
        CleanUp::Due
    }

    /// Takes in that the known instance said it was leaving: whatever still comes from it is late.
    pub(crate) fn leave(&mut self) -> CleanUp {
        if let Some(instance) = self.instance() {
            self.end(instance);
        }
        self.take_clean_up()
    }

    fn accept(&mut self, hello: &Arc<Hello>, terms: Terms, now: Moment) {
        let met_before = self.instance() == Some(hello.instance());
        match terms {
            // An instance that was lost beyond the grace time and comes back brings new things.
            Terms::Member => self.cleaned = false,
            Terms::Refused if met_before => {}
            Terms::Refused => self.cleaned = true,
        }
        self.known = Some(Arc::clone(hello));
        self.learned = now;
    }

    fn end(&mut self, instance: InstanceId) {
        if self.has_ended(instance) {
            return;
        }
        if self.ended.len() == ENDED_INSTANCES {
            self.ended.remove(0);
        }
        self.ended.push(instance);
    }
}

#[cfg(test)]
mod tests;
