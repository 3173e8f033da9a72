//! Where placements come from. Each source turns a text into a [`SourceReport`](crate::SourceReport), or says at which
//! line it cannot.

pub mod aws_json;
pub mod features;
pub mod inventory_file;
pub mod nvml_reports;
pub mod show_topology;
pub mod slurm_conf;
pub mod topology_file;

use crate::lint::Finding;

/// Why a text is not what its source should be.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// It is not JSON, or not of the expected shape.
    #[error("{what} is not what was expected")]
    Json {
        /// What the text should be.
        what: &'static str,
        /// Where and why.
        #[source]
        source: serde_json::Error,
    },
    /// A line cannot be understood.
    #[error("line {line}: {what}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// Why: a lower-case fragment.
        what: String,
    },
    /// slurmctld would refuse the file.
    #[error("slurmctld would refuse the file: {}", first(.findings))]
    Refused {
        /// Why; at least one.
        findings: Vec<Finding>,
    },
    /// It is understood and says nothing of any node.
    #[error("it says nothing of any node")]
    Nothing,
}

fn first(findings: &[Finding]) -> String {
    let Some(finding) = findings.first() else { return String::new() };
    match finding.line {
        Some(line) => format!("line {line}: {}", finding.what),
        None => finding.what.clone(),
    }
}
