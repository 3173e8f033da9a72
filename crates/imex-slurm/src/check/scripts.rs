//! The scripts that Slurm runs: which ones, in which order, and if they can be run.
//!
//! Looking ([`Here`]) and judging are two: what was seen is a [`Script`].

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::conf::{Conf, Setting};
use super::{Finding, Rule, Subject, rules};

/// How much of a script is looked at for what it does, in bytes. Prologs are small; a program's first bytes tell that it
/// is one.
const LOOKED_AT: u64 = 64 * 1024;

/// How a script calls ours, however it calls the program itself.
const OURS: [&str; 4] = [" slurm prolog", " slurm epilog", " slurm task-prolog", " slurm sweep"];

/// Words by which a script that runs the IMEX service itself betrays itself: both of the known prologs have each.
const FOREIGN: [&str; 2] = ["nodes_config.cfg", "nvidia-imex"];

/// One file that Slurm runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Its path.
    pub path: PathBuf,
    /// If it can be run.
    pub bits: Bits,
    /// Who owns it.
    pub owner: u32,
    /// Its permission bits.
    pub mode: u32,
    /// What it is.
    pub kind: Kind,
    /// What it is for, as far as its text tells.
    pub purpose: Purpose,
}

/// If a file can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bits {
    /// Somebody may.
    Executable,
    /// Nobody may.
    NotExecutable,
    /// It is a folder or something else.
    NoFile,
}

/// What a file is, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A program, or a text that names its interpreter.
    Runs,
    /// Neither.
    NoInterpreter,
    /// It could not be read.
    Unread,
}

/// What a script is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// It calls `imex slurm …`.
    Ours,
    /// It configures or starts the IMEX service itself.
    Foreign,
    /// Something else.
    Other,
    /// It may call `imex slurm …` through something else: it is a program, starts others, or could not be read to its end.
    Unclear,
}

/// What a pattern or path of a setting leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// These, in the order in which they run. Never empty.
    Scripts(Vec<Script>),
    /// A pattern matches nothing.
    NoMatch,
    /// There is no such file.
    Missing,
    /// It could not be looked at: why.
    Denied(String),
    /// It was not to be looked at.
    NotLooked,
}

/// Looks at scripts.
pub trait Look {
    /// What a path or pattern leads to.
    fn look(&self, pattern: &Path) -> Found;
}

/// Looks at this machine's files.
#[derive(Clone, Copy, Debug)]
pub struct Here;

/// Looks at nothing: the scripts are on other machines.
#[derive(Clone, Copy, Debug)]
pub struct Elsewhere;

impl Look for Elsewhere {
    fn look(&self, _pattern: &Path) -> Found {
        Found::NotLooked
    }
}

impl Look for Here {
    fn look(&self, pattern: &Path) -> Found {
        if !is_pattern(pattern) {
            return match script(pattern) {
                Ok(script) => Found::Scripts(vec![script]),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Found::Missing,
                Err(error) => Found::Denied(error.to_string()),
            };
        }
        // As glob(3) does: a leading dot is matched by a dot alone.
        let options = glob::MatchOptions { require_literal_leading_dot: true, ..glob::MatchOptions::new() };
        let matched = match glob::glob_with(&pattern.to_string_lossy(), options) {
            Ok(matched) => matched,
            Err(error) => return Found::Denied(error.to_string()),
        };
        let mut paths: Vec<PathBuf> = matched.flatten().collect();
        paths.sort_by(|a, b| b.cmp(a));
        let scripts: Result<Vec<Script>, io::Error> = paths.iter().map(|path| script(path)).collect();
        match scripts {
            Ok(scripts) if scripts.is_empty() => Found::NoMatch,
            Ok(scripts) => Found::Scripts(scripts),
            Err(error) => Found::Denied(error.to_string()),
        }
    }
}

fn is_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '['])
}

fn script(path: &Path) -> io::Result<Script> {
    let meta = fs::metadata(path)?;
    let mode = meta.permissions().mode() & 0o7777;
    let bits = match (meta.is_file(), mode & 0o111) {
        (false, _) => Bits::NoFile,
        (true, 0) => Bits::NotExecutable,
        (true, _) => Bits::Executable,
    };
    let (kind, purpose) = match (bits, head(path)) {
        (Bits::NoFile, _) | (_, Err(_)) => (Kind::Unread, Purpose::Unclear),
        (_, Ok(head)) => (kind(&head), purpose(&head)),
    };
    Ok(Script { path: path.to_owned(), bits, owner: meta.uid(), mode, kind, purpose })
}

fn head(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    fs::File::open(path)?.take(LOOKED_AT).read_to_end(&mut head)?;
    Ok(head)
}

fn kind(head: &[u8]) -> Kind {
    if head.starts_with(b"#!") || head.starts_with(b"\x7fELF") { Kind::Runs } else { Kind::NoInterpreter }
}

