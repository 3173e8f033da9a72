//! Slurm's own files: `topology.yaml` and `topology.conf`.

use std::sync::Arc;

use crate::inventory::{BlockKey, Evidence, Placement, SourceKind, SourceReport};
use crate::lint::{self, Context, Finding};
use crate::model::{BlockTopology, Topologies};
use crate::written::{self, Form};

use super::SourceError;

/// What slurmctld would hold of the text of such a file.
///
/// # Errors
///
/// If slurmctld would refuse it.
pub fn parse(text: &str, form: Form) -> Result<Topologies, SourceError> {
    let mut findings = Vec::new();
    let written = written::read(text, form, &mut findings);
    lint::judge(&written, &Context::default(), &mut findings);
    findings.retain(Finding::refuses);
    if findings.is_empty() { Ok(written.meaning()) } else { Err(SourceError::Refused { findings }) }
}

/// Where the blocks of a topology have their nodes.
pub fn report(blocks: &BlockTopology, from: &Arc<str>) -> SourceReport {
    let mut report = SourceReport::default();
    for block in &blocks.blocks {
        for node in block.nodes.iter() {
            let evidence = Evidence { source: SourceKind::Slurm, from: Arc::clone(from), line: None };
            report.place(node, Placement::Block(BlockKey::Named(block.name.clone())), evidence);
        }
    }
    report
}
