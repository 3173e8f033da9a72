//! What the records of runs come to: how many ended how, how long they took, how the last one went.
//!
//! Only the newest records are kept, so nothing here counts from the beginning of time: every figure is a gauge over the
//! records that are there.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::record::FOLDER;

/// How many of the newest records are read: more than `files.keep` of openimex.toml usually leaves.
const MOST: usize = 10_000;

/// How much of one is read, in bytes: a record of a rack has a tenth of it.
const LARGEST: u64 = 1 << 20;

/// The quantiles of how long runs took.
const QUANTILES: [(&str, f64); 3] = [("0.5", 0.5), ("0.9", 0.9), ("1", 1.0)];

/// A record, as far as figures are made from it. What a later version adds is passed over.
#[derive(Debug, Deserialize)]
struct Written {
    kind: String,
    time: Timestamp,
    ended: Timestamp,
    #[serde(default)]
    steps: Vec<Step>,
    result: Ended,
    #[serde(default)]
    cpu_ms: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
struct Step {
    step: String,
    ms: u64,
}

#[derive(Debug, Deserialize)]
struct Ended {
    ending: String,
    exit_code: u8,
}

/// What the records of a node come to.
#[derive(Debug, Default, Serialize)]
pub struct Summary {
    /// By kind: `prolog`, `epilog`, `sweep`.
    kinds: BTreeMap<String, Runs>,
    /// Files among them that are no records.
    unreadable: u64,
}

/// The runs of one kind.
#[derive(Debug, Serialize)]
struct Runs {
    /// How many ended how.
    endings: BTreeMap<String, u64>,
    /// How long each took, the shortest first.
    #[serde(skip)]
    seconds: Vec<f64>,
    last: Last,
    /// When the newest one began that told Slurm of a failure.
    last_failure: Option<Timestamp>,
}

/// The newest run of a kind.
#[derive(Debug, Serialize)]
struct Last {
    time: Timestamp,
    seconds: f64,
    exit_code: u8,
    steps: Vec<Step>,
    cpu_ms: Option<u32>,
}

impl Summary {
    /// Reads the records in a folder of states. One that is not there has none.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read.
    pub fn read(state: &Path) -> io::Result<Self> {
        let entries = match fs::read_dir(state.join(FOLDER)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Summary::default()),
            Err(error) => return Err(error),
        };
        let paths = entries.flatten().map(|entry| entry.path());
        let mut paths: Vec<PathBuf> =
            paths.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect();
        // Their names begin with their time.
        paths.sort();
        let from = paths.len().saturating_sub(MOST);
        let mut summary = Summary::default();
        paths[from..].iter().for_each(|path| summary.add(&text(path).unwrap_or_default()));
        Ok(summary)
    }

    /// Adds a record that is not older than those before.
    fn add(&mut self, text: &str) {
        let Ok(Written { kind, time, ended, steps, result, cpu_ms }) = serde_json::from_str(text) else {
            self.unreadable += 1;
            return;
        };
        let Ended { ending, exit_code } = result;
        let seconds = ended.duration_since(time).as_secs_f64().max(0.0);
        let last = Last { time, seconds, exit_code, steps, cpu_ms };
        let failure = (exit_code != 0).then_some(time);
        let runs = match self.kinds.remove(&kind) {
            Some(Runs { mut endings, seconds: mut all, last: _, last_failure }) => {
                *endings.entry(ending).or_default() += 1;
                all.insert(all.partition_point(|one| *one < seconds), seconds);
                Runs { endings, seconds: all, last, last_failure: failure.or(last_failure) }
            }
            None => Runs {
                endings: BTreeMap::from([(ending, 1)]),
                seconds: vec![seconds],
                last,
                last_failure: failure,
            },
        };
        self.kinds.insert(kind, runs);
    }

    /// The text that Prometheus reads.
    pub fn prometheus(&self) -> String {
        let mut page = Page::default();
        page.family("records", "Runs by how they ended, among the records that are kept.");
        for (kind, runs) in &self.kinds {
            for (ending, count) in &runs.endings {
                page.row("records", &[("kind", kind), ("ending", ending)], count);
            }
        }
        page.family("run_seconds", "How long runs took, among the records that are kept.");
        for (kind, runs) in &self.kinds {
            for (name, part) in QUANTILES {
                page.row("run_seconds", &[("kind", kind), ("quantile", name)], quantile(&runs.seconds, part));
            }
        }
        page.family("last_run_timestamp_seconds", "When the newest run began.");
        self.each(&mut page, "last_run_timestamp_seconds", |runs| Some(runs.last.time.as_second()));
        page.family("last_run_seconds", "How long the newest run took.");
        self.each(&mut page, "last_run_seconds", |runs| Some(runs.last.seconds));
        page.family("last_run_exit_code", "What the newest run told Slurm.");
        self.each(&mut page, "last_run_exit_code", |runs| Some(runs.last.exit_code));
        page.family("last_run_cpu_seconds", "Processor time of the newest run.");
        self.each(&mut page, "last_run_cpu_seconds", |runs| runs.last.cpu_ms.map(|ms| f64::from(ms) / 1e3));
        page.family("last_failure_timestamp_seconds", "When the newest run began that failed.");
        self.each(&mut page, "last_failure_timestamp_seconds", |runs| {
            runs.last_failure.map(Timestamp::as_second)
        });
        page.family("last_run_step_seconds", "How long each step of the newest run took.");
        for (kind, runs) in &self.kinds {
            for Step { step, ms } in &runs.last.steps {
                let labels = [("kind", kind.as_str()), ("step", step.as_str())];
                page.row(
                    "last_run_step_seconds",
                    &labels,
                    std::time::Duration::from_millis(*ms).as_secs_f64(),
                );
            }
        }
        page.family("unreadable_records", "Files among the records that are none.");
        page.row("unreadable_records", &[], self.unreadable);
        page.text
    }

