//! `imex slurm check`: what is wrong with Slurm's settings.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use imex_config::operator::{self, Operator};
use imex_host::Program;
use imex_slurm::check::conf::{self, Conf};
use imex_slurm::check::scripts::{Elsewhere, Here, Look};
use imex_slurm::check::{Finding, Place, Severity, Subject, TopologyFiles, check, live};
use imex_slurm::release::Release;
use imex_slurm::settings::{Budget, ChannelMaker};
use serde::Serialize;

use super::args::CheckArgs;
use crate::cli::format;
use crate::exit::Exit;
use crate::failure::{Failure, Stop};
use crate::output::{self, Format, count};
use crate::run::block_on;
use crate::search::hint_of_scontrol;

/// Where the settings come from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// From this file and those that it includes.
    File(PathBuf),
    /// From standard input; what it includes is not read.
    Stdin,
    /// From the controller.
    Controller {
        /// Where scontrol is looked for.
        path: OsString,
        /// How long one question may take.
        ask: Duration,
    },
}

/// What was found.
#[derive(Debug, Serialize)]
pub(crate) struct Checked {
    /// The exit code.
    pub(crate) exit_code: Exit,
    /// What was judged.
    subject: String,
    errors: usize,
    warnings: usize,
    notes: usize,
    /// By place, those without one first.
    pub(crate) findings: Vec<Row>,
}

/// One finding.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) rule: &'static str,
    name: &'static str,
    pub(crate) severity: Severity,
    /// Absent if it is about what is not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<Place>,
    pub(crate) what: String,
    meaning: &'static str,
    fix: &'static str,
}

/// Runs the command.
pub(super) fn run(args: &CheckArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let operator = operator::load(&args.config).map_err(|error| Failure::new(Exit::Config, &error))?;
    let look: &dyn Look = if args.no_scripts { &Elsewhere } else { &Here };
    let checked = judged(&args.source(), look, args.slurm_version, &operator)?;
    match format(args.json) {
        Format::Json => output::json(&checked, out)?,
        Format::Text => checked.write(out)?,
    }
    Ok(checked.exit_code)
}

/// Reads and judges.
///
/// # Errors
///
/// If the file cannot be read, or the controller does not answer.
pub(crate) fn judged(
    source: &Source,
    look: &dyn Look,
    release: Option<Release>,
    operator: &Operator,
) -> Result<Checked, Failure> {
    let (conf, name, file) = read(source)?;
    let folder = file.as_deref().and_then(Path::parent).unwrap_or(Path::new("/etc/slurm"));
    let subject = Subject {
        conf: &conf,
        folder,
        look,
        topology: if file.is_some() { topology_files(folder) } else { TopologyFiles::Unknown },
        release,
        budget: Budget::from(operator),
        channels: ChannelMaker::from(operator),
    };
    Ok(Checked::new(name, check(&subject)))
}

/// The settings, their name for people, and the file that they are in, if this machine has it.
fn read(source: &Source) -> Result<(Conf, String, Option<PathBuf>), Failure> {
    match source {
        Source::File(path) => {
            let conf = conf::read(path, &Disk).map_err(|error| unreadable(path, &error))?;
            Ok((conf, path.display().to_string(), Some(path.clone())))
        }
        Source::Stdin => {
            let (mut bytes, path) = (Vec::new(), Path::new("-"));
            io::stdin().lock().read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
            Ok((conf::parse(path, &String::from_utf8_lossy(&bytes)), "standard input".to_owned(), None))
        }
        Source::Controller { path, ask } => {
            let asked = |words: &[&str]| {
                let program = Program::new("scontrol").words(words).path(path).deadline(*ask);
                block_on(async move { program.run().await })?.map_err(|error| {
                    Failure::new(Exit::ControllerSilent, &error).hint(hint_of_scontrol(&error))
                })
            };
            let config = asked(&["show", "config"])?.out;
            let partitions = asked(&["--oneliner", "show", "partitions"])?.out;
            let conf = live::parse(&config, &partitions);
            let file = conf.get("SLURM_CONF").map(|setting| PathBuf::from(&setting.value));
            Ok((conf, "the controller".to_owned(), file.filter(|file| file.is_file())))
        }
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::because(Exit::SlurmUnreadable, format!("`{}` cannot be read: {error}", path.display()))
        .hint("name the file, or ask the controller with --live")
}

/// The topology files beside `slurm.conf`.
fn topology_files(folder: &Path) -> TopologyFiles {
    match (folder.join("topology.yaml").is_file(), folder.join("topology.conf").is_file()) {
        (true, _) => TopologyFiles::Yaml,
        (false, true) => TopologyFiles::Conf,
        (false, false) => TopologyFiles::Neither,
    }
}

/// The files of this machine.
struct Disk;

impl conf::Files for Disk {
    fn read(&self, path: &Path) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
    }
}

impl CheckArgs {
    fn source(&self) -> Source {
        if self.live {
            Source::Controller { path: self.path.folders(), ask: self.ask }
        } else if self.file == Path::new("-") {
            Source::Stdin
        } else {
            Source::File(self.file.clone())
        }
    }
}

impl Checked {
    fn new(subject: String, findings: Vec<Finding>) -> Self {
        let of = |severity| findings.iter().filter(|finding| finding.rule.severity == severity).count();
        let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
        let exit_code = match (errors, warnings) {
            (0, 0) => Exit::Done,
            (0, _) => Exit::SlurmWarnings,
            (_, _) => Exit::SlurmErrors,
        };
        let notes = of(Severity::Note);
        Checked {
            exit_code,
            subject,
            errors,
            warnings,
            notes,
            findings: findings.into_iter().map(Row::from).collect(),
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for Row { rule, name, severity, place, what, meaning, fix } in &self.findings {
            let place = place.as_ref().map_or_else(|| self.subject.clone(), Place::to_string);
            writeln!(out, "{place}: {severity} {rule} {name}: {what}")?;
            writeln!(out, "  {meaning}")?;
            writeln!(out, "  fix: {fix}")?;
        }
        let (errors, warnings) = (count(self.errors, "error"), count(self.warnings, "warning"));
        writeln!(out, "{}: {errors}, {warnings}, {}", self.subject, count(self.notes, "note"))
    }
}

impl From<Finding> for Row {
    fn from(finding: Finding) -> Self {
        let Finding { rule, place, what } = finding;
        let imex_slurm::check::Rule { id, name, severity, meaning, fix } = *rule;
        Row { rule: id, name, severity, place, what, meaning, fix }
    }
}
