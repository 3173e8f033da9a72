//! The daemon through its built binary: one file per subject, every node a real process on an address of its own.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod background;
mod bad_files;
mod clocks;
mod command_service;
mod hanging;
mod limits;
mod logging;
mod persistence;
mod security;
mod service_manager;
mod signals;
mod start_stop;
mod support;
mod two_nodes;