/// Of a text only lines that are no comments count.
fn purpose(head: &[u8]) -> Purpose {
    let Ok(text) = std::str::from_utf8(head) else { return Purpose::Unclear };
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with('#')).collect();
    let says = |word: &str| lines.iter().any(|line| line.contains(word));
    // Also by a variable: `exec "$IMEX" slurm prolog`.
    if OURS.iter().any(|words| says(words)) {
        Purpose::Ours
    } else if FOREIGN.iter().all(|word| says(word)) {
        Purpose::Foreign
    } else if head.len() as u64 >= LOOKED_AT || lines.iter().any(|line| starts_others(line)) {
        Purpose::Unclear
    } else {
        Purpose::Other
    }
}

/// Words of a shell after which another script may stand, which may be ours.
const STARTERS: [&str; 14] = [
    "exec",
    ".",
    "source",
    "run-parts",
    "eval",
    "env",
    "bash",
    "sh",
    "dash",
    "ksh",
    "zsh",
    "sudo",
    "nice",
    "timeout",
];

/// Words of a shell that a command may follow.
const BEFORE: [&str; 9] = ["if", "then", "else", "elif", "do", "while", "until", "!", "{"];

/// If a line of a shell runs another script, which may be ours: any of its commands, as far as they can be told apart without a
/// shell.
fn starts_others(line: &str) -> bool {
    line.split([';', '&', '|', '(', '`']).any(|command| {
        let is_assignment = |word: &&str| word.split_once('=').is_some_and(|(name, _)| is_name(name));
        let mut words = command.split_whitespace();
        let first = words.find(|word| !BEFORE.contains(word) && !is_assignment(word)).unwrap_or_default();
        STARTERS.contains(&first) || first.starts_with(['/', '$', '"', '\'', '~']) || first.starts_with("./")
    })
}

/// If this can be the name of a variable.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Judges one key that names scripts.
pub(super) fn judge(key: &str, subject: &Subject<'_>, findings: &mut Vec<Finding>) -> Scripts {
    let mut all = Scripts { certain: true, ours: false, order: Vec::new() };
    for setting in subject.conf.counting(key).iter().filter(|setting| !setting.value.is_empty()) {
        let path = Path::new(&setting.value);
        if path.is_relative() {
            findings.push(at(&rules::RELATIVE, setting, format!("{key}={}", setting.value)));
        }
        match subject.look.look(&subject.folder.join(path)) {
            Found::Scripts(scripts) => {
                for script in scripts {
                    one(key, &script, setting, findings);
                    all.ours |= script.purpose == Purpose::Ours;
                    all.certain &= script.purpose != Purpose::Unclear;
                    all.order.push(script.path);
                }
            }
            Found::NoMatch => findings.push(at(
                &rules::NO_MATCH,
                setting,
                format!("{key}={} matches nothing", setting.value),
            )),
            Found::Missing => {
                // What it would do is not known, and once is enough to say that it is not there.
                all.certain = false;
                findings.push(at(
                    &rules::MISSING,
                    setting,
                    format!("{key}={} is not on this machine", setting.value),
                ));
            }
            Found::Denied(_) | Found::NotLooked => all.certain = false,
        }
    }
    if all.order.len() > 1 {
        let order: Vec<String> = all.order.iter().map(|path| path.display().to_string()).collect();
        let place = subject.conf.get(key).map(|setting| setting.place.clone());
        findings.push(Finding::new(&rules::ORDER, place, format!("{key} runs {}", order.join(", then "))));
    }
    all
}

/// What is known of the scripts of one key.
pub(super) struct Scripts {
    /// If all of them were seen, and what each does is clear.
    pub(super) certain: bool,
    /// If one of them is ours.
    pub(super) ours: bool,
    order: Vec<PathBuf>,
}

fn one(key: &str, script: &Script, setting: &Setting, findings: &mut Vec<Finding>) {
    let Script { path, bits, owner, mode, kind, purpose } = script;
    let path = path.display();
    match bits {
        Bits::Executable => {}
        Bits::NotExecutable => {
            findings.push(at(&rules::NOT_EXECUTABLE, setting, format!("{key}: {path} has mode {mode:04o}")))
        }
        Bits::NoFile => {
            findings.push(at(&rules::NOT_EXECUTABLE, setting, format!("{key}: {path} is no file")))
        }
    }
    if (*bits, *kind) == (Bits::Executable, Kind::NoInterpreter) {
        findings.push(at(&rules::NO_INTERPRETER, setting, format!("{key}: {path} has no `#!`")));
    }
    // A TaskProlog runs as the user, who may own it for all that root cares.
    if key != "TaskProlog" && (*owner != 0 || mode & 0o022 != 0) {
        let what = format!("{key}: {path} belongs to user {owner} and has mode {mode:04o}");
        findings.push(at(&rules::OWNER, setting, what));
    }
    if *purpose == Purpose::Foreign {
        findings.push(at(&rules::FOREIGN, setting, format!("{key}: {path}")));
    }
}

