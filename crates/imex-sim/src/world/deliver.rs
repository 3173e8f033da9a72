//! Packets that arrive.

use imex_core::Input;
use imex_core::cause::{AuthFailure, Unreachable};
use imex_core::input::{Answer, Closure, DialFailure, Source, StreamId};

use super::World;
use crate::Address;
use crate::event::{Event, Packet};
use crate::host::Config;
use crate::invariants::Violation;
use crate::stream::{Side, Stage, StreamKey};

/// What becomes of a packet at the host that it was sent to.
enum Fate {
    /// Nobody is there to take it or to answer.
    Vanishes,
    /// The kernel answers that nobody wants it.
    Bounces(Unreachable),
    /// The daemon is stopped; the kernel keeps it.
    Waits(Address),
    /// The daemon takes it.
    Taken(Address),
}

impl World {
    /// A packet arrives at the host of one end of its stream.
    pub(super) fn arrive(
        &mut self,
        key: StreamKey,
        toward: Side,
        packet: Packet,
    ) -> Result<(), Box<Violation>> {
        match self.fate(key, toward, &packet) {
            Fate::Vanishes => {}
            Fate::Bounces(why) => self.send(key, toward.other(), Packet::End(why)),
            Fate::Waits(address) => {
                let event = Event::Packet { stream: key, toward, packet };
                if let Some(process) = self.hosts[address.index()].process.as_mut() {
                    process.inbox.push_back(event);
                }
                return Ok(());
            }
            Fate::Taken(address) => {
                if let Some(input) = self.open(key, toward, packet) {
                    self.hand(address, input)?;
                }
            }
        }
        self.streams.get_mut(key).travelling -= 1;
        self.streams.release_if_over(key);
        Ok(())
    }

    fn fate(&self, key: StreamKey, toward: Side, packet: &Packet) -> Fate {
        let end = self.streams.get(key).end(toward);
        let Some(host) = self.hosts.get(end.address.index()).filter(|host| host.powered) else {
            return Fate::Vanishes;
        };
        let dial = matches!(packet, Packet::Dial | Packet::Proof);
        match &host.process {
            None if dial => Fate::Bounces(Unreachable::PortClosed),
            Some(process) if dial || end.open => {
                if process.paused {
                    Fate::Waits(end.address)
                } else {
                    Fate::Taken(end.address)
                }
            }
            Some(_) | None if matches!(packet, Packet::End(_) | Packet::Refusal(_) | Packet::Denied(_)) => {
                Fate::Vanishes
            }
            Some(_) | None => Fate::Bounces(Unreachable::Broken),
        }
    }

    /// What a packet means to the daemon that takes it.
    fn open(&mut self, key: StreamKey, side: Side, packet: Packet) -> Option<Input> {
        let stream = self.streams.get(key);
        let (peer, attempt) = (stream.peer, stream.attempt);
        match packet {
            Packet::Dial => self.ask_for_proof(key),
            Packet::Prove => {
                self.send(key, Side::Acceptor, Packet::Proof);
                Some(Input::AuthenticationStarted { peer, attempt })
            }
            Packet::Proof => self.judge_proof(key),
            Packet::Denied(why) => {
                self.close_end(key, Side::Dialler);
                Some(Input::DialFailed { peer, attempt, why: DialFailure::Unauthenticated(why) })
            }
            Packet::Welcome => {
                let acceptor = stream.acceptor;
                let run = &self.hosts[acceptor.address.index()].runs[acceptor.run as usize];
                let answer = Answer::Hello(run.hello.clone());
                self.streams.get_mut(key).stage = Stage::Established;
                Some(Input::Answered { peer, attempt, answer })
            }
            Packet::Refusal(refusal) => {
                self.close_end(key, Side::Dialler);
                let answer = Answer::Refusal(*refusal);
                Some(Input::Answered { peer, attempt, answer })
            }
            Packet::Message(message) => {
                if side == Side::Acceptor && !stream.confirmed {
                    self.confirmed = Some((stream.claimed, stream.dialler.run));
                    self.streams.get_mut(key).confirmed = true;
                }
                let stream = self.stream_id(key, side);
                Some(Input::Received { stream, message })
            }
            Packet::End(why) => Some(self.ended(key, side, why)),
        }
    }

    /// A dial has arrived. Where both sides want to see a proof it is asked for; where only one does, they cannot talk.
    fn ask_for_proof(&mut self, key: StreamKey) -> Option<Input> {
        let (dialler, acceptor) = self.configs(key)?;
        match (dialler.security, acceptor.security) {
            (false, false) => self.accept(key),
            (true, true) => {
                self.send(key, Side::Dialler, Packet::Prove);
                None
            }
            (true, false) | (false, true) => {
                self.send(key, Side::Dialler, Packet::Denied(AuthFailure::NotOffered));
                None
            }
        }
    }

    fn judge_proof(&mut self, key: StreamKey) -> Option<Input> {
        let (dialler, acceptor) = self.configs(key)?;
        if dialler.authority == acceptor.authority {
            return self.accept(key);
        }
        self.send(key, Side::Dialler, Packet::Denied(AuthFailure::OtherAuthority));
        None
    }

    /// What the two daemons of a stream run with, the dialler's first.
    fn configs(&self, key: StreamKey) -> Option<(Config, Config)> {
        let stream = self.streams.get(key);
        let acceptor = &self.hosts[stream.acceptor.address.index()];
        let running = acceptor.process.as_ref()?.run;
        let dialler = &self.hosts[stream.dialler.address.index()].runs[stream.dialler.run as usize];
        Some((dialler.config, acceptor.runs[running as usize].config))
    }

    /// Makes a daemon take in a dial.
    fn accept(&mut self, key: StreamKey) -> Option<Input> {
        let address = self.streams.get(key).acceptor.address;
        let host = &mut self.hosts[address.index()];
        let process = host.process.as_mut()?;
        let serial = u32::try_from(process.accepted.len()).expect("fewer than 2^32 streams in one run");
        process.accepted.push(key);
        let map = &host.runs[process.run as usize].map;
        let stream = self.streams.get_mut(key);
        stream.stage = Stage::Arrived;
        stream.serial = serial;
        stream.acceptor.open = true;
        stream.acceptor.run = process.run;
        let source = if map.address(stream.claimed) == Some(stream.dialler.address) {
            Source::Matches
        } else {
            Source::Differs
        };
        let dialler = stream.dialler;
        let hello = self.hosts[dialler.address.index()].runs[dialler.run as usize].hello.clone();
        Some(Input::Arrived { serial, hello, source })
    }

    fn ended(&mut self, key: StreamKey, side: Side, why: Unreachable) -> Input {
        let id = self.stream_id(key, side);
        let answered = self.streams.get(key).stage >= Stage::Established;
        self.close_end(key, side);
        match id {
            StreamId::Dialled { peer, attempt } if !answered => {
                let why = DialFailure::Unreachable(why);
                Input::DialFailed { peer, attempt, why }
            }
            StreamId::Dialled { .. } | StreamId::Accepted { .. } => {
                Input::Closed { stream: id, why: Closure::Reset }
            }
        }
    }
}
