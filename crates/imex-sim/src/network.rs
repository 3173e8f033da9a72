//! The network between addresses: how long a packet takes, and whether it comes through.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::Chance;
use crate::event::Packet;
use crate::stream::{Side, StreamKey};

/// An address of the simulated network: one host, whichever daemon runs there.
///
/// Written as a number; node maps that name it write it as an address in 10.0.0.0/16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address(u16);

impl Address {
    /// The address with this number.
    pub const fn new(number: u16) -> Self {
        Address(number)
    }

    /// The address at a place in a list of all hosts.
    ///
    /// # Panics
    ///
    /// If there are more hosts than a node map has entries.
    pub fn at(index: usize) -> Self {
        Address(u16::try_from(index).expect("there are at most 65,534 hosts"))
    }

    /// The number.
    pub const fn number(self) -> u16 {
        self.0
    }

    /// The place in a list of all hosts.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.0, f)
    }
}

/// How long packets take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// The least.
    pub least: Duration,
    /// How much may be added, evenly spread. More than `least` makes streams overtake one another freely.
    pub spread: Duration,
}

impl Delay {
    /// One rack: 50 to 150 µs, the round trip through one switch and two kernels.
    pub const RACK: Delay = Delay { least: Duration::from_micros(50), spread: Duration::from_micros(100) };

    /// The longest.
    pub fn most(self) -> Duration {
        self.least + self.spread
    }
}

/// What a cut wire does with packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    /// They vanish. What was sent on an open stream is sent again once the wire is whole, as TCP does; a dial is not.
    Silent,
    /// Something on the way answers that there is no route, which ends the stream.
    Reject,
}

/// One direction between two hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wire {
    /// Whether it is cut.
    pub cut: Option<Cut>,
    /// What is added to the delay.
    pub slower: Duration,
}

/// A packet that waits for its wire to be whole again.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) stream: StreamKey,
    pub(crate) toward: Side,
    pub(crate) packet: Packet,
}

/// All wires. A host's wire to itself is never cut and never slow.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) delay: Delay,
    /// Of a thousand messages, how many come twice.
    pub(crate) duplicates: u16,
    wires: BTreeMap<(Address, Address), Wire>,
    held: BTreeMap<(Address, Address), Vec<Held>>,
}

impl Network {
    pub(crate) fn new(delay: Delay) -> Self {
        Network { delay, duplicates: 0, wires: BTreeMap::new(), held: BTreeMap::new() }
    }

    pub(crate) fn wire(&self, from: Address, to: Address) -> Wire {
        if self.wires.is_empty() || from == to {
            return Wire::default();
        }
        self.wires.get(&(from, to)).copied().unwrap_or_default()
    }

    pub(crate) fn change(&mut self, from: Address, to: Address, change: impl FnOnce(&mut Wire)) {
        let wire = self.wires.entry((from, to)).or_default();
        change(wire);
        if *wire == Wire::default() {
            self.wires.remove(&(from, to));
        }
    }

    /// Makes every wire whole and fast.
    pub(crate) fn heal(&mut self) {
        self.wires.clear();
        self.duplicates = 0;
    }

    pub(crate) fn draw_delay(&self, wire: Wire, chance: &mut Chance) -> Duration {
        let spread = u64::try_from((self.delay.spread + wire.slower).as_nanos()).unwrap_or(u64::MAX);
        self.delay.least + Duration::from_nanos(chance.below(spread.saturating_add(1)))
    }

    pub(crate) fn hold(&mut self, from: Address, to: Address, held: Held) {
        self.held.entry((from, to)).or_default().push(held);
    }

    /// What can go on now: the packets of all wires that are no longer cut, in the order in which they were sent.
    pub(crate) fn release(&mut self) -> Vec<((Address, Address), Held)> {
        let whole: Vec<_> =
            self.held.keys().copied().filter(|&(a, b)| self.wire(a, b).cut.is_none()).collect();
        let take =
            |ends| self.held.remove(&ends).unwrap_or_default().into_iter().map(move |held| (ends, held));
        whole.into_iter().flat_map(take).collect()
    }

    /// What a host without power will never send again.
    pub(crate) fn forget_sent_by(&mut self, host: Address) -> Vec<Held> {
        let ends: Vec<_> = self.held.keys().copied().filter(|&(from, _)| from == host).collect();
        ends.into_iter().flat_map(|ends| self.held.remove(&ends).unwrap_or_default()).collect()
    }
}
