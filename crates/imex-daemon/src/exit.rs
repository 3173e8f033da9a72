//! The exit codes of `imexd`: a stable list that scripts may depend on.

use std::process::ExitCode;

/// How a run of `imexd` ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// It was told to stop and did; or `--version`, `--help`, or a `--check` without findings.
    Success,
    /// Something failed that no other code names.
    Failure,
    /// The command line is wrong.
    Usage,
    /// `config.cfg` or the node map cannot be used as it is; also a `--check` with findings.
    Configuration,
    /// A port or the command socket cannot be had.
    Address,
    /// There is no GPU driver that this build supports, and `--nogpu` was not given.
    Driver,
    /// The configuration asks for security that this build does not have.
    Security,
    /// The machine's limits are too low for this node map.
    Limits,
    /// What the security asked for needs is not on this machine, or authentication failed for good.
    Authentication,
}

impl Exit {
    /// Every way to end, in the order of the codes.
    pub const ALL: [Exit; 9] = [
        Exit::Success,
        Exit::Failure,
        Exit::Usage,
        Exit::Configuration,
        Exit::Address,
        Exit::Driver,
        Exit::Security,
        Exit::Limits,
        Exit::Authentication,
    ];

    /// The process's exit code. Never 255, which `imexctl` uses for a node map that cannot be read.
    pub const fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Failure => 1,
            Exit::Usage => 2,
            Exit::Configuration => 3,
            Exit::Address => 4,
            Exit::Driver => 5,
            Exit::Security => 6,
            Exit::Limits => 7,
            Exit::Authentication => 8,
        }
    }

    /// What the help says of it.
    const fn meaning(self) -> &'static str {
        match self {
            Exit::Success => "stopped on request",
            Exit::Failure => "failed in another way",
            Exit::Usage => "wrong command line",
            Exit::Configuration => {
                "the configuration or the node map cannot be used; --check found something"
            }
            Exit::Address => "a port or the command socket cannot be had",
            Exit::Driver => "no GPU driver that this build supports, and no --nogpu",
            Exit::Security => "the configuration asks for security that this build does not have",
            Exit::Limits => "the machine's limits are too low for this node map",
            Exit::Authentication => {
                "this machine lacks what its security needs, or authentication failed for good"
            }
        }
    }

    /// The list of all codes, for the help.
    pub(crate) fn help() -> String {
        let lines = Exit::ALL.map(|exit| format!("\n  {:>3}  {}", exit.code(), exit.meaning()));
        format!("Exit codes:{}", lines.concat())
    }

    /// The way to end that has this code, if there is one.
    pub(crate) fn from_code(code: i32) -> Option<Self> {
        Exit::ALL.into_iter().find(|exit| i32::from(exit.code()) == code)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_are_the_documented_ones_and_go_both_ways() {
        for (code, exit) in (0..).zip(Exit::ALL) {
            assert_eq!(i32::from(exit.code()), code);
            assert_eq!(Exit::from_code(code), Some(exit));
        }
        assert_eq!(Exit::from_code(255), None);
    }
}