/// What is missing altogether.
pub(super) fn missing(conf: &Conf, prolog: &Scripts, epilog: &Scripts, findings: &mut Vec<Finding>) {
    let set = |key: &str| conf.get(key).filter(|setting| !setting.value.is_empty());
    match set("Prolog") {
        None => findings.push(Finding::new(&rules::NO_PROLOG, None, "Prolog is not set")),
        Some(setting) if prolog.certain && !prolog.ours => {
            findings.push(at(&rules::NOT_OURS, setting, "no script of Prolog calls `imex slurm prolog`"))
        }
        Some(_) => {}
    }
    match set("Epilog") {
        None => findings.push(Finding::new(&rules::NO_EPILOG, None, "Epilog is not set")),
        Some(setting) if epilog.certain && !epilog.ours => {
            findings.push(at(&rules::NO_EPILOG, setting, "no script of Epilog calls `imex slurm epilog`"))
        }
        Some(_) => {}
    }
    if set("TaskProlog").is_none() {
        findings.push(Finding::new(&rules::NO_TASK_PROLOG, None, "TaskProlog is not set"));
    }
    match set("HealthCheckProgram") {
        None => findings.push(Finding::new(&rules::NO_SWEEP, None, "HealthCheckProgram is not set")),
        Some(_) => {
            let interval = conf.get("HealthCheckInterval").map_or("0", |setting| setting.value.as_str());
            if interval.split_whitespace().next() == Some("0") {
                let place = conf.get("HealthCheckInterval").map(|setting| setting.place.clone());
                findings.push(Finding::new(
                    &rules::SWEEP_NEVER,
                    place,
                    "HealthCheckInterval is 0 or not set",
                ));
            }
        }
    }
}

fn at(rule: &'static Rule, setting: &Setting, what: impl Into<String>) -> Finding {
    Finding::new(rule, Some(setting.place.clone()), what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_script_is_for_is_told_from_what_it_runs() {
        for (text, expected) in [
            ("#!/bin/sh\nexec /usr/bin/imex slurm prolog\n", Purpose::Ours),
            ("#!/bin/sh\nIMEX=/opt/imex\nexec \"$IMEX\" slurm prolog\n", Purpose::Ours),
            ("#!/bin/sh\nexec /opt/site/prolog-all\n", Purpose::Unclear),
            ("#!/bin/sh\nfor f in /etc/p.d/*; do\n  $f\ndone\n", Purpose::Unclear),
            ("#!/bin/sh\n. /opt/site/functions\n", Purpose::Unclear),
            ("#!/bin/sh\nfor f in /etc/p.d/*; do \"$f\"; done\n", Purpose::Unclear),
            ("#!/bin/sh\n[ -x /opt/a ] && LANG=C /opt/a\n", Purpose::Unclear),
            ("#!/bin/sh\nif true; then bash x; fi\n", Purpose::Unclear),
            ("#!/bin/sh\neval \"$LINE\"\n", Purpose::Unclear),
            ("#!/bin/sh\nout=$(./more)\n", Purpose::Unclear),
            ("#!/bin/sh\nif [ -e /dev/x ]; then echo \"is there\" > /var/log/x; fi\n", Purpose::Other),
            ("#!/bin/sh\n# exec imex slurm prolog\necho 3 > /proc/sys/vm/drop_caches\n", Purpose::Other),
            ("#!/bin/sh\nnvidia-imex -c /etc/nvidia-imex/nodes_config.cfg\n", Purpose::Foreign),
        ] {
            assert_eq!(purpose(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(purpose(b"\x7fELF\xff\xfe"), Purpose::Unclear);
    }

    #[test]
    fn files_of_a_pattern_run_in_reverse_order_and_are_told_by_what_they_do() {
        let dir = tempfile::tempdir().unwrap();
        for (name, mode, text) in [
            ("10-a", 0o755, "#!/bin/sh\nexec /usr/bin/imex slurm prolog\n"),
            ("20-b", 0o755, "#!/bin/sh\nsystemctl restart nvidia-imex # /etc/nvidia-imex/nodes_config.cfg\n"),
            ("B", 0o777, "exit 0\n"),
            ("README", 0o644, "#! about imex slurm prolog\n"),
            (".hidden", 0o755, "#!/bin/sh\n"),
        ] {
            let path = dir.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        let Found::Scripts(scripts) = Here.look(&dir.path().join("*")) else { panic!("nothing found") };
        let seen: Vec<_> = scripts
            .iter()
            .map(|one| {
                let name = one.path.file_name().unwrap().to_str().unwrap();
                (name, one.bits, one.kind, one.purpose)
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("README", Bits::NotExecutable, Kind::Runs, Purpose::Other),
                ("B", Bits::Executable, Kind::NoInterpreter, Purpose::Other),
                ("20-b", Bits::Executable, Kind::Runs, Purpose::Foreign),
                ("10-a", Bits::Executable, Kind::Runs, Purpose::Ours),
            ]
        );
        assert_eq!(Here.look(&dir.path().join("x*")), Found::NoMatch);
        assert_eq!(Here.look(&dir.path().join("x")), Found::Missing);
    }
}
