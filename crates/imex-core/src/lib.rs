//! The rules of an IMEX domain, and nothing else.
//!
//! A domain is a group of nodes that agree on one ordered list of addresses, the *node map*. Each node runs one
//! daemon; every daemon keeps a directed *link* to every node of the map, itself included. This crate decides what
//! a daemon does about those links: when to dial, whom to accept, when a node counts as ready, what is cleaned up
//! after a peer is lost, and what the domain looks like from here.
//!
//! It performs nothing. There is no socket, no task, no clock, no log and no source of chance in it: time is an
//! argument of every call, chance is a seed given once, and what should happen in the world is handed out as
//! [`Action`] values. The daemon (`imex-daemon`) and the simulated cluster (`imex-sim`) are its two drivers.
//!
//! The vocabulary of a driver:
//!
//! * [`Machine::handle`] takes one [`Input`] and the time;
//! * [`Machine::poll_timeout`] says when to come back, and why;
//! * [`Machine::handle_timeout`] lets time pass;
//! * [`Machine::poll_action`] hands out what is to be done, until it is empty;
//! * [`Machine::domain`], [`Machine::row`] and [`Machine::state`] show what outsiders may see.

mod acquaintance;
pub mod action;
pub mod cause;
pub mod hello;
pub mod id;
pub mod input;
mod jitter;
mod life;
mod link;
pub mod machine;
pub mod map;
pub mod message;
pub mod moment;
mod peer;
pub mod quorum;
pub mod state;
mod timers;
pub mod timing;
pub mod view;

pub use action::Action;
pub use cause::{AuthFailure, Cause, CauseClass};
pub use hello::{Hello, Refusal};
pub use id::{BootId, DomainToken, InstanceId, NodeId};
pub use input::Input;
pub use machine::{Machine, Setup};
pub use map::{MapDifference, MapDigest, NodeMap};
pub use message::PeerMessage;
pub use moment::Moment;
pub use quorum::QuorumMode;
pub use state::{DomainState, LinkState, NodeState};
pub use timing::{Grace, Timing};
pub use view::{DomainSummary, DomainTable, Evidence, LinkReport, NodeRow};
