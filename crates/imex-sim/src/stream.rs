//! Streams between daemons, as the network sees them.

use imex_core::{Moment, NodeId};

use crate::Address;

/// One run of a daemon at an address: the first is number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RunId {
    /// Where.
    pub(crate) address: Address,
    /// Which.
    pub(crate) number: u32,
}

impl std::fmt::Display for RunId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.number)
    }
}

/// The two ends of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Dialler,
    Acceptor,
}

impl Side {
    pub(crate) fn other(self) -> Side {
        match self {
            Side::Dialler => Side::Acceptor,
            Side::Acceptor => Side::Dialler,
        }
    }
}

/// How far a stream has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// The dialler's hello is on its way.
    Dialling,
    /// The acceptor's daemon has the hello.
    Arrived,
    /// The acceptor admitted the dialler; its hello is on its way.
    Admitted,
    /// The dialler has the acceptor's hello.
    Established,
    /// The acceptor refused the dialler.
    Refused,
}

/// A place in [`Streams`]; used again after the stream is over and nothing of it is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamKey(u32);

impl StreamKey {
    /// No stream.
    pub(crate) const NONE: StreamKey = StreamKey(u32::MAX);
}

/// One end of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) address: Address,
    /// Which run holds it; meaningless for an acceptor before the hello has arrived.
    pub(crate) run: u32,
    pub(crate) open: bool,
    /// When the latest packet towards this end arrives: later ones must not overtake it.
    pub(crate) latest: Moment,
}

impl End {
    pub(crate) fn run_id(&self) -> RunId {
        RunId { address: self.address, number: self.run }
    }
}

/// One stream.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) dialler: End,
    pub(crate) acceptor: End,
    pub(crate) stage: Stage,
    /// Whom the dialler dialled.
    pub(crate) peer: NodeId,
    /// Who the dialler says it is.
    pub(crate) claimed: NodeId,
    pub(crate) attempt: u32,
    pub(crate) serial: u32,
    /// Whether the dialler has said anything after its hello.
    pub(crate) spoken: bool,
    /// Whether the acceptor has heard it.
    pub(crate) confirmed: bool,
    /// How many packets of it are on their way or held.
    pub(crate) travelling: u32,
}

impl Stream {
    pub(crate) fn end(&self, side: Side) -> &End {
        match side {
            Side::Dialler => &self.dialler,
            Side::Acceptor => &self.acceptor,
        }
    }

    pub(crate) fn end_mut(&mut self, side: Side) -> &mut End {
        match side {
            Side::Dialler => &mut self.dialler,
            Side::Acceptor => &mut self.acceptor,
        }
    }

    fn is_over(&self) -> bool {
        !self.dialler.open && !self.acceptor.open && self.travelling == 0
    }
}

/// All streams.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    slab: Vec<Stream>,
    free: Vec<StreamKey>,
}

impl Streams {
    pub(crate) fn add(&mut self, stream: Stream) -> StreamKey {
        if let Some(key) = self.free.pop() {
            *self.get_mut(key) = stream;
            return key;
        }
        let key =
            StreamKey(u32::try_from(self.slab.len()).expect("fewer than 2^32 streams are open at once"));
        self.slab.push(stream);
        key
    }

    pub(crate) fn get(&self, key: StreamKey) -> &Stream {
        &self.slab[key.0 as usize]
    }

    pub(crate) fn get_mut(&mut self, key: StreamKey) -> &mut Stream {
        &mut self.slab[key.0 as usize]
    }

    /// Gives the stream's place back if nothing can happen on it any more. To be called once per change that may
    /// have ended it; nobody may hold the key of a stream with both ends closed.
    pub(crate) fn release_if_over(&mut self, key: StreamKey) {
        if self.get(key).is_over() {
            self.free.push(key);
        }
    }
}
