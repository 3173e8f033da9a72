//! The reports of the nodes' own GPUs: lines that `imex topology identify` printed.

use std::sync::Arc;

use imex_host::NodeReport;

use crate::inventory::{BlockKey, Evidence, NoBlock, Placement, SourceKind, SourceReport};

use super::SourceError;

/// Reads one report a line; empty lines do not count, nor does what `srun --label` puts before a line (`3: `).
///
/// # Errors
///
/// If a line is no report.
pub fn parse(text: &str, from: &Arc<str>) -> Result<SourceReport, SourceError> {
    let mut source = SourceReport::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.find('{').map_or(line, |start| &line[start..]).trim();
        if line.is_empty() {
            continue;
        }
        let number = index + 1;
        let report = NodeReport::parse(line)
            .map_err(|error| SourceError::Line { line: number, what: error.to_string() })?;
        add(
            &mut source,
            &report,
            Evidence { source: SourceKind::Nvml, from: Arc::clone(from), line: Some(number) },
        );
    }
    if source.nodes.is_empty() { Err(SourceError::Nothing) } else { Ok(source) }
}

/// Notes what one report says.
pub fn add(source: &mut SourceReport, report: &NodeReport, evidence: Evidence) {
    let placement = match report.identity() {
        Ok(fabric) => Placement::Block(BlockKey::Fabric(fabric)),
        Err(why) => Placement::NoBlock(NoBlock::Fabric(why)),
    };
    source.place(&report.node, placement, evidence);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_node_whatever_srun_puts_before_it() {
        let line = r#"{"schema_version":1,"time":"2026-05-04T06:08:10Z","node":"n1","fabric":null,"no_fabric":null,"gpus":[]}"#;
        let report = parse(&format!("0: {line}\n\n{}\n", line.replace("n1", "n2")), &"x".into()).unwrap();
        let why = Placement::NoBlock(NoBlock::Fabric(imex_host::NoFabric::NoGpu));
        assert_eq!(report.nodes["n1"].placement, why);
        assert_eq!(report.nodes["n2"].evidence[0].line, Some(3));
    }

    #[test]
    fn a_line_that_is_no_report_is_refused_by_its_number() {
        let error = parse("\n{}\n", &"x".into()).unwrap_err();
        assert_eq!(error.to_string(), "line 2: the line is not a report of `imex topology identify`");
        assert!(matches!(parse("\n", &"x".into()), Err(SourceError::Nothing)));
    }
}