    fn each<V: std::fmt::Display>(&self, page: &mut Page, name: &str, value: impl Fn(&Runs) -> Option<V>) {
        for (kind, runs) in &self.kinds {
            if let Some(value) = value(runs) {
                page.row(name, &[("kind", kind)], value);
            }
        }
    }
}

/// A text for Prometheus that grows.
#[derive(Debug, Default)]
struct Page {
    text: String,
}

impl Page {
    fn family(&mut self, name: &str, help: &str) {
        self.text += &format!("# HELP imex_slurm_{name} {help}\n# TYPE imex_slurm_{name} gauge\n");
    }

    fn row(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let labels: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        // Writing to a text cannot fail.
        let _ = writeln!(self.text, "imex_slurm_{name}{labels} {value}");
    }
}

/// A label's value: the format has three letters that must not stand in it as they are.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The value that so great a part of the values does not exceed. There is at least one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a place among at most ten thousand values"
)]
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = (part * sorted.len() as f64).ceil() as usize;
    sorted.get(place.saturating_sub(1)).copied().unwrap_or_default()
}

fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(path)?.take(LARGEST).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Kind, Record, Result};

    #[test]
    fn what_records_say_is_counted_by_kind_and_ending() {
        let dir = tempfile::tempdir().unwrap();
        let run = |kind, second, took, (ending, exit_code)| {
            let begun = Timestamp::from_second(second).unwrap();
            let mut record = Record::begin(kind, begun);
            record.step("start", 250);
            let text = record.text(
                &Result { ending, exit_code, message: "" },
                None,
                Timestamp::from_second(second + took).unwrap(),
            );
            record.write(dir.path(), "7.0-x", &text, 100).unwrap();
        };
        run(Kind::Prolog, 100, 1, ("up", 0));
        run(Kind::Prolog, 200, 9, ("at_fault", 77));
        run(Kind::Prolog, 300, 2, ("up", 0));
        run(Kind::Epilog, 310, 1, ("done", 0));
        fs::write(dir.path().join(FOLDER).join("0.json"), "{").unwrap();
        let text = Summary::read(dir.path()).unwrap().prometheus();
        for line in [
            "imex_slurm_records{kind=\"prolog\",ending=\"up\"} 2",
            "imex_slurm_records{kind=\"prolog\",ending=\"at_fault\"} 1",
            "imex_slurm_run_seconds{kind=\"prolog\",quantile=\"0.5\"} 2",
            "imex_slurm_run_seconds{kind=\"prolog\",quantile=\"1\"} 9",
            "imex_slurm_last_run_timestamp_seconds{kind=\"prolog\"} 300",
            "imex_slurm_last_run_exit_code{kind=\"prolog\"} 0",
            "imex_slurm_last_failure_timestamp_seconds{kind=\"prolog\"} 200",
            "imex_slurm_last_run_step_seconds{kind=\"epilog\",step=\"start\"} 0.25",
            "imex_slurm_unreadable_records 1",
        ] {
            assert!(text.lines().any(|one| one == line), "{line} is not in:\n{text}");
        }
        assert!(!text.contains("last_failure_timestamp_seconds{kind=\"epilog\"}"), "{text}");
    }

    #[test]
    fn a_node_without_records_has_none() {
        let dir = tempfile::tempdir().unwrap();
        let text = Summary::read(dir.path()).unwrap().prometheus();
        let rows: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(rows, ["imex_slurm_unreadable_records 0"]);
    }

    #[test]
    fn a_quantile_is_a_value_that_occurs() {
        for (values, part, expected) in
            [(&[1.0][..], 0.5, 1.0), (&[1.0, 2.0], 0.5, 1.0), (&[1.0, 2.0, 3.0], 0.9, 3.0)]
        {
            assert!((quantile(values, part) - expected).abs() < f64::EPSILON);
        }
        assert_eq!(escaped("a\"b\\c\n"), "a\\\"b\\\\c\\n");
    }
}
