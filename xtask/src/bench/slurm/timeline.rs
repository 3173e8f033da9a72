//! Where the time of a job goes that gets a domain: from sbatch to its first line, part by part.
//!
//! A prolog's record tells when it began, how long each step took and when it ended; systemd tells when the daemon's process
//! began and when the daemon said that its node is READY. All nodes share one clock. What is asked is asked after the job.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::super::error::BenchError;
use super::super::series::{Series, Unit};
use crate::e2e::{JobId, Rig, of_prologs};
use crate::report::Report;

/// Asks systemd for the two times of the daemon.
const DAEMON: &str =
    "systemctl show imexd --timestamp=us+utc --property=ExecMainStartTimestamp,ActiveEnterTimestamp";

/// What was measured of all jobs so far, in milliseconds.
#[derive(Default)]
pub(super) struct Timeline {
    /// From each milestone to the next: they add up to the whole.
    stretches: Parts,
    /// The steps of each node's prolog.
    steps: Parts,
}

/// Names in the order in which they came, each with its values.
#[derive(Default)]
struct Parts(Vec<(String, Vec<f64>)>);

/// When a job was submitted and when it said its first line, in milliseconds since the epoch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) submitted: f64,
    pub(super) first_line: f64,
}

/// One node's way, in milliseconds since the epoch.
#[derive(Clone, Debug, PartialEq)]
struct Way {
    begun: f64,
    /// When the daemon was asked for.
    asked: f64,
    process: f64,
    ready: f64,
    /// When the prolog saw the domain UP.
    up: f64,
    ended: f64,
    steps: Vec<(String, f64)>,
}

impl Timeline {
    /// Adds what the nodes tell of a job.
    pub(super) fn add(&mut self, rig: &Rig, job: JobId, span: Span) -> Result<(), BenchError> {
        let mut ways = Vec::new();
        for node in rig.nodes() {
            let prologs = of_prologs(rig, node, job)?;
            let [prolog] = &prologs[..] else {
                return Err(BenchError::Text { what: "one prolog", text: format!("{prologs:?}") });
            };
            let told = rig.on(node, DAEMON)?;
            let way = Way::read(&prolog.whole, &told).ok_or_else(|| BenchError::Text {
                what: "the times of a prolog and its daemon",
                text: format!("{told}{}", prolog.whole),
            })?;
            way.steps.iter().for_each(|(step, ms)| self.steps.note(step, *ms));
            self.steps
                .note("the rest", way.ended - way.begun - way.steps.iter().map(|(_, ms)| ms).sum::<f64>());
            ways.push(way);
        }
        let mut before = span.submitted;
        for (stretch, until) in milestones(&ways, span.first_line) {
            self.stretches.note(stretch, until - before);
            before = until;
        }
        Ok(())
    }

    /// Prints it.
    pub(super) fn print(self, report: &mut Report) {
        let head = |what| [what, "median", "least", "most", "of"];
        report.heading("where the time of a job with a verified domain goes");
        report.table(&head("from one to the next"), &self.stretches.rows());
        report.heading("the steps of each node's prolog");
        report.table(&head("step"), &self.steps.rows());
    }
}

/// When the last node, or for the first one the first, has come so far.
fn milestones(ways: &[Way], first_line: f64) -> [(&'static str, f64); 8] {
    let last = |time: fn(&Way) -> f64| ways.iter().map(time).fold(f64::MIN, f64::max);
    let first = ways.iter().map(|way| way.begun).fold(f64::MAX, f64::min);
    [
        ("sbatch → the first prolog begins", first),
        ("→ the last prolog begins", last(|way| way.begun)),
        ("→ the last daemon is asked for", last(|way| way.asked)),
        ("→ the last daemon's process is there", last(|way| way.process)),
        ("→ the last node is READY", last(|way| way.ready)),
        ("→ the last prolog sees the domain UP", last(|way| way.up)),
        ("→ the last prolog has ended", last(|way| way.ended)),
        ("→ the job's first line", first_line),
    ]
}

impl Parts {
    fn note(&mut self, name: &str, ms: f64) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, values)) => values.push(ms),
            None => self.0.push((name.to_owned(), vec![ms])),
        }
    }

    fn rows(self) -> Vec<Vec<String>> {
        self.0.into_iter().filter_map(|(name, values)| row(name, values)).collect()
    }
}

fn row(name: String, values: Vec<f64>) -> Option<Vec<String>> {
    let series = Series::new(values)?;
    let values = [series.median(), series.least(), series.most()].map(|value| Unit::Milliseconds.text(value));
    Some([name].into_iter().chain(values).chain([series.runs().len().to_string()]).collect())
}

impl Way {
    /// Of a prolog's record and what systemd says.
    fn read(record: &Value, systemd: &str) -> Option<Self> {
        let at = |name: &str| record[name].as_str()?.parse().ok().map(milliseconds);
        let steps = record["steps"].as_array()?.iter();
        let steps = steps.map(|step| Some((step["step"].as_str()?.to_owned(), step["ms"].as_f64()?)));
        let steps = steps.collect::<Option<Vec<_>>>()?;
        let (begun, ended) = (at("time")?, at("ended")?);
        let settle = steps.iter().position(|(step, _)| step == "settle")?;
        // What is between the steps takes no time to speak of.
        let asked = begun + steps[..settle].iter().map(|(_, ms)| ms).sum::<f64>();
        let times: BTreeMap<&str, &str> = systemd.lines().filter_map(|line| line.split_once('=')).collect();
        let time = |name: &str| systemd_time(times.get(name)?);
        let (process, ready) = (time("ExecMainStartTimestamp")?, time("ActiveEnterTimestamp")?);
        Some(Way { begun, asked, process, ready, up: asked + steps[settle].1, ended, steps })
    }
}

/// `Tue 2026-12-01 01:02:03.456789 UTC`.
fn systemd_time(text: &str) -> Option<f64> {
    let (_, time) = text.split_once(' ')?;
    let time = time.strip_suffix(" UTC")?.replace(' ', "T") + "Z";
    time.parse().ok().map(milliseconds)
}

fn milliseconds(time: Timestamp) -> f64 {
    time.as_duration().as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_stretches_of_a_job_add_up_to_the_whole() {
        let early = way(100, "ActiveEnterTimestamp=Thu 1970-01-01 00:00:00.260000 UTC");
        let late = way(140, "ActiveEnterTimestamp=Thu 1970-01-01 00:00:00.250000 UTC");
        let until = milestones(&[early, late], 340.0).map(|(_, until)| until.round());
        assert_eq!(until, [100.0, 140.0, 170.0, 200.0, 260.0, 330.0, 340.0, 340.0]);
    }

    #[test]
    fn a_daemon_that_never_ran_has_no_times() {
        assert_eq!(systemd_time("n/a"), None);
        assert_eq!(systemd_time(""), None);
        let time = systemd_time("Thu 1970-01-01 00:00:01.500000 UTC").unwrap();
        assert!((time - 1_500.0).abs() < 1e-6);
    }

    fn way(begun: u32, ready: &str) -> Way {
        let time = |ms: u32| format!("1970-01-01T00:00:00.{ms:03}Z");
        let steps =
            json!([{"step": "stop", "ms": 30}, {"step": "settle", "ms": 160}, {"step": "verdict", "ms": 2}]);
        let record = json!({"time": time(begun), "ended": time(begun + 200), "steps": steps});
        let process = "ExecMainStartTimestamp=Thu 1970-01-01 00:00:00.200000 UTC";
        Way::read(&record, &format!("{ready}\n{process}\n")).unwrap()
    }
}
