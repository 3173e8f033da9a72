//! The queue between whoever sends and the task that drives the link: bytes, not messages.
//!
//! A message is encoded when it is queued. So the bound is in bytes and exact, a message costs no allocation of its
//! own, and what was queued between two turns of the driver leaves as one piece.

use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Waker};

use bytes::{Bytes, BytesMut};
use prost::Message;

use crate::framing;
use crate::link::SendError;

/// The sending end; one is counted per clone.
#[derive(Debug)]
pub(crate) struct OutboxSender(Arc<Outbox>);

/// The driver's end.
#[derive(Debug)]
pub(crate) struct OutboxReceiver(Arc<Outbox>);

#[derive(Debug)]
struct Outbox {
    bound: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    queued: BytesMut,
    driver: Option<Waker>,
    senders: usize,
    receiver: Receiver,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Receiver {
    Alive,
    Gone,
}

/// What the driver finds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Queued {
    /// These bytes, all that was queued; maybe none. More may come.
    Bytes(Bytes),
    /// These bytes, maybe none, and nothing will come after them.
    Last(Bytes),
}

/// An outbox that holds at most `bound` bytes.
pub(crate) fn outbox(bound: usize) -> (OutboxSender, OutboxReceiver) {
    let state = State { queued: BytesMut::new(), driver: None, senders: 1, receiver: Receiver::Alive };
    let state = Mutex::new(state);
    let outbox = Arc::new(Outbox { bound, state });
    (OutboxSender(Arc::clone(&outbox)), OutboxReceiver(outbox))
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no holder of the lock panics")
    }
}

impl OutboxSender {
    /// Encodes and queues a message, and wakes the driver if it sleeps.
    pub(crate) fn push(&self, message: &impl Message) -> Result<(), SendError> {
        let mut state = self.0.lock();
        if state.receiver == Receiver::Gone {
            return Err(SendError::Closed);
        }
        if state.queued.len() + framing::PREFIX + message.encoded_len() > self.0.bound {
            return Err(SendError::Full);
        }
        framing::frame(message, &mut state.queued);
        let driver = state.driver.take();
        drop(state);
        if let Some(driver) = driver {
            driver.wake();
        }
        Ok(())
    }
}

impl Clone for OutboxSender {
    fn clone(&self) -> Self {
        self.0.lock().senders += 1;
        OutboxSender(Arc::clone(&self.0))
    }
}

impl Drop for OutboxSender {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.senders -= 1;
        if state.senders > 0 {
            return;
        }
        let driver = state.driver.take();
        drop(state);
        if let Some(driver) = driver {
            driver.wake();
        }
    }
}

impl OutboxReceiver {
    /// Takes everything that is queued, and asks to be woken when more comes.
    pub(crate) fn take(&self, cx: &Context<'_>) -> Queued {
        let mut state = self.0.lock();
        let bytes = std::mem::take(&mut state.queued).freeze();
        if state.senders == 0 {
            return Queued::Last(bytes);
        }
        if !state.driver.as_ref().is_some_and(|known| known.will_wake(cx.waker())) {
            state.driver = Some(cx.waker().clone());
        }
        Queued::Bytes(bytes)
    }
}

impl Drop for OutboxReceiver {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.receiver = Receiver::Gone;
        state.queued = BytesMut::new();
        state.driver = None;
    }
}
