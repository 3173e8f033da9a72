//! The one place of `imex slurm` that reads the environment.

use std::fs;

use imex_slurm::context::Environment;

/// What Slurm tells: its variables, as far as they are text. Nothing else of the environment counts.
pub(super) fn read() -> Environment {
    let variables = std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok().filter(|name| name.starts_with("SLURM"))?;
        Some((name, value.into_string().ok()?))
    });
    variables.collect()
}

/// How many CPUs a job has at least that has this machine whole: its cores, without those that Slurm keeps for itself. Not those
/// that this process may use, which slurmd may have been confined to.
pub(super) fn cpus(environment: &Environment) -> usize {
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let threads = if fs::read_to_string("/sys/devices/system/cpu/smt/active").is_ok_and(|on| on.trim() == "1")
    {
        2
    } else {
        1
    };
    let kept = environment.get("SLURM_JOB_CORE_SPEC_COUNT").and_then(|count| count.parse().ok()).unwrap_or(0);
    (count(&online) / threads).saturating_sub(kept).max(1)
}

/// How many numbers a list like `0-3,8` has.
fn count(list: &str) -> usize {
    let range = |part: &str| {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (low, high): (usize, usize) = (low.parse().ok()?, high.parse().ok()?);
        high.checked_sub(low).map(|more| more + 1)
    };
    list.trim().split(',').filter_map(range).sum()
}

/// Whether a variable switches something on: it is there, and neither empty nor 0.
#[expect(clippy::disallowed_methods, reason = "the one place of these scripts that looks")]
pub(super) fn is_on(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Whether a variable is set.
#[expect(clippy::disallowed_methods, reason = "the one place of these scripts that looks")]
pub(super) fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_cpus_is_counted() {
        assert_eq!([count("0-143\n"), count("0-3,8"), count("0"), count("")], [144, 5, 1, 0]);
        assert!(cpus(&Environment::new()) >= 1);
    }
}
