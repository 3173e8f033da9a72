//! MUNGE: on a Slurm cluster every node already shares a key, so a node can show which user sends something.
//!
//! [`Munge`] makes and opens credentials through the local `munged`, by `libmunge.so.2`, which is loaded when it is first
//! wanted (munge(3), munge(7)). A [`Claim`] is what a daemon puts into one to introduce itself on a connection; it is
//! bound to that connection, so that it proves nothing on any other.
//!
//! The calls block on munged's socket. They run on threads of the runtime's blocking pool, at most [`BLOCKING_CALLS`] at
//! once, and nobody waits for one longer than [`CALL_DEADLINE`].

mod claim;
mod failure;
mod library;
mod munge;

pub use claim::{BINDING, Claim, ClaimError, Role};
pub use failure::{Fault, MungeError};
pub use library::{LIBRARY, LoadError, Opened};
pub use munge::{BLOCKING_CALLS, CALL_DEADLINE, Munge};
