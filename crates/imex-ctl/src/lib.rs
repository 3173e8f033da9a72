//! What an IMEX daemon and its domain are doing, for people and for scripts: the control tool `imexctl`.
//!
//! Options, exit codes and layouts are those of `nvidia-imex-ctl`, so that scripts and monitors work unchanged. Each
//! layer is a module:
//!
//! * [`args`] turns a command line into a request, in which nothing contradicts itself;
//! * [`commands`] has a file for each verb; a verb asks daemons and returns data;
//! * [`render`] writes data as text or as JSON;
//! * [`run()`] puts them together, and [`exit`] says how it ended.
//!
//! Whoever wants "the table that `imexctl -N` prints" calls [`domain_table`] and [`render::text::domain`].
//!
//! The tool only reads. Every question has a deadline; a node that does not answer is shown as such.

pub mod args;
mod clock;
pub mod commands;
mod console;
pub mod exit;
pub mod failure;
pub mod render;
pub mod report;
mod run;
#[cfg(test)]
mod sample;
mod secure;
mod sources;

pub use commands::domain::domain_table;
pub use exit::Exit;
pub use report::{DomainReport, View};
pub use run::run;
pub use sources::Sources;
