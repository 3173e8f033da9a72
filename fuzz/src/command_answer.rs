//! What a daemon answers to a control tool: the tool may be asking the wrong port.

use imex_wire::command::{decode_domain, decode_node, decode_summary};

/// Bytes are refused as each of the three answers, or they are a table with as many cells in each row as there are rows,
/// or a summary that counts no more nodes than there are.
pub fn command_answer(bytes: &[u8]) {
    // Nothing more can be said of a node alone than that reading it ends.
    let _ = decode_node(bytes);
    if let Ok(domain) = decode_domain(bytes) {
        let rows = &domain.table.rows;
        assert!(rows.iter().all(|row| row.links.len() == rows.len()), "the table is square");
    }
    if let Ok(summary) = decode_summary(bytes) {
        assert!(summary.ready <= summary.nodes && summary.complete <= summary.nodes);
    }
}
