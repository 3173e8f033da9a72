//! What goes over the wire: the peer protocol between daemons, and the command service for tools.
//!
//! * [`peer`] and [`command`] turn the checked types of `imex-core` into protobuf messages and back. Whatever comes
//!   from outside passes through them; a value out of its bounds never reaches the core.
//! * [`dial()`] and [`accept()`] open links between daemons; [`link`] carries messages over them.
//! * [`client`] and [`server`] are the two ends of the command service.
//!
//! Both are gRPC, and any gRPC client can talk to them. The peer links are driven directly on an HTTP/2 connection
//! rather than through a gRPC library's transport: one connection carries exactly one stream, needs no task of its
//! own, and everything about it that can take time or memory is bounded here.
//!
//! This crate decides nothing about the domain, reads no configuration and writes no log.

pub mod accept;
mod attentive;
pub mod breach;
pub mod client;
pub mod command;
pub mod credential;
pub mod dial;
mod field;
mod framing;
pub mod io;
pub mod link;
mod outbox;
pub mod peer;
pub mod proto;
mod row;
#[cfg(test)]
mod samples;
pub mod server;
pub mod status;
mod stream;
mod wire;

pub use accept::{AcceptError, Incoming, accept, await_hello};
pub use breach::Breach;
pub use client::{ClientError, CommandClient, Endpoint, Secure, Watch};
pub use command::{AnswerError, DomainStatus, NodeStatus};
pub use credential::Credential;
pub use dial::{DialError, DialTarget, Dialled, connect, dial, introduce};
pub use field::FieldError;
pub use io::Io;
pub use link::{Link, LinkEnd, LinkLimits, LinkReceiver, LinkSender, SendError};
pub use peer::{Frame, FrameError, decode_frame, encode_frame};
pub use server::{Activity, ServeError, Standing, View, serve, serve_known};
pub use status::CommandError;
