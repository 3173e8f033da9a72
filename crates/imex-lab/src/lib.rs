//! A rack in a box: the real daemon once per node, on one machine, without a GPU.
//!
//! A [`Lab`] owns one `imexd` process per node. Every node has an address of its own in 127.0.0.0/8, so that all of
//! them use the same port, and a directory of its own with real files, so that every tool works on it:
//!
//! ```text
//! DIR/lab.lock, lab.sock, lab.log    whose lab it is; how to ask it; what its owner said
//! DIR/bin/imexd, imexctl             the programs, under their names
//! DIR/node-K/config.cfg, nodes_config.cfg, imexd.log, imexd.sock, stats, persist, stderr
//! ```
//!
//! It serves people (`imex lab`), tests and benchmarks; it knows nothing of the protocol between the daemons and
//! believes only what the operating system and the daemons' command sockets tell.
//!
//! Starting, signalling and ending processes is plain and immediate; what waits is `async`, has a deadline, and needs
//! a tokio runtime with time and IO. Daemons end with the *thread* that started them, whatever ends it: start them
//! from a thread that lives as long as the lab.

mod address;
mod builder;
mod client;
mod clock;
mod control;
mod files;
mod kdc;
mod lab;
mod layout;
mod munged;
mod owner;
mod process;
mod watch;

pub use address::AddressError;
pub use builder::{LabBuilder, StartError};
pub use client::{ControlError, LabClient, viewer};
pub use control::{LabStatus, NodeReport, Refused, RefusedWhy};
pub use files::FilesError;
pub use kdc::{Kdc, KdcError};
pub use lab::{Lab, NodeError, WaitError};
pub use layout::{Layout, LayoutError, NodePaths};
pub use munged::{Munged, MungedError};
pub use owner::{ControlSocket, Ending};
pub use process::{End, Life, NodeSignal};
pub use watch::{WatchError, ask_domain, watch_until};
