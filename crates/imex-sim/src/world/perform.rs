//! What daemons ask for.

use std::time::Duration;

use imex_core::input::StreamId;
use imex_core::{Action, NodeId, PeerMessage};

use super::World;
use crate::event::{Asked, Done, Event, Packet};
use crate::host::Disk;
use crate::invariants::{Invariant, Violation};
use crate::network::Address;
use crate::stream::{End, Side, Stage, Stream, StreamKey};

/// How long a daemon's own machine takes to set up security or attach to the driver.
const LOCAL_WORK: Duration = Duration::from_millis(1);

impl World {
    /// Does what the daemon at an address asks for.
    pub(super) fn perform(&mut self, address: Address, action: Action) -> Result<(), Box<Violation>> {
        self.log.write(self.now, Some(address), format_args!("> {}", Asked(&action)));
        match action {
            Action::Dial { peer, attempt } => self.dial(address, peer, attempt),
            Action::Admit { stream } => {
                let key = self.accepted(address, stream)?;
                self.streams.get_mut(key).stage = Stage::Admitted;
                self.send(key, Side::Dialler, Packet::Welcome);
                Ok(())
            }
            Action::Refuse { stream, refusal } => {
                let key = self.accepted(address, stream)?;
                self.streams.get_mut(key).stage = Stage::Refused;
                self.send(key, Side::Dialler, Packet::Refusal(Box::new(refusal)));
                self.close_end(key, Side::Acceptor);
                self.streams.release_if_over(key);
                Ok(())
            }
            Action::Send { stream, message } => self.say(address, stream, message),
            Action::Close { stream } => {
                if let Some((key, side)) = self.find(address, stream) {
                    self.hang_up(key, side);
                }
                self.touched.push(stream.peer());
                Ok(())
            }
            Action::CleanUp { peer, instance, reason } => {
                self.touched.push(peer);
                self.check_clean_up(address, peer, instance, reason)
            }
            Action::RecordImporters(importers) => {
                let host = &mut self.hosts[address.index()];
                let map = host.process.as_ref().map(|p| host.runs[p.run as usize].config.map);
                host.disk = Disk { importers, map: map.unwrap_or_default() };
                Ok(())
            }
            Action::StartAuthServer => self.work(address, Done::AuthServer),
            Action::Reload { .. } => Ok(()),
            Action::AttachGpu => self.work(address, Done::Gpu),
            Action::AnswerTable { ticket, table } => {
                self.hosts[address.index()].tables.push((ticket, table));
                Ok(())
            }
            Action::Exit => {
                // A clean end leaves nothing for the next run to wait for.
                self.hosts[address.index()].disk = Disk::default();
                self.end_process(address, Ending::Told);
                Ok(())
            }
            Action::Note(_) => Ok(()),
        }
    }

    #[expect(clippy::unnecessary_wraps, reason = "one arm of the match that performs actions")]
    fn work(&mut self, address: Address, what: Done) -> Result<(), Box<Violation>> {
        if let Some(process) = &self.hosts[address.index()].process {
            let run = process.run;
            self.queue.push(self.now + LOCAL_WORK, Event::Done { address, run, what });
        }
        Ok(())
    }

    fn dial(&mut self, address: Address, peer: NodeId, attempt: u32) -> Result<(), Box<Violation>> {
        self.counts.dials += 1;
        let host = &mut self.hosts[address.index()];
        let Some(process) = host.process.as_mut() else {
            return Ok(());
        };
        let run = &host.runs[process.run as usize];
        let Some(target) = run.map.address(peer) else {
            let detail = format!("dialled node {peer}, which its map does not have");
            return Err(self.violation(Invariant::StreamsAreKept, address, detail));
        };
        let held = process.dialled[peer.index()];
        if held != StreamKey::NONE {
            // A peer that is dialled anew is so beside one stream that is up, and no more.
            let anew = self.streams.get(held).stage == Stage::Established
                && process.kept[peer.index()] == StreamKey::NONE;
            if !anew {
                let detail = format!("dialled node {peer} while it held a dialled stream to it");
                return Err(self.violation(Invariant::StreamsAreKept, address, detail));
            }
            process.kept[peer.index()] = held;
        }
        let end = |address, run, open| End { address, run, open, latest: self.now };
        let key = self.streams.add(Stream {
            dialler: end(address, process.run, true),
            acceptor: end(target, 0, false),
            stage: Stage::Dialling,
            peer,
            claimed: run.hello.node(),
            attempt,
            serial: 0,
            spoken: false,
            confirmed: false,
            travelling: 0,
        });
        process.dialled[peer.index()] = key;
        self.send(key, Side::Acceptor, Packet::Dial);
        Ok(())
    }

