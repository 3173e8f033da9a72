//! What can happen in a simulated cluster, and how it is written in a log.

use std::fmt;

use imex_core::cause::{AuthFailure, Unreachable};
use imex_core::input::{Answer, DialFailure, StreamId};
use imex_core::{Action, Hello, Input, PeerMessage, Refusal};

use crate::Address;
use crate::stream::{Side, StreamKey};

/// Something that happens at a time.
#[derive(Debug)]
pub(crate) enum Event {
    /// A daemon may have something to do.
    Wake { address: Address, run: u32 },
    /// A packet arrives.
    Packet { stream: StreamKey, toward: Side, packet: Packet },
    /// Something that a daemon asked its own machine for is done.
    Done { address: Address, run: u32, what: Done },
}

/// What a daemon's own machine does for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    AuthServer,
    Gpu,
}

/// What travels on a stream. The two hellos are not carried: a run never changes its own.
#[derive(Clone, Debug)]
pub(crate) enum Packet {
    /// The dialler's hello.
    Dial,
    /// The acceptor wants the dialler to prove who it is.
    Prove,
    /// The dialler's proof, with its hello.
    Proof,
    /// One of the two does not believe the other; it also ends the stream.
    Denied(AuthFailure),
    /// The acceptor's hello.
    Welcome,
    /// The acceptor's refusal; it also ends the stream.
    Refusal(Box<Refusal>),
    Message(PeerMessage),
    /// The stream is over.
    End(Unreachable),
}

/// An input as a log line has it.
pub(crate) struct Told<'a>(pub(crate) &'a Input);

/// An action as a log line has it.
pub(crate) struct Asked<'a>(pub(crate) &'a Action);

struct Name<'a>(&'a Hello);

struct Stream(StreamId);

struct Said<'a>(&'a PeerMessage);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hello = self.0.get();
        let instance = hello.instance.number() >> 96;
        write!(f, "node {} instance {instance:08x}", hello.node)
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            StreamId::Dialled { peer, attempt } => write!(f, "to {peer} #{attempt}"),
            StreamId::Accepted { peer, serial } => write!(f, "from {peer} #{serial}"),
        }
    }
}

impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            PeerMessage::Report(report) => {
                write!(f, "report {}: {}, {} missing", report.number, report.state, report.missing)
            }
            PeerMessage::Ping(number) => write!(f, "ping {number}"),
            PeerMessage::Pong(number) => write!(f, "pong {number}"),
            PeerMessage::Leaving { instance } => write!(f, "leaving {:08x}", instance.number() >> 96),
            PeerMessage::Reload => f.write_str("reload"),
            PeerMessage::RowRequest { question } => write!(f, "row request {question}"),
            PeerMessage::Row { question, state, links } => {
                write!(f, "row {question}: {state},")?;
                links.iter().try_for_each(|link| write!(f, " {}", link.state.letter()))
            }
        }
    }
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Input::Start => f.write_str("start"),
            Input::AuthServerReady => f.write_str("auth server ready"),
            Input::GpuReady => f.write_str("gpu ready"),
            Input::DialFailed { peer, attempt, why } => {
                write!(f, "dial to {peer} #{attempt} failed: ")?;
                match why {
                    DialFailure::NameUnknown => f.write_str("name unknown"),
                    DialFailure::Unreachable(why) => write!(f, "{why}"),
                    DialFailure::Unauthenticated(why) => write!(f, "{why}"),
                    DialFailure::Violation(how) => write!(f, "{how}"),
                }
            }
            Input::Reached { peer, attempt } => write!(f, "machine of {peer} took #{attempt}"),
            Input::AuthenticationStarted { peer, attempt } => {
                write!(f, "authentication to {peer} #{attempt}")
            }
            Input::Answered { peer, attempt, answer } => {
                write!(f, "answer to {peer} #{attempt}: ")?;
                match answer {
                    Answer::Hello(hello) => write!(f, "hello from {}", Name(hello)),
                    Answer::Refusal(refusal) => write!(f, "refused, {}", refusal_word(refusal)),
                }
            }
            Input::Arrived { serial, hello, source } => {
                write!(f, "hello #{serial} of {}, source {source:?}", Name(hello))
            }
            Input::Received { stream, message } => write!(f, "{} got {}", Stream(*stream), Said(message)),
            Input::Closed { stream, why } => write!(f, "{} closed: {why:?}", Stream(*stream)),
            Input::ImportersChanged(nodes) => write!(f, "importers now {nodes:?}"),
            Input::TableAsked { ticket } => write!(f, "table asked {ticket}"),
            Input::Redial => f.write_str("redial"),
            Input::TellReload => f.write_str("tell reload"),
            Input::Leave => f.write_str("leave"),
        }
    }
}

impl fmt::Display for Asked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Action::Dial { peer, attempt } => write!(f, "dial {peer} #{attempt}"),
            Action::Admit { stream } => write!(f, "admit {}", Stream(*stream)),
            Action::Refuse { stream, refusal } => {
                write!(f, "refuse {}: {}", Stream(*stream), refusal_word(refusal))
            }
            Action::Send { stream, message } => write!(f, "{} say {}", Stream(*stream), Said(message)),
            Action::Close { stream } => write!(f, "close {}", Stream(*stream)),
            Action::CleanUp { peer, instance, reason } => {
                write!(f, "clean up {peer} instance {:08x}: {reason:?}", instance.number() >> 96)
            }
            Action::RecordImporters(nodes) => write!(f, "record importers {nodes:?}"),
            Action::StartAuthServer => f.write_str("start auth server"),
            Action::Reload { peer } => write!(f, "reload, says {peer}"),
            Action::AttachGpu => f.write_str("attach gpu"),
            Action::AnswerTable { ticket, table } => write!(f, "answer table {ticket}: {}", table.state),
            Action::Exit => f.write_str("exit"),
            Action::Note(note) => write!(f, "note {note:?}"),
        }
    }
}

fn refusal_word(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Version { .. } => "version",
        Refusal::Map { .. } => "map",
        Refusal::NotAtItsAddress { .. } => "not at its address",
        Refusal::OtherDomain => "other domain",
        Refusal::EndedInstance => "ended instance",
        Refusal::Leaving => "leaving",
        Refusal::Unproven => "unproven",
        Refusal::AddressUnknown => "address unknown",
    }
}
