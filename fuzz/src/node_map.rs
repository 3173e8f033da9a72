//! `nodes_config.cfg`.

use imex_config::parse_nodes;

/// A node file is refused, or its faults are told, or it is a map with one entry per node in the order of the lines.
pub fn node_map(bytes: &[u8]) {
    let Ok(file) = parse_nodes(bytes) else { return };
    assert_eq!(file.map().is_none(), !file.faults().is_empty(), "there is a map or a fault");
    let lines: Vec<usize> = file.entries().iter().map(|entry| entry.line).collect();
    assert!(lines.is_sorted_by(|one, next| one < next), "entries keep the order of their lines");
    if let Some(map) = file.map() {
        let entries = file.entries().iter().map(|entry| (entry.node, &*entry.text));
        assert!(map.iter().eq(entries), "the map is the entries");
    }
}
