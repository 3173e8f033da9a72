//! The program as people and scripts use it: real processes, real files, real sockets.
//!
//! Every lab has a directory and addresses of its own, so all tests run side by side. Every wait has a deadline.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails, wherever that shows")]

mod aws;
mod background;
mod channel;
mod doctor;
mod follow;
mod lab;
mod lifecycle;
mod misuse;
mod pki;
mod program;
mod scripts;
mod slurm;
mod topology;
mod wait;
