//! The operator's tool: `imex wait`, `imex lab`, `imex topology`, `imex slurm`, `imex channel`.
//!
//! A command is a file that takes its options, asks whom it must, and writes what it found as text or JSON to a
//! writer. Options are in [`cli`], exit codes in [`exit`]; nothing else ends the program or prints.
//!
//! The program carries the daemon and the control tool with it: called as `imexd` or `imexctl` it is that program.
//! So `imex lab` needs no other file, and its daemons still go by their own name.

mod channel;
pub mod cli;
mod clock;
mod diagnosis;
mod doctor;
pub mod exit;
mod failure;
mod fault;
mod follow;
mod lab;
mod notify;
mod output;
mod pieces;
mod pki;
mod progress;
mod run;
mod search;
mod signals;
mod slurm;
mod table;
mod topology;
mod validate;
mod wait;

pub use cli::command;
pub use run::main;
