//! Mutual TLS as the members of a domain use it: TLS 1.3 only, by rustls with ring's cryptography.
//!
//! * [`judge()`] says everything that can be known of the six credentials before a port is bound.
//! * [`Ends`] are the two ends of every connection: what this daemon shows and whom it believes, as one that dials and as
//!   one that is dialled. They are made anew when the files are replaced; connections keep what they were made with.
//! * [`Session`] is what one connection proved: the far end's certificate, and a value that only its two ends share.
//! * [`Certificate`] tells people what is in a certificate.
//!
//! Chains of strangers are cut [`short`] before anything is spent on them.
//!
//! No session is ever resumed: each connection is judged by the authority that is in force when it is made.
//!
//! This crate opens no file and no connection, and writes no log.

pub mod certificate;
pub mod ends;
pub mod failure;
mod identity;
pub mod judge;
pub mod name;
mod run;
mod session;
pub mod short;

pub use certificate::Certificate;
pub use ends::{Ends, Kind, let_read};
pub use failure::TlsError;
pub use identity::{IdentityError, Part};
pub use judge::{Finding, judge};
pub use name::{NoName, PeerName};
pub use run::{RunEnds, RunError};
pub use session::{Io, Secured, Session};

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};

/// The one cryptography of the workspace.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
