//! IMEX domains under Slurm: one verified domain for each job.
//!
//! [`prolog`] forms a job's domain and [`epilog`] takes it away; [`sweep`] takes away what a lost epilog left, [`task_prolog`]
//! lets tasks in. They are sequences of steps; what each step decides is a
//! pure function of what is known, in a module of its own: who the job is ([`context`], [`exclusivity`]), whether there is
//! something to form ([`applicable`]), who may have the node ([`tenancy`]), which nodes belong together ([`scope`]) and where
//! they are ([`peers`]), what the service's files say ([`map`], [`port`]), and who is at fault when the domain does not come UP
//! ([`blame`], from a [`view`]). Time is split by [`budget`]. What is left for others to read is [`job_domain`], [`record`]
//! and [`joblog`].
//!
//! What is outside is reached through small traits: [`machine`], [`service`] and [`eyes`]. This crate speaks no protocol of
//! a daemon's: whoever does lends it eyes.
//!
//! [`settings`] says what `slurm.conf` has to hold and what each line really means; [`check`] judges a `slurm.conf`, or what
//! a running controller holds, by the same knowledge.
//!
//! Parsers take arbitrary text and never panic: [`check::conf::parse`], [`check::live::parse`], [`view::control::parse`],
//! [`peers::read_map`], [`peers::node_addresses`] and [`scope::by_shown_topology`] are entry points for fuzzing.

pub mod applicable;
pub mod blame;
pub mod budget;
pub mod check;
pub mod clock;
pub mod context;
pub mod epilog;
pub mod exclusivity;
pub mod eyes;
pub mod job_domain;
pub mod joblog;
pub mod lock;
pub mod machine;
pub mod map;
pub mod metrics;
pub mod outcome;
pub mod peers;
pub mod port;
pub mod prolog;
pub mod record;
pub mod release;
pub mod scope;
pub mod service;
pub mod settings;
pub mod sweep;
pub mod task_prolog;
pub mod tenancy;
pub mod view;
