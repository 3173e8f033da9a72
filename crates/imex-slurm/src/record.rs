//! The record of a run: what it was told, what it decided, how long each step took, how it ended.
//!
//! One JSON file each, named by time, job and kind, so that they sort; the newest are kept. `imex doctor` and whatever
//! gathers metrics read them. A record is never a reason to fail.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use imex_host::boot::BootId;
use jiff::Timestamp;
use nix::sys::resource::{UsageWho, getrusage};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::joblog::tidy;

/// The version of the file. It rises when a field changes its meaning or goes, not when one comes.
pub const SCHEMA_VERSION: u32 = 1;

/// The folder of records within the folder of states.
pub const FOLDER: &str = "records";

/// A record is root's: it tells of users and what they run.
const PRIVATE: u32 = 0o600;

/// What kind of run it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// `imex slurm prolog`.
    Prolog,
    /// `imex slurm epilog`.
    Epilog,
    /// `imex slurm sweep`.
    Sweep,
}

impl Kind {
    /// Its word in the record.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Prolog => "prolog",
            Kind::Epilog => "epilog",
            Kind::Sweep => "sweep",
        }
    }

    /// What it goes by in the journal.
    pub const fn identifier(self) -> &'static str {
        match self {
            Kind::Prolog => "imex-prolog",
            Kind::Epilog => "imex-epilog",
            Kind::Sweep => "imex-sweep",
        }
    }
}

/// A record that is being written.
#[derive(Clone, Debug)]
pub struct Record {
    kind: Kind,
    begun: Timestamp,
    /// What it is about, by name; JSON that grows as the run goes on.
    facts: Map<String, Value>,
    steps: Vec<StepTime>,
}

/// How long a step took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct StepTime {
    step: &'static str,
    ms: u64,
}

/// How the run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Result<'r> {
    /// In a word.
    pub ending: &'r str,
    /// The exit code.
    pub exit_code: u8,
    /// In words.
    pub message: &'r str,
}

#[derive(Serialize)]
struct Document<'d> {
    schema_version: u32,
    kind: Kind,
    /// When it began and ended.
    time: Timestamp,
    ended: Timestamp,
    version: &'static str,
    boot_id: Option<&'d BootId>,
    #[serde(flatten)]
    facts: &'d Map<String, Value>,
    steps: &'d [StepTime],
    result: &'d Result<'d>,
    /// What this process took so far: milliseconds of CPU, KiB of memory at most.
    cpu_ms: Option<i64>,
    max_rss_kib: Option<i64>,
}

impl Record {
    /// Begins one.
    pub fn begin(kind: Kind, begun: Timestamp) -> Self {
        Record { kind, begun, facts: Map::new(), steps: Vec::new() }
    }

    /// Notes something under a name; a later note under the same name replaces it.
    pub fn note(&mut self, name: &str, value: &impl Serialize) {
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        self.facts.insert(name.to_owned(), value);
    }

    /// Notes that a step is over.
    pub fn step(&mut self, step: &'static str, ms: u64) {
        self.steps.push(StepTime { step, ms });
    }

    /// Its text.
    pub fn text(&self, result: &Result<'_>, boot_id: Option<&BootId>, ended: Timestamp) -> String {
        let usage = getrusage(UsageWho::RUSAGE_SELF).ok();
        let cpu = |usage: &nix::sys::resource::Usage| {
            let (user, system) = (usage.user_time(), usage.system_time());
            let micros = user.tv_usec() + system.tv_usec();
            (user.tv_sec() + system.tv_sec()) * 1_000 + micros / 1_000
        };
        let document = Document {
            schema_version: SCHEMA_VERSION,
            kind: self.kind,
            time: self.begun,
            ended,
            version: env!("CARGO_PKG_VERSION"),
            boot_id,
            facts: &self.facts,
            steps: &self.steps,
            result,
            cpu_ms: usage.as_ref().map(cpu),
            max_rss_kib: usage.as_ref().map(nix::sys::resource::Usage::max_rss),
        };
        serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
    }

    /// Writes its text into the folder of states, of which the newest `keep` records are kept. `None` if it cannot be
    /// written.
    pub fn write(&self, state: &Path, name: &str, text: &str, keep: usize) -> Option<PathBuf> {
        let folder = state.join(FOLDER);
        fs::create_dir_all(&folder).ok()?;
        let time = self.begun.strftime("%Y%m%dT%H%M%S.%3fZ");
        let path = folder.join(format!("{time}-{name}.json"));
        // Not synced: a record that a power failure takes is not worth the wait of every job.
        let opened = File::options().write(true).create_new(true).mode(PRIVATE).open(&path);
        opened.and_then(|mut file| file.write_all(text.as_bytes())).ok()?;
        tidy(&folder, "", ".json", keep);
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_record_holds_what_was_noted_and_the_newest_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let mut record = Record::begin(Kind::Prolog, Timestamp::UNIX_EPOCH);
        record.note("job", &7);
        record.note("job", &8);
        record.step("channel", 3);
        let result = Result { ending: "up", exit_code: 0, message: "the domain is UP" };
        let text = record.text(&result, None, Timestamp::UNIX_EPOCH);
        for name in ["8.0-prolog", "9.0-prolog"] {
            record.write(dir.path(), name, &text, 1).unwrap();
        }
        let names: Vec<_> =
            fs::read_dir(dir.path().join(FOLDER)).unwrap().map(|e| e.unwrap().path()).collect();
        assert_eq!(names.len(), 1);
        let read: Value = serde_json::from_str(&fs::read_to_string(&names[0]).unwrap()).unwrap();
        assert_eq!(
            (&read["job"], &read["kind"], &read["steps"][0]["step"]),
            (&8.into(), &"prolog".into(), &"channel".into())
        );
        assert_eq!(read["result"]["exit_code"], 0);
        assert!(read["max_rss_kib"].as_i64().unwrap() > 0);
        assert_eq!(fs::metadata(&names[0]).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
