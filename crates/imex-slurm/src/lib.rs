//! IMEX domains under Slurm.
//!
//! [`settings`] says what `slurm.conf` has to hold and what each line really means; [`check`] judges a `slurm.conf`, or what
//! a running controller holds, by the same knowledge.
//!
//! Parsers take arbitrary text and never panic: [`check::conf::parse`] and [`check::live::parse`] are entry points for
//! fuzzing.

pub mod check;
pub mod release;
pub mod settings;
