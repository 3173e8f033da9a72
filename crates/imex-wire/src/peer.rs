//! What two daemons say to each other, in checked types.

use std::sync::Arc;

use imex_core::hello::{HelloError, Introduction};
use imex_core::id::DomainTokenError;
use imex_core::message::Report;
use imex_core::{BootId, DomainToken, Hello, InstanceId, MapDigest, NodeMap, PeerMessage, Refusal};
use prost::Message;
use thiserror::Error;

use crate::credential::Credential;
use crate::field::{self, FieldError};
use crate::proto::{self, peer_frame::Content, refusal::Reason};
use crate::row::{self, Speaker};

#[cfg(test)]
mod tests;

/// One message of the peer protocol, within its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// An introduction, and the proof of it where there is one.
    Hello(Hello, Option<Credential>),
    /// An introduction was turned away, with a proof of the introduction that it holds where there is one.
    Refusal(Refusal, Option<Credential>),
    /// Anything that members say to each other.
    Message(PeerMessage),
}

/// Why bytes are no message of the peer protocol.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// They are not protobuf, or protobuf of another form.
    #[error("the message cannot be decoded")]
    Encoding(#[source] prost::DecodeError),
    /// It has no content that this version knows.
    #[error("the message has no known content")]
    Empty,
    /// A field is out of its bounds.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The texts of an introduction are out of their bounds.
    #[error(transparent)]
    Hello(#[from] HelloError),
    /// The domain token is out of its bounds.
    #[error(transparent)]
    Token(#[from] DomainTokenError),
}

/// Reads one message, without the gRPC prefix. Takes any bytes; memory is bounded by their number.
pub fn decode_frame(bytes: &[u8]) -> Result<Frame, FrameError> {
    let frame = proto::PeerFrame::decode(bytes).map_err(FrameError::Encoding)?;
    Ok(match frame.content.ok_or(FrameError::Empty)? {
        Content::Hello(mut hello) => {
            let credential = Credential::read(std::mem::take(&mut hello.credential))?;
            Frame::Hello(hello_in(hello)?, credential)
        }
        Content::Refusal(mut refusal) => {
            let proof = refusal.by.as_mut().map(|by| std::mem::take(&mut by.credential));
            let credential = Credential::read(proof.unwrap_or_default())?;
            let refusal = refusal_in(refusal)?;
            let credential = credential.filter(|_| introduced_by(&refusal).is_some());
            Frame::Refusal(refusal, credential)
        }
        Content::Report(report) => Frame::Message(PeerMessage::Report(report_in(report)?)),
        Content::Ping(ping) => Frame::Message(PeerMessage::Ping(ping.number)),
        Content::Pong(pong) => Frame::Message(PeerMessage::Pong(pong.number)),
        Content::Leaving(leaving) => {
            Frame::Message(PeerMessage::Leaving { instance: instance_in(&leaving.instance)? })
        }
        Content::Reload(proto::Reload {}) => Frame::Message(PeerMessage::Reload),
        Content::RowRequest(request) => {
            Frame::Message(PeerMessage::RowRequest { question: request.question })
        }
        Content::Row(row) => Frame::Message(PeerMessage::Row {
            question: row.question,
            state: row::node_state_in(row.state, Speaker::Itself)?,
            links: row::row_in(row.links, Speaker::Itself)?,
        }),
    })
}

/// Writes one message, without the gRPC prefix.
pub fn encode_frame(frame: &Frame) -> Vec<u8> {
    let frame = match frame {
        Frame::Hello(hello, credential) => hello_frame(hello, credential.as_ref()),
        Frame::Refusal(refusal, credential) => refusal_frame(refusal, credential.as_ref()),
        Frame::Message(message) => message_frame(message),
    };
    frame.encode_to_vec()
}

pub(crate) fn hello_frame(hello: &Hello, credential: Option<&Credential>) -> proto::PeerFrame {
    let credential = Credential::out(credential);
    frame_of(Content::Hello(proto::Hello { credential, ..hello_out(hello) }))
}

/// The credential travels with the introduction; a refusal without one proves nothing.
pub(crate) fn refusal_frame(refusal: &Refusal, credential: Option<&Credential>) -> proto::PeerFrame {
    let mut refusal = refusal_out(refusal);
    if let Some(by) = &mut refusal.by {
        by.credential = Credential::out(credential);
    }
    frame_of(Content::Refusal(refusal))
}

pub(crate) fn message_frame(message: &PeerMessage) -> proto::PeerFrame {
    frame_of(match message {
        PeerMessage::Report(report) => Content::Report(report_out(*report)),
        PeerMessage::Ping(number) => Content::Ping(proto::Ping { number: *number }),
        PeerMessage::Pong(number) => Content::Pong(proto::Pong { number: *number }),
        PeerMessage::Leaving { instance } => {
            Content::Leaving(proto::Leaving { instance: instance.number().to_be_bytes().to_vec() })
        }
        PeerMessage::Reload => Content::Reload(proto::Reload {}),
        PeerMessage::RowRequest { question } => {
            Content::RowRequest(proto::RowRequest { question: *question })
        }
        PeerMessage::Row { question, state, links } => Content::Row(proto::Row {
            question: *question,
            state: row::node_state_out(*state),
            links: row::row_out(links),
        }),
    })
}

fn frame_of(content: Content) -> proto::PeerFrame {
    let content = Some(content);
    proto::PeerFrame { content }
}

fn hello_out(hello: &Hello) -> proto::Hello {
    let Introduction { protocol, software, driver, node, instance, boot, digest, token, host } = hello.get();
    proto::Hello {
        protocol: *protocol,
        software: software.to_string(),
        driver: driver.to_string(),
        node: node.number().into(),
        instance: instance.number().to_be_bytes().to_vec(),
        boot: boot.number().to_be_bytes().to_vec(),
        map_digest: digest.bytes().to_vec(),
        domain_token: token.as_str().to_owned(),
        host_name: host.to_string(),
        credential: Vec::new(),
    }
}

fn hello_in(hello: proto::Hello) -> Result<Hello, FrameError> {
    let introduction = Introduction {
        protocol: hello.protocol,
        software: hello.software.into(),
        driver: hello.driver.into(),
        node: field::node("node", hello.node)?,
        instance: instance_in(&hello.instance)?,
        boot: BootId::new(u128::from_be_bytes(field::bytes("boot", &hello.boot)?)),
        digest: MapDigest::from_bytes(field::bytes("map digest", &hello.map_digest)?),
        token: DomainToken::new(&hello.domain_token)?,
        host: hello.host_name.into(),
    };
    Ok(Hello::check(introduction)?)
}

fn instance_in(bytes: &[u8]) -> Result<InstanceId, FieldError> {
    let bytes = field::bytes("instance", bytes)?;
    Ok(InstanceId::new(u128::from_be_bytes(bytes)))
}

/// The introduction that a refusal holds.
pub(crate) fn introduced_by(refusal: &Refusal) -> Option<&Arc<Hello>> {
    match refusal {
        Refusal::Version { by } | Refusal::Map { by, .. } | Refusal::NotAtItsAddress { by } => Some(by),
        Refusal::OtherDomain
        | Refusal::EndedInstance
        | Refusal::Leaving
        | Refusal::Unproven
        | Refusal::AddressUnknown => None,
    }
}

fn refusal_out(refusal: &Refusal) -> proto::Refusal {
    let by = introduced_by(refusal).map(|by| hello_out(by));
    let reason = match refusal {
        Refusal::Version { .. } => Reason::Version,
        Refusal::Map { .. } => Reason::Map,
        Refusal::NotAtItsAddress { .. } => Reason::NotAtItsAddress,
        Refusal::OtherDomain => Reason::OtherDomain,
        Refusal::EndedInstance => Reason::EndedInstance,
        Refusal::Leaving => Reason::Leaving,
        Refusal::Unproven => Reason::Unproven,
        Refusal::AddressUnknown => Reason::AddressUnknown,
    };
    let (map_entries, map_len) = match refusal {
        Refusal::Map { entries, len, .. } => (entries.to_vec(), u32::try_from(*len).unwrap_or(u32::MAX)),
        Refusal::Version { .. }
        | Refusal::NotAtItsAddress { .. }
        | Refusal::OtherDomain
        | Refusal::EndedInstance
        | Refusal::Leaving
        | Refusal::Unproven
        | Refusal::AddressUnknown => (Vec::new(), 0),
    };
    proto::Refusal { reason: reason.into(), by, map_entries, map_len }
}

fn refusal_in(refusal: proto::Refusal) -> Result<Refusal, FrameError> {
    let field = "reason";
    let found = refusal.reason;
    Ok(match field::known(field, found)? {
        Reason::Unspecified => return Err(FieldError::UnknownNumber { field, found }.into()),
        Reason::Version => Refusal::Version { by: by_in(refusal.by)? },
        Reason::Map => Refusal::Map {
            by: by_in(refusal.by)?,
            len: map_len_in(refusal.map_len, refusal.map_entries.len())?,
            entries: entries_in(&refusal.map_entries)?,
        },
        Reason::NotAtItsAddress => Refusal::NotAtItsAddress { by: by_in(refusal.by)? },
        Reason::OtherDomain => Refusal::OtherDomain,
        Reason::EndedInstance => Refusal::EndedInstance,
        Reason::Leaving => Refusal::Leaving,
        Reason::Unproven => Refusal::Unproven,
        Reason::AddressUnknown => Refusal::AddressUnknown,
    })
}

fn by_in(by: Option<proto::Hello>) -> Result<Arc<Hello>, FrameError> {
    let by = by.ok_or(FieldError::Missing { field: "by" })?;
    hello_in(by).map(Arc::new)
}

fn map_len_in(found: u32, sent: usize) -> Result<usize, FieldError> {
    let in_range = |len: &usize| (sent..=NodeMap::MAX_ENTRIES).contains(len);
    usize::try_from(found).ok().filter(in_range).ok_or(FieldError::OutOfRange {
        field: "map length",
        found: found.into(),
        min: sent as u64,
        max: NodeMap::MAX_ENTRIES as u64,
    })
}

fn entries_in(entries: &[String]) -> Result<Arc<[String]>, FieldError> {
    let field = "map entries";
    field::count(field, entries, Refusal::MAX_MAP_ENTRIES)?;
    let found = entries.iter().map(String::len).sum();
    let max = Refusal::MAX_MAP_BYTES;
    if found > max {
        return Err(FieldError::TooLong { field, found, max });
    }
    entries.iter().map(|entry| row::entry_in(entry)).collect()
}

fn report_out(report: Report) -> proto::Report {
    proto::Report {
        number: report.number,
        state: row::node_state_out(report.state),
        missing: report.missing.into(),
    }
}

fn report_in(report: proto::Report) -> Result<Report, FieldError> {
    if report.number == 0 {
        return Err(FieldError::OutOfRange { field: "report number", found: 0, min: 1, max: u64::MAX });
    }
    Ok(Report {
        number: report.number,
        state: row::node_state_in(report.state, Speaker::Itself)?,
        missing: field::number("missing", report.missing, MOST_MISSING)?,
    })
}

/// A row with no cell connected, in the largest map.
const MOST_MISSING: u16 = 65_534;

const _: () = assert!(MOST_MISSING as usize == NodeMap::MAX_ENTRIES);
