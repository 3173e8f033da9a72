//! A whole cluster of daemons in one thread, without sockets and without a clock.
//!
//! `imex-core` decides what a daemon does; this crate runs any number of its machines against a simulated network and
//! proves that what must hold does hold under crashes, restarts at the same address, stopped processes, lost power,
//! partitions, one-way loss, delay, reordering and duplicates. Everything that happens follows from a seed, so that a
//! failing run can be looked at again, step by step, with the `imex-replay` program.
//!
//! It uses the core only and must never read a clock or a source of chance ([`bench`](mod@bench) measures time, and
//! nothing depends on what it finds).
//!
//! * [`World`] is the cluster; [`Operation`]s are what is done to it.
//! * [`Invariant`] lists what must hold; a [`Violation`] is what a run ends with when it does not.
//! * [`Schedule`] is a list of operations with their times: drawn from a seed, or read from a file.

pub mod bench;
pub mod chance;
mod event;
mod host;
pub mod invariants;
pub mod log;
pub mod network;
pub mod operation;
pub mod replay;
pub mod schedule;
mod stream;
pub mod time;
pub mod world;

pub use chance::Chance;
pub use host::{CleanUpSeen, Config, MapChoice};
pub use invariants::{Invariant, Violation};
pub use log::Keep;
pub use network::{Address, Cut, Delay};
pub use operation::Operation;
pub use schedule::Schedule;
pub use world::{Counts, Plan, World};
