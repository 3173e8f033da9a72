//! Where the programs of others are looked for.

use std::ffi::{OsStr, OsString};

use clap::Args;
use imex_host::RunError;
use imex_host::program::DEFAULT_PATH;

/// `--path`, and what holds without it: `PATH`, then the usual folders, because a person's `PATH` rarely has Slurm's.
#[derive(Clone, Debug, PartialEq, Eq, Args)]
pub(crate) struct SearchPath {
    /// Where other programs are looked for: folders with colons between
    ///
    /// Without it those of PATH count, and after them /usr/local/sbin, /usr/local/bin, /usr/sbin, /usr/bin, /sbin, /bin and
    /// /opt/slurm/bin.
    #[arg(long, value_name = "PATH")]
    path: Option<OsString>,
    /// What PATH says
    // An argument of its own: with `env` on `--path`, each usage line would show that option as if it had to be given.
    #[arg(long, value_name = "PATH", env = "PATH", hide = true)]
    environment_path: Option<OsString>,
}

impl SearchPath {
    /// What was given, if anything.
    pub(crate) fn given(&self) -> Option<&OsStr> {
        self.path.as_deref()
    }

    /// The folders, with colons between.
    pub(crate) fn folders(&self) -> OsString {
        match (&self.path, &self.environment_path) {
            (Some(given), _) => given.clone(),
            (None, environment) => with_usual(environment.as_deref().unwrap_or_default()),
        }
    }
}

/// A search path and the usual folders that it lacks.
fn with_usual(path: &OsStr) -> OsString {
    let known: Vec<_> = std::env::split_paths(path).collect();
    let usual = std::env::split_paths(DEFAULT_PATH).filter(|folder| !known.contains(folder));
    let mut all = path.to_owned();
    for folder in usual {
        if !all.is_empty() {
            all.push(":");
        }
        all.push(folder);
    }
    all
}

/// What to do about Slurm's controller when `scontrol` gave no answer.
pub(crate) fn hint_of_scontrol(error: &RunError) -> &'static str {
    match error {
        RunError::Start { .. } => "install Slurm's commands here, or name their folder with --path",
        RunError::Overdue { .. } | RunError::Read { .. } | RunError::Failed { .. } => {
            "does slurmctld run? `scontrol ping` tells"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(path: Option<&str>, environment: Option<&str>) -> String {
        let [path, environment_path] = [path, environment].map(|text| text.map(OsString::from));
        SearchPath { path, environment_path }.folders().into_string().unwrap()
    }

    #[test]
    fn what_is_given_counts_alone_and_what_path_says_comes_before_the_usual() {
        assert_eq!(folders(Some("/a"), Some("/b")), "/a");
        assert_eq!(folders(None, None), DEFAULT_PATH);
        assert_eq!(folders(None, Some("")), DEFAULT_PATH);
        let usual = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin:/opt/slurm/bin";
        assert_eq!(folders(None, Some("/x:/usr/bin")), format!("/x:/usr/bin:{usual}"));
    }
}
