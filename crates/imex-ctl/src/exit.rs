//! The exit codes of `imexctl`. Scripts depend on them: numbers are added, never changed.

use std::fmt::Write;
use std::process::ExitCode;

/// How `imexctl` ended.
///
/// A table of a domain that is DOWN is a success: what was asked is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exit {
    /// What was asked for is printed, or its reader has seen enough and closed the pipe.
    Success,
    /// The command line is wrong, or was `-h`.
    Usage,
    /// The daemon that was asked does not answer, or not as an IMEX daemon does.
    Unreachable,
    /// The configuration file cannot be opened or is wrong.
    Config,
    /// The output cannot be written.
    Output,
    /// This program cannot run: the system gave it no event queue, no timer or no signal.
    System,
    /// Security is asked for over TCP, and this tool has no credentials that it could use.
    NoCredentials,
    /// Over TCP, the daemon and this tool do not believe each other.
    Untrusted,
    /// The node map cannot be read, or is too long for a table.
    NodeMap,
}

impl Exit {
    /// Every way to end, in the order of the codes.
    pub const ALL: [Exit; 9] = [
        Exit::Success,
        Exit::Usage,
        Exit::Unreachable,
        Exit::Config,
        Exit::Output,
        Exit::System,
        Exit::NoCredentials,
        Exit::Untrusted,
        Exit::NodeMap,
    ];

    /// The code. 1 and 255 are those of `nvidia-imex-ctl`.
    pub const fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Usage => 1,
            Exit::Unreachable => 2,
            Exit::Config => 3,
            Exit::Output => 4,
            Exit::System => 5,
            Exit::NoCredentials => 6,
            Exit::Untrusted => 7,
            Exit::NodeMap => 255,
        }
    }

    /// What the help says of it.
    const fn meaning(self) -> &'static str {
        match self {
            Exit::Success => "printed what was asked for, whatever state it shows",
            Exit::Usage => "wrong command line, or -h",
            Exit::Unreachable => "the daemon does not answer",
            Exit::Config => "the configuration file cannot be opened or is wrong",
            Exit::Output => "the output cannot be written",
            Exit::System => "the system gave this program no event queue, timer or signal",
            Exit::NoCredentials => "security is on, and this tool has no credentials for asking over TCP",
            Exit::Untrusted => "the daemon and this tool do not believe each other",
            Exit::NodeMap => "the node map cannot be read, or is too long for a table",
        }
    }

    /// The list of all codes, for the help.
    pub(crate) fn help() -> String {
        let mut text = "Exit codes:\n".to_owned();
        for exit in Exit::ALL {
            writeln!(text, "  {:<5}{}", exit.code(), exit.meaning()).expect("a string takes any text");
        }
        text.truncate(text.trim_end().len());
        text
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
    fn codes_are_distinct_and_ascend() {
        let codes = Exit::ALL.map(Exit::code);
        assert!(codes.is_sorted_by(|one, next| one < next), "{codes:?}");
    }

    #[test]
    fn the_codes_that_scripts_know_stay() {
        let known = [Exit::Success, Exit::Usage, Exit::Unreachable, Exit::NodeMap];
        assert_eq!(known.map(Exit::code), [0, 1, 2, 255]);
    }
}
