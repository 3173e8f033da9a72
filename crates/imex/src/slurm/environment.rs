//! The one place of `imex slurm` that reads the environment.

use imex_slurm::context::Environment;

/// What Slurm tells: its variables, as far as they are text. Nothing else of the environment counts.
pub(super) fn read() -> Environment {
    let variables = std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok().filter(|name| name.starts_with("SLURM"))?;
        Some((name, value.into_string().ok()?))
    });
    variables.collect()
}

/// How many CPUs this process may use, at least 1: what a job that has a whole node has.
pub(super) fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Whether a variable is set.
#[expect(clippy::disallowed_methods, reason = "the one place of these scripts that looks")]
pub(super) fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some()
}
