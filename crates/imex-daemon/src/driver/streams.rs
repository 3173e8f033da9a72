//! The streams that are open or being dialled, each with its task.

use std::collections::BTreeMap;

use imex_core::PeerMessage;
use imex_core::input::StreamId;
use imex_wire::{Link, LinkSender, SendError};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;

use crate::peer::{Outlet, listen};

/// The streams of one daemon: at most a few per node of the map.
#[derive(Debug, Default)]
pub(super) struct Streams(BTreeMap<StreamId, Stream>);

#[derive(Debug)]
struct Stream {
    task: JoinHandle<()>,
    // `None` while it is dialled.
    sender: Option<LinkSender>,
}

impl Streams {
    /// A dial has begun.
    pub(super) fn dialling(&mut self, stream: StreamId, task: JoinHandle<()>) {
        self.0.insert(stream, Stream { task, sender: None });
    }

    /// A dial has brought a link, which is read from now on. False, and the link is closed, if the dial was given up.
    #[must_use]
    pub(super) fn connect(&mut self, stream: StreamId, link: Link, outlet: &Outlet) -> bool {
        let Some(entry) = self.0.get_mut(&stream) else { return false };
        entry.sender = Some(link.sender);
        entry.task = tokio::spawn(listen(stream, link.receiver, outlet.clone()));
        true
    }

    /// An accepted stream was admitted and is read from now on; `place` is given back at its end.
    pub(super) fn admit(
        &mut self,
        stream: StreamId,
        link: Link,
        outlet: &Outlet,
        place: OwnedSemaphorePermit,
    ) {
        let reading = listen(stream, link.receiver, outlet.clone());
        let task = tokio::spawn(async move {
            reading.await;
            drop(place);
        });
        self.0.insert(stream, Stream { task, sender: Some(link.sender) });
    }

    /// Queues a message; nothing happens if the stream is gone.
    pub(super) fn send(&self, stream: StreamId, message: &PeerMessage) -> Sent {
        let sender = self.0.get(&stream).and_then(|stream| stream.sender.as_ref());
        match sender.map(|sender| sender.send(message)) {
            Some(Ok(())) => Sent::Queued,
            Some(Err(SendError::Full)) => Sent::QueueFull,
            // Its task tells of the end.
            Some(Err(SendError::Closed)) | None => Sent::StreamGone,
        }
    }

    /// Closes a stream, or gives up a dial, at once.
    pub(super) fn close(&mut self, stream: StreamId) {
        if let Some(stream) = self.0.remove(&stream) {
            stream.task.abort();
        }
    }

    /// The stream's task has ended by itself.
    pub(super) fn forget(&mut self, stream: StreamId) {
        self.0.remove(&stream);
    }

    /// Gives up every dial, and ends every stream as soon as what is queued has left.
    pub(super) async fn finish(&mut self) {
        let mut tasks = Vec::with_capacity(self.0.len());
        for Stream { task, sender } in std::mem::take(&mut self.0).into_values() {
            match sender {
                Some(_) => tasks.push(task),
                None => task.abort(),
            }
        }
        for task in tasks {
            // A task that panicked has nothing left to send.
            let _ = task.await;
        }
    }
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// It will leave.
    Queued,
    /// The peer does not read, and the bounded queue to it is full.
    QueueFull,
    /// There is no such stream any more.
    StreamGone,
}
