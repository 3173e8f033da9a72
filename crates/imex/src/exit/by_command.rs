//! Which exit codes a command can give: what its help lists.

use clap::Command;

use super::Exit;

/// A command by its words, what 0 means for it, and its codes besides 0, 1 and 2, in order.
type Row = (&'static str, &'static str, &'static [Exit]);

/// How a domain can fail to be UP.
const NOT_UP: [Exit; 8] = [
    Exit::NoDaemon,
    Exit::Unreachable,
    Exit::Version,
    Exit::Map,
    Exit::OtherDomain,
    Exit::NotReady,
    Exit::Protocol,
    Exit::Unauthenticated,
];

const COMMANDS: &[Row] = &[
    ("wait", "the domain is UP", &[Exit::Config, Exit::Members]),
    (
        "lab",
        "the domain is UP, or the lab was ended after that",
        &[Exit::LabRuns, Exit::NodeEnded, Exit::LabFailed, Exit::Interrupted],
    ),
    ("lab up", "the domain is UP", &[Exit::LabRuns, Exit::NodeEnded, Exit::LabFailed]),
    ("lab status", "told, whatever the domain's state", &[Exit::NoDaemon, Exit::NoLab]),
    ("lab kill", "the node has the signal", &[Exit::NoLab, Exit::NoSuchNode, Exit::NodeState]),
    ("lab start", "the node runs", &[Exit::NoLab, Exit::NoSuchNode, Exit::NodeState]),
    ("lab down", "all nodes have ended", &[Exit::NoLab]),
    (
        "follow",
        "told to stop",
        &[Exit::Config, Exit::SourcesDisagree, Exit::SourceUnreadable, Exit::NoFabric, Exit::NotFollowed],
    ),
    ("channel list", "told, whatever state they are in", &[Exit::Config, Exit::NotADevice]),
    (
        "channel create",
        "they are as they should be",
        &[
            Exit::Config,
            Exit::NoChannels,
            Exit::ChannelMissing,
            Exit::ChannelWrong,
            Exit::NotADevice,
            Exit::BeyondChannels,
        ],
    ),
    ("channel remove", "they are gone", &[Exit::Config, Exit::NotADevice]),
    (
        "channel check",
        "the user can open them",
        &[
            Exit::Config,
            Exit::NoChannels,
            Exit::ChannelMissing,
            Exit::ChannelWrong,
            Exit::ChannelDenied,
            Exit::ChannelNoDriver,
            Exit::NotADevice,
            Exit::BeyondChannels,
        ],
    ),
    ("topology generate", "written", &[Exit::SourcesDisagree, Exit::SourceUnreadable]),
    ("topology lint", "no errors", &[Exit::TopologyErrors, Exit::SourceUnreadable]),
    ("topology diff", "nothing differs", &[Exit::TopologyDiffers, Exit::SourceUnreadable]),
    (
        "topology identify",
        "the node is in a fabric",
        &[Exit::SourceUnreadable, Exit::NoFabric, Exit::FabricPending, Exit::FabricFailed],
    ),
    ("topology collect", "every node has reported", &[Exit::SourceUnreadable]),
    (
        "topology apply",
        "the controller holds it",
        &[
            Exit::TopologyErrors,
            Exit::SourceUnreadable,
            Exit::ControllerDiffers,
            Exit::ControllerSilent,
            Exit::RolledBack,
            Exit::RollbackUnconfirmed,
            Exit::TopologyBusy,
        ],
    ),
    (
        "topology verify",
        "the controller holds the file, and the sources say the same",
        &[
            Exit::TopologyErrors,
            Exit::TopologyDiffers,
            Exit::SourcesDisagree,
            Exit::SourceUnreadable,
            Exit::ControllerDiffers,
            Exit::ControllerSilent,
        ],
    ),
    (
        "topology watch",
        "told to stop; with --once, the last poll was good",
        &[
            Exit::TopologyErrors,
            Exit::SourcesDisagree,
            Exit::SourceUnreadable,
            Exit::ControllerDiffers,
            Exit::ControllerSilent,
            Exit::RolledBack,
            Exit::RollbackUnconfirmed,
            Exit::TopologyBusy,
            Exit::Interrupted,
        ],
    ),
    ("topology node-map", "printed", &[Exit::SourcesDisagree, Exit::SourceUnreadable, Exit::NoFabric]),
    ("topology plan", "the job would start", &[Exit::SourceUnreadable, Exit::JobWaits, Exit::JobRefused]),
    ("pki init", "made", &[Exit::PkiExists, Exit::NoAuthority, Exit::PkiUnwritable]),
    (
        "pki issue",
        "issued to all",
        &[Exit::Config, Exit::PkiExists, Exit::NoAuthority, Exit::PkiUnwritable, Exit::CertificateUnreadable],
    ),
    ("pki show", "it counts", &[Exit::CertificateUnreadable, Exit::CertificateOutOfTime]),
    (
        "slurm prolog",
        "the job may begin",
        &[
            Exit::Config,
            Exit::JobContext,
            Exit::NodeUnfit,
            Exit::DomainInUse,
            Exit::NoChannel,
            Exit::MembersUnknown,
            Exit::FilesUnwritable,
            Exit::ServiceFailed,
            Exit::AtFault,
            Exit::Tied,
            Exit::OtherAtFault,
            Exit::Unexplained,
            Exit::Terminated,
        ],
    ),
    (
        "slurm epilog",
        "nothing of the job is left",
        &[Exit::Config, Exit::JobContext, Exit::Terminated, Exit::NotTakenAway],
    ),
    ("slurm sweep", "nothing of an ended job is left", &[Exit::Config, Exit::NotTakenAway]),
    ("slurm task-prolog", "the task may start", &[Exit::Config, Exit::JobContext, Exit::TaskRefused]),
    ("slurm settings", "printed", &[Exit::Config]),
    (
        "slurm check",
        "notes at most",
        &[
            Exit::Config,
            Exit::ControllerSilent,
            Exit::SlurmErrors,
            Exit::SlurmWarnings,
            Exit::SlurmUnreadable,
        ],
    ),
    ("slurm metrics", "told", &[Exit::Config]),
    ("doctor", "nothing is wrong", &[Exit::DoctorFails, Exit::DoctorWarns, Exit::DoctorUnknown]),
    ("doctor explain", "explained", &[Exit::NoSuchCode]),
    (
        "validate",
        "verified",
        &[
            Exit::Config,
            Exit::NoDaemon,
            Exit::Unreachable,
            Exit::Version,
            Exit::Map,
            Exit::NotReady,
            Exit::SourceUnreadable,
            Exit::NoJob,
            Exit::JobNodes,
            Exit::Channel,
            Exit::NoReport,
            Exit::Bandwidth,
        ],
    ),
];

/// What the program's own help says instead of a list that is longer than it.
const POINTER: &str = "Each command's help lists its exit codes; docs/exit-codes.md lists all.";

/// Adds to the help of each command the codes that it can give.
pub(crate) fn documented(program: Command) -> Command {
    with_codes(program, "").after_help(POINTER)
}

fn with_codes(command: Command, words: &str) -> Command {
    let command = command.mut_subcommands(|subcommand| {
        let words = format!("{words} {}", subcommand.get_name());
        with_codes(subcommand, words.trim_start())
    });
    match codes(words) {
        Some((done, codes)) => command.after_help(help(done, &codes)),
        None => command,
    }
}

/// What 0 means, and all codes in order.
fn codes(words: &str) -> Option<(&'static str, Vec<Exit>)> {
    let (_, done, own) = COMMANDS.iter().find(|(command, ..)| *command == words)?;
    let not_up = if matches!(words, "wait" | "lab" | "lab up") { &NOT_UP[..] } else { &[] };
    let mut codes = [&[Exit::Done, Exit::Failed, Exit::Usage], *own, not_up].concat();
    codes.sort_by_key(|exit| exit.code());
    Some((done, codes))
}

fn help(done: &str, codes: &[Exit]) -> String {
    let mut text = String::from("Exit codes:");
    for (exit, meaning) in Exit::TABLE.iter().filter(|(exit, _)| codes.contains(exit)) {
        let meaning = if *exit == Exit::Done { done } else { meaning };
        text.push_str(&format!("\n  {:>3}  {meaning}", exit.code()));
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_command_has_its_codes_and_every_code_a_command() {
        let mut found = BTreeSet::new();
        walk(&crate::cli::command(), "", &mut found);
        let listed: BTreeSet<String> = COMMANDS.iter().map(|(words, ..)| (*words).to_owned()).collect();
        assert_eq!(listed, found);
        let given: BTreeSet<Exit> = COMMANDS.iter().flat_map(|(words, ..)| codes(words).unwrap().1).collect();
        let known: BTreeSet<Exit> = Exit::TABLE.iter().map(|(exit, _)| *exit).collect();
        assert_eq!(given, known);
    }

    /// What the recorded runs of all commands ended with is held against the lists.
    #[test]
    fn no_recorded_run_ended_with_a_code_that_its_help_lacks() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/snapshots");
        let mut judged = 0;
        for entry in fs::read_dir(folder).unwrap() {
            let text = fs::read_to_string(entry.unwrap().path()).unwrap();
            let Some(line) = text.lines().find_map(|line| line.strip_prefix("$ imex ")) else { continue };
            let Some(code) = text.lines().rev().find_map(|line| line.strip_prefix("--- exit code ")) else {
                continue;
            };
            let words: Vec<&str> = line.split_whitespace().collect();
            let two = words.get(..2).map(|words| words.join(" "));
            let Some((_, codes)) = two.and_then(|two| codes(&two)).or_else(|| codes(words.first()?)) else {
                continue;
            };
            let code: u8 = code.trim().parse().unwrap();
            assert!(codes.iter().any(|exit| exit.code() == code), "{code} of `{line}`");
            judged += 1;
        }
        assert!(judged > 100, "{judged}");
    }

    /// The commands that do something by themselves.
    fn walk(command: &Command, words: &str, found: &mut BTreeSet<String>) {
        for subcommand in
            command.get_subcommands().filter(|one| !one.is_hide_set() && one.get_name() != "help")
        {
            let words = format!("{words} {}", subcommand.get_name()).trim_start().to_owned();
            let children = subcommand.get_subcommands().any(|one| !one.is_hide_set());
            if !children || ["lab", "doctor"].contains(&words.as_str()) {
                found.insert(words.clone());
            }
            walk(subcommand, &words, found);
        }
    }
}
