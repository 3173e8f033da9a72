//! `imex topology lint`: what is wrong with a topology file.

use std::io::{self, Write};

use imex_topology::Form;
use imex_topology::lint::{Context, Finding, Report, Severity, Verdict, lint};
use imex_topology::source::slurm_conf;
use serde::Serialize;

use super::args::{FormArg, LintArgs};
use super::{aws, files};
use crate::cli::format;
use crate::exit::Exit;
use crate::failure::Stop;
use crate::output::{self, Format, count};

/// What was found.
#[derive(Debug, Serialize)]
struct Linted {
    /// The exit code.
    exit_code: Exit,
    /// The file.
    file: String,
    /// What slurmctld would do with it.
    slurmctld: Verdict,
    errors: usize,
    warnings: usize,
    findings: Vec<Row>,
}

/// One finding.
#[derive(Debug, Serialize)]
struct Row {
    rule: &'static str,
    name: &'static str,
    severity: Severity,
    /// From 1; absent if the finding is about the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    what: String,
    fix: &'static str,
}

/// Runs the command.
pub(crate) fn run(args: &LintArgs, out: &mut dyn Write) -> Result<Exit, Stop> {
    let text = files::read(&args.file)?;
    let form = match args.form {
        Some(FormArg::Yaml) => Form::Yaml,
        Some(FormArg::Conf) => Form::Conf,
        None => files::form(&args.file, &text),
    };
    let mut context = Context { version: args.slurm_version, ..Context::default() };
    if let Some(path) = &args.slurm_conf {
        let conf = slurm_conf::parse(&files::read(path)?).map_err(|error| files::unreadable(path, &error))?;
        context.nodes = Some(conf.nodes);
        context.partitions = conf.partitions;
    }
    if let Some(cluster) = &args.pcs_cluster {
        context.queues = aws::queues(&args.aws, cluster)?;
    }
    let linted = Linted::new(args, lint(&text, form, &context));
    match format(args.json) {
        Format::Json => output::json(&linted, out)?,
        Format::Text => linted.write(out)?,
    }
    Ok(linted.exit_code)
}

impl Linted {
    fn new(args: &LintArgs, report: Report) -> Self {
        let failing = if args.strict { Severity::Warning } else { Severity::Error };
        let fails = report.worst().is_some_and(|worst| worst >= failing);
        let of =
            |severity| report.findings.iter().filter(|finding| finding.rule.severity == severity).count();
        Linted {
            exit_code: if fails { Exit::TopologyErrors } else { Exit::Done },
            file: args.file.display().to_string(),
            slurmctld: report.verdict(),
            errors: of(Severity::Error),
            warnings: of(Severity::Warning),
            findings: report.findings.into_iter().map(Row::from).collect(),
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for Row { rule, name: _, severity, line, what, fix } in &self.findings {
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            writeln!(out, "{}{line}: {severity} {rule}: {what}", self.file)?;
            writeln!(out, "  fix: {fix}")?;
        }
        let verdict = match self.slurmctld {
            Verdict::Loads => "slurmctld loads it",
            Verdict::Refuses => "slurmctld refuses it",
        };
        let (errors, warnings) = (count(self.errors, "error"), count(self.warnings, "warning"));
        writeln!(out, "{}: {errors}, {warnings}; {verdict}", self.file)
    }
}

impl From<Finding> for Row {
    fn from(finding: Finding) -> Self {
        let Finding { rule, line, what } = finding;
        Row { rule: rule.id, name: rule.name, severity: rule.severity, line, what, fix: rule.fix }
    }
}
