//! What AWS knows of a cluster's machines: a small typed client for the few calls that place them.
//!
//! [`Client`] asks EC2 which instances share an UltraServer ([`Client::instance_topology`]), how they are called and if
//! they run ([`Client::instances`]), which Capacity Blocks there are ([`Client::capacity_blocks`]) and into which of them
//! a launch template starts ([`Client::launch_template`]); and AWS PCS which queues and node groups a cluster has
//! ([`Client::queues`], [`Client::node_groups`]). Every call is signed, paged, retried when it is throttled, bounded in
//! size and ended by one deadline. An answer is whole or an error: half a list never leaves this crate.
//!
//! It knows nothing of topologies, and never reads the environment: [`Environment`] is handed in.
//!
//! There is no AWS SDK below. Its EC2 crate alone takes gigabytes to compile; its configuration and signing crates need
//! a newer Rust than this workspace promises and a service crate of their own (STS). What they do for this client is in
//! [`Settings`], `credentials.rs` and `sign.rs`. Not covered: single sign-on, assuming a role, web identity tokens;
//! `credential_process` in a profile reaches all three through the AWS command line.
//!
//! Parsers take arbitrary bytes and never panic: [`ec2::parse`], [`pcs::parse`], [`Profiles::parse`] and
//! [`Credentials::parse`] are the entry points for fuzzing.

mod call;
mod client;
mod clock;
mod credentials;
pub mod ec2;
mod endpoint;
mod failure;
#[cfg(any(test, feature = "fake"))]
pub mod fake;
mod http;
mod metadata;
pub mod pcs;
mod profile;
mod retry;
mod settings;
mod sign;
mod tls;
mod xml;

pub use client::Client;
pub use credentials::{Credentials, CredentialsError};
pub use endpoint::{Endpoint, EndpointError, Region, RegionError};
pub use failure::{CallError, Error, Failure, Service};
pub use profile::{Profile, ProfileError, Profiles};
pub use retry::Patience;
pub use settings::{Environment, Overrides, Settings, SettingsError};
