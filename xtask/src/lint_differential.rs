//! Lint against the real controller: generated topology files, good and bad, are linted and given to a real slurmctld.
//!
//! One slurmctld is started for each file, inside a cluster's namespaces and beside the cluster's own, over the nodes
//! that the files are made for. It loads a file if it becomes the primary controller, and refuses it if it ends with a
//! fatal error or a crash. Every disagreement fails the task, with the file and what lint found in it.

mod judge;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use clap::Args;
use imex_topology::corpus::{self, Case};
use imex_topology::lint::Verdict;

use crate::clock::Stopwatch;
use crate::error::TaskError;
use crate::report::{self, Report};
use crate::slurm_lab::{Cluster, Keep, Root, Setup};
use crate::tree;
use judge::{Judge, Seen};

/// The files of a run in CI: each takes less than a tenth of a second.
const SMOKE_FILES: usize = 200;

#[derive(Args)]
pub(crate) struct Options {
    /// How many files
    #[arg(long, value_name = "N", default_value_t = 250)]
    files: usize,
    /// What the random numbers begin with
    #[arg(long, value_name = "N", default_value_t = corpus::SEED)]
    seed: u64,
}

/// What became of the files of a class.
#[derive(Clone, Copy, Default)]
struct Count {
    loaded: usize,
    refused: usize,
    crashed: usize,
    other: usize,
    agreed: usize,
}

/// A bounded run for CI. A machine that cannot have a real Slurm is told so and passes.
pub(crate) fn smoke(report: &mut Report) -> Result<(), TaskError> {
    match run(&Options { files: SMOKE_FILES, seed: corpus::SEED }, report) {
        Err(TaskError::NotHere(why)) => {
            report.warning(format_args!("lint against a real Slurm: {why}"));
            Ok(())
        }
        done => done,
    }
}

/// Judges all files both ways and prints a table of agreement.
pub(crate) fn run(options: &Options, report: &mut Report) -> Result<(), TaskError> {
    let root = Root::build(report)?;
    let running = Stopwatch::start();
    let dir = tree::target().join(format!("slurm-lab/lint-{}", std::process::id()));
    // The cluster lends its namespaces and its munged; its own controller and node are not asked anything.
    let setup = Setup::daemons(1);
    let cluster = Cluster::up(&root, &dir, &setup, Keep::WhileStarterLives)?;
    let judge = Judge::new(&cluster)?;
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    let mut disagreements = Vec::new();
    for case in files(options) {
        let seen = judge.see(&case)?;
        let agrees = seen.agrees_with(case.verdict());
        counts.entry(class(&case)).or_default().add(&seen, agrees);
        if !agrees {
            disagreements.push(disagreement(&case, &seen));
        }
    }
    table(&counts, report);
    let took = report::seconds(running.elapsed());
    report.line(format_args!("{}, seed {}, {took} in all", root.version()?, options.seed));
    cluster.down()?;
    std::fs::remove_dir_all(&dir).map_err(TaskError::file("remove", dir))?;
    TaskError::from_findings(disagreements)
}

/// Half of the files are edits of a good one, as far as there are so many, and the others are random. Fewer edits than
/// there are lie evenly among them, and another seed begins with another one.
fn files(options: &Options) -> Vec<Case> {
    let edits = corpus::cases(options.seed, 0);
    let share = edits.len().min(options.files / 2);
    let first = usize::try_from(options.seed % edits.len() as u64).unwrap_or(0);
    let edit = |index: usize| edits[(first + index * edits.len() / share) % edits.len()].clone();
    let others = options.files - share;
    let random = corpus::cases(options.seed, others.div_ceil(2)).into_iter().skip(edits.len()).take(others);
    (0..share).map(edit).chain(random).collect()
}

/// How a file came to be, and its form.
fn class(case: &Case) -> &'static str {
    let yaml = case.file_name().ends_with(".yaml");
    match case.name.split('-').next() {
        Some("random") if yaml => "random topology.yaml",
        Some("random") => "random topology.conf",
        Some("damaged") if yaml => "damaged topology.yaml",
        Some("damaged") => "damaged topology.conf",
        _ if yaml => "edited topology.yaml",
        _ => "edited topology.conf",
    }
}

fn disagreement(case: &Case, seen: &Seen) -> String {
    let lint = match case.verdict() {
        Verdict::Loads => "loads",
        Verdict::Refuses => "refuses",
    };
    let mut text = format!("{}: slurmctld {seen}; lint says that it {lint} it\n", case.file_name());
    for finding in case.report().findings {
        let line = finding.line.map_or_else(|| "-".to_owned(), |line| line.to_string());
        let _ = writeln!(text, "  line {line}: {} {}", finding.rule.id, finding.what);
    }
    for line in case.text.lines() {
        let _ = writeln!(text, "  | {line}");
    }
    text
}

impl Count {
    fn add(&mut self, seen: &Seen, agrees: bool) {
        match seen {
            Seen::Loads => self.loaded += 1,
            Seen::Refuses(_) => self.refused += 1,
            Seen::Crashes(_) => self.crashed += 1,
            Seen::Other(_) => self.other += 1,
        }
        self.agreed += usize::from(agrees);
    }

    fn row(self, name: &str) -> Vec<String> {
        let files = self.loaded + self.refused + self.crashed + self.other;
        let numbers =
            [files, self.loaded, self.refused, self.crashed, self.other, self.agreed, files - self.agreed];
        std::iter::once(name.to_owned()).chain(numbers.iter().map(usize::to_string)).collect()
    }
}

fn table(counts: &BTreeMap<&str, Count>, report: &mut Report) {
    let mut rows: Vec<Vec<String>> = counts.iter().map(|(name, count)| count.row(name)).collect();
    let all = counts.values().fold(Count::default(), |all, count| Count {
        loaded: all.loaded + count.loaded,
        refused: all.refused + count.refused,
        crashed: all.crashed + count.crashed,
        other: all.other + count.other,
        agreed: all.agreed + count.agreed,
    });
    rows.push(all.row("all"));
    report.table(
        &["class", "files", "loaded", "refused", "crashed", "neither", "lint agrees", "differs"],
        &rows,
    );
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_run_has_as_many_different_files_as_asked_for_and_both_verdicts() {
        for (count, seed) in [(0, 1), (1, 1), (200, corpus::SEED), (250, 7), (600, u64::MAX)] {
            let files = files(&Options { files: count, seed });
            assert_eq!(files.len(), count);
            let names: BTreeSet<String> = files.iter().map(Case::file_name).collect();
            assert_eq!(names.len(), count, "{count} files of seed {seed}");
            let loads = files.iter().filter(|case| case.verdict() == Verdict::Loads).count();
            assert!(count < 200 || (count / 5..count * 4 / 5).contains(&loads), "{loads} of {count} load");
        }
    }
}
