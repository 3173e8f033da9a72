//! `imex wait`: one exit code for each cause.

use std::fs;

use crate::program::{Background, Said, until};

#[test]
fn a_domain_that_is_up_is_found_at_once_from_every_node() {
    let lab = Background::up(3);
    for node in 0..3 {
        let said = lab.wait(node, &["--members", "3"]);
        assert_eq!(said.code, 0, "{}{}", said.out, said.err);
        assert!(said.out.starts_with("domain is UP with 3 nodes after "), "{}", said.out);
        assert_eq!(said.err, "");
    }
}

#[test]
fn another_number_of_members_is_16() {
    let lab = Background::up(2);
    let said = lab.wait(0, &["--members", "3", "--timeout", "300ms"]);
    assert_eq!(said.code, 16, "{}{}", said.out, said.err);
    assert!(said.out.contains("its node map has 2 nodes, not 3"), "{}", said.out);
}

#[test]
fn a_local_daemon_that_is_dead_is_10() {
    let lab = Background::up(2);
    lab.lab(&["kill", "0"]);
    until("the daemon is dead", || lab.daemons().len() == 1);
    let said = lab.wait(0, &["--timeout", "300ms"]);
    assert_eq!(said.code, 10, "{}{}", said.out, said.err);
    assert!(said.err.contains("hint: is the daemon running?"), "{}", said.err);
}

#[test]
fn a_dead_member_is_11_and_one_line() {
    let lab = Background::up(4);
    lab.lab(&["kill", "3"]);
    until("the others have noticed", || lab.lab(&["status"]).out.contains("Domain: DEGRADED"));
    let said = lab.wait(1, &["--timeout", "300ms"]);
    assert_eq!(said.code, 11, "{}{}", said.out, said.err);
    let lines: Vec<&str> = said.out.lines().collect();
    assert!(lines[0].starts_with("domain is DEGRADED after "), "{}", said.out);
    assert!(lines[1].starts_with("  node 3 (127.") && lines.len() == 2, "{}", said.out);
}

#[test]
fn a_member_with_another_map_is_13_and_the_entry_is_named() {
    let lab = Background::up(3);
    let said = with_changed_node(&lab, "nodes_config.cfg", |map| format!("{map}127.255.255.250\n"));
    assert_eq!(said.code, 13, "{}{}", said.out, said.err);
    assert!(said.out.contains("nothing here, 127.255.255.250 there"), "{}", said.out);
}

#[test]
fn a_member_of_another_domain_is_14() {
    let lab = Background::up(3);
    let token = |config: String| config.replace("OPENIMEX_DOMAIN_TOKEN=", "OPENIMEX_DOMAIN_TOKEN=job-7");
    let said = with_changed_node(&lab, "config.cfg", token);
    assert_eq!(said.code, 14, "{}{}", said.out, said.err);
}

#[test]
fn as_json_every_missing_link_is_named() {
    let lab = Background::up(3);
    lab.lab(&["kill", "2"]);
    until("the others have noticed", || lab.lab(&["status"]).out.contains("Domain: DEGRADED"));
    let said = lab.wait(0, &["--timeout", "300ms", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((said.code, &document["exit_code"]), (11, &serde_json::json!(11)));
    let missing = document["missing"].as_array().unwrap();
    let pairs: Vec<_> = missing.iter().map(|link| (link["from"].as_u64(), link["to"].as_u64())).collect();
    assert_eq!(pairs, [(Some(0), Some(2)), (Some(1), Some(2))]);
    assert_eq!(document["problems"][0]["nodes"], serde_json::json!([2]));
}

/// Changes a file of the last node, restarts that node, and waits in vain on node 0 until the reason is known.
fn with_changed_node(lab: &Background, file: &str, change: impl Fn(String) -> String) -> Said {
    lab.lab(&["kill", "2", "--signal", "TERM"]);
    until("the node has left", || lab.daemons().len() == 2);
    let path = lab.file(2, file);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, change(text)).unwrap();
    assert_eq!(lab.lab(&["start", "2"]).code, 0);
    until("the node serves", || lab.wait(2, &["--timeout", "200ms"]).code != 10);
    let mut said = lab.wait(0, &["--timeout", "300ms"]);
    until_reason(&mut said, lab);
    said
}

/// Right after its start the node may still be counted as unreachable.
fn until_reason(said: &mut Said, lab: &Background) {
    for _ in 0..20 {
        if said.code != 11 {
            return;
        }
        *said = lab.wait(0, &["--timeout", "500ms"]);
    }
}
