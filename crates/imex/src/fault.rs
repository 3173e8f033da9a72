//! Being killed at a chosen step, for tests of what a killed run leaves behind. Builds for use have none of it.

/// Marks a step. A test build whose environment says `IMEX_DIE_AT=step` ends here as if by `kill -9`.
#[cfg(debug_assertions)]
#[expect(clippy::disallowed_methods, reason = "tests choose the step; no build for use reads it")]
pub(crate) fn point(step: &str) {
    if std::env::var_os("IMEX_DIE_AT").is_some_and(|chosen| chosen == step) {
        // It cannot fail for one's own process, and does not return.
        let _ = nix::sys::signal::kill(nix::unistd::Pid::this(), nix::sys::signal::Signal::SIGKILL);
    }
}

/// Marks a step.
#[cfg(not(debug_assertions))]
pub(crate) fn point(_step: &str) {}
