//! On what the numbers were taken.

use std::fmt;
use std::fs;
use std::thread;

use serde_json::{Value, json};

use crate::process::Program;

/// A machine and a version of the code.
pub(super) struct Host {
    cpu: String,
    cores: usize,
    memory_mib: u64,
    kernel: String,
    commit: String,
}

impl Host {
    /// What cannot be found out is called unknown: it is for people.
    pub(super) fn look() -> Self {
        let memory = field("/proc/meminfo", "MemTotal");
        let kib = memory.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok());
        let commit = Program::new("git").words("describe --always --dirty").stdout();
        Host {
            cpu: field("/proc/cpuinfo", "model name"),
            cores: thread::available_parallelism().map_or(0, usize::from),
            memory_mib: kib.unwrap_or(0) / 1024,
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
            commit: commit.map_or_else(|_| "unknown".to_owned(), |commit| commit.trim().to_owned()),
        }
    }

    pub(super) fn json(&self) -> Value {
        let Host { cpu, cores, memory_mib, kernel, commit } = self;
        json!({ "cpu": cpu, "cores": cores, "memory_mib": memory_mib, "kernel": kernel, "commit": commit })
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Host { cpu, cores, memory_mib, kernel, commit } = self;
        write!(f, "{cpu}, {cores} cores, {} GiB, Linux {kernel}, commit {commit}", memory_mib / 1024)
    }
}

/// The value of a `name : value` line.
fn field(path: &str, name: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let value =
        lines.filter(|(found, _)| found.trim() == name).map(|(_, value)| value.trim().to_owned()).next();
    value.unwrap_or_else(|| "unknown".to_owned())
}