    fn say(&mut self, address: Address, id: StreamId, message: PeerMessage) -> Result<(), Box<Violation>> {
        let Some((key, side)) = self.find(address, id) else {
            return Ok(());
        };
        let stream = self.streams.get_mut(key);
        let introduced = match side {
            Side::Dialler => stream.stage == Stage::Established,
            Side::Acceptor => matches!(stream.stage, Stage::Admitted | Stage::Established),
        };
        let report = matches!(message, PeerMessage::Report(_));
        let first = side == Side::Dialler && !stream.spoken;
        if !introduced || (first && !report) {
            let detail = format!("sent {message:?} on {id:?}, which is {:?}", stream.stage);
            return Err(self.violation(Invariant::HelloThenReport, address, detail));
        }
        stream.spoken |= side == Side::Dialler;
        self.counts.messages += 1;
        self.counts.reports += u64::from(report);
        self.send(key, side.other(), Packet::Message(message));
        Ok(())
    }

    /// The stream that a daemon answers for the first time.
    fn accepted(&self, address: Address, id: StreamId) -> Result<StreamKey, Box<Violation>> {
        let found = self.find(address, id).filter(|(key, _)| self.streams.get(*key).stage == Stage::Arrived);
        found.map(|(key, _)| key).ok_or_else(|| {
            let detail = format!("answered {id:?}, which does not wait for an answer");
            self.violation(Invariant::StreamsAreKept, address, detail)
        })
    }

    /// The stream that a daemon calls `id`, if its end of it is open.
    fn find(&self, address: Address, id: StreamId) -> Option<(StreamKey, Side)> {
        let process = self.hosts[address.index()].process.as_ref()?;
        match id {
            StreamId::Dialled { peer, attempt } => {
                let keys = [process.dialled.get(peer.index()), process.kept.get(peer.index())];
                let mut keys = keys.into_iter().flatten().filter(|key| **key != StreamKey::NONE);
                let key = keys.find(|key| self.streams.get(**key).attempt == attempt)?;
                Some((*key, Side::Dialler))
            }
            StreamId::Accepted { peer, serial } => {
                let key = *process.accepted.get(serial as usize).filter(|key| **key != StreamKey::NONE)?;
                (self.streams.get(key).claimed == peer).then_some((key, Side::Acceptor))
            }
        }
    }

    /// What a daemon calls the stream of which it holds this end.
    pub(super) fn stream_id(&self, key: StreamKey, side: Side) -> StreamId {
        let stream = self.streams.get(key);
        match side {
            Side::Dialler => StreamId::Dialled { peer: stream.peer, attempt: stream.attempt },
            Side::Acceptor => StreamId::Accepted { peer: stream.claimed, serial: stream.serial },
        }
    }

    /// Closes one end and tells the other.
    pub(super) fn hang_up(&mut self, key: StreamKey, side: Side) {
        self.close_end(key, side);
        let why = imex_core::cause::Unreachable::Broken;
        self.send(key, side.other(), Packet::End(why));
        self.streams.release_if_over(key);
    }

    /// Closes one end; the daemon that held it has no name for it any more.
    pub(super) fn close_end(&mut self, key: StreamKey, side: Side) {
        let stream = self.streams.get_mut(key);
        let (peer, serial) = (stream.peer, stream.serial);
        let end = stream.end_mut(side);
        end.open = false;
        let (address, run) = (end.address, end.run);
        let Some(process) = self.hosts[address.index()].process_of(run) else {
            return;
        };
        let name = match side {
            Side::Dialler if process.kept[peer.index()] == key => &mut process.kept[peer.index()],
            Side::Dialler => &mut process.dialled[peer.index()],
            Side::Acceptor => &mut process.accepted[serial as usize],
        };
        *name = StreamKey::NONE;
    }

    /// Ends the daemon at an address.
    pub(super) fn end_process(&mut self, address: Address, how: Ending) {
        let Some(process) = self.hosts[address.index()].process.as_mut() else {
            return;
        };
        let dialled = process.dialled.iter().chain(&process.kept).map(|key| (*key, Side::Dialler));
        let accepted = process.accepted.iter().map(|key| (*key, Side::Acceptor));
        let open: Vec<_> = dialled.chain(accepted).filter(|(key, _)| *key != StreamKey::NONE).collect();
        let inbox = std::mem::take(&mut process.inbox);
        for (key, side) in open {
            match how {
                Ending::Told => self.hang_up(key, side),
                Ending::Silent => {
                    self.close_end(key, side);
                    self.streams.release_if_over(key);
                }
            }
        }
        // What the kernel had kept for a stopped daemon meets the closed ends.
        for event in inbox {
            self.queue.push(self.now, event);
        }
        let ended = self.hosts[address.index()].process.take();
        self.sees_up -= usize::from(ended.is_some_and(|process| process.sees_up));
    }
}

/// How the end of a daemon reaches its peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Its kernel closes its streams.
    Told,
    /// Not at all.
    Silent,
}
