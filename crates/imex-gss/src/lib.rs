//! Links that Kerberos protects: who is at the other end is proven before anything is said, and every record after that
//! cannot be changed, repeated or left out unnoticed — nor read, if that is wanted.
//!
//! [`Kerberos::initiate`] and [`Kerberos::accept`] turn a byte stream into a [`GssStream`], on which HTTP/2 runs as on
//! TCP. What goes over the wire is in [`frame`]; the exchange is one question and one answer, in `docs/protocol.md`. A
//! context ends with its ticket, or with the configured lifetime; before that the stream makes a new one and goes over
//! to it in the middle of traffic ([`stream`]).
//!
//! The calls behind this block on files, name servers and the KDC. They run on threads of the runtime's blocking pool,
//! at most [`BLOCKING_CALLS`] at once, and nobody waits for one longer than [`CALL_DEADLINE`].
//!
//! This crate knows nothing of node maps: which principal a peer must have, its caller says by naming the host.

mod calls;
mod error;
pub mod frame;
mod handshake;
mod kerberos;
mod keys;
mod principal;
mod records;
mod renewal;
pub mod stream;

pub use calls::CALL_DEADLINE;
pub use error::{AuthError, Blame, Refusal};
pub use imex_gssapi::{Fault, GssError, LoadError, Protection, Store};
pub use kerberos::{BLOCKING_CALLS, Kerberos, Settings, find_library};
pub use principal::{Expected, Peer, PrincipalError};
pub use stream::GssStream;
