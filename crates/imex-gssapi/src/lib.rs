//! Kerberos through GSSAPI (RFC 2743, RFC 2744, RFC 4121): a safe face for MIT's `libgssapi_krb5.so.2`.
//!
//! The library is loaded when it is first wanted, so that a program that can use Kerberos builds and runs on machines
//! that have none. Only what mutual authentication and protected records need is bound, and only the Kerberos mechanism
//! is ever asked for or accepted: no negotiation, nothing to downgrade to.
//!
//! Calls block: they read key tables, ask the KDC, write the replay cache. This crate starts no thread and knows no
//! runtime; its caller bounds and times them. [`Context::wrap`] and [`Context::unwrap`] alone only compute.
//!
//! All `unsafe` code for Kerberos is in this crate.

mod buffer;
mod cache;
mod context;
mod credential;
mod failure;
mod library;
mod name;
mod raw;

pub use context::{Accepted, Context, Initiation, Protection, Refused};
pub use credential::{Credential, Store, Usage};
pub use failure::{Fault, GssError};
pub use library::{Gssapi, LIBRARY, LoadError};
pub use name::Name;
