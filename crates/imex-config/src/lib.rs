//! `config.cfg` and `nodes_config.cfg`: what is written in them, and what it means on this machine; and `openimex.toml`,
//! the operator's own file ([`operator`]).
//!
//! What was written and what it means are two types. [`ServiceFile`] and [`NodeFile`] are the files, line by line;
//! they look at nothing but bytes. [`Settings`] is their meaning for a daemon on one machine, [`ClientSettings`] for a
//! control tool; they come from [`load()`] and [`load_client`], which judge everything before anything is opened and
//! report every [`Problem`] of both files in one run. What they ask of the machine goes through [`Machine`].
//!
//! Both parsers take arbitrary bytes and never panic: [`ServiceFile::parse`] and [`parse_nodes`] are the entry points
//! for fuzzing.
//!
//! This crate never opens a port, never writes a log, and never waits except for the system's resolver.

pub mod absent;
mod address;
pub mod chain;
pub mod client;
pub mod credential;
pub mod example;
pub mod file;
pub mod keys;
pub mod load;
pub mod machine;
pub mod nodes;
pub mod operator;
pub mod problem;
pub mod replace;
pub mod resolve;
pub mod rule;
pub mod security;
pub mod service;
pub mod settings;
pub mod text;
mod values;

pub use absent::absent;
pub use chain::chain;
pub use client::{ClientSettings, SecurityUnusable};
pub use example::example;
pub use load::{
    ClientError, ClientLoaded, DEFAULT_CONFIG, Loaded, NodeMapUnreadable, load, load_client,
    load_client_security, read_nodes, read_service,
};
pub use machine::{FileId, LocalAddress, Machine, ThisMachine};
pub use nodes::{NodeAddress, NodeFile, parse_nodes};
pub use operator::{DEFAULT_OPERATOR, Operator, OperatorError};
pub use problem::{Problem, Problems, Severity, Strictness};
pub use replace::replace;
pub use resolve::{DEFAULT_SOCKET, MAX_SOCKET_PATH_BYTES, Written, resolve};
pub use rule::Rule;
pub use security::Security;
pub use service::ServiceFile;
pub use settings::{Overrides, Settings};
