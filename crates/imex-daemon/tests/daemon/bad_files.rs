//! Files that no daemon can use, or that only look so.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use imex_core::{DomainState, NodeState};

use crate::support::namespace;
use crate::support::{Rack, imexd, run};

#[test]
fn every_unusable_node_map_is_refused_with_the_file_and_what_to_do() {
    let rack = Rack::new(1);
    let own = rack.address(0);
    let many: String = (0..100_000).map(|n| format!("host-{n}\n")).collect();
    let cases: [(&str, Vec<u8>); 7] = [
        ("empty", Vec::new()),
        ("comments only", b"# nothing\n\n".to_vec()),
        ("binary", vec![0x7f, b'E', b'L', b'F', 0, 1, 2, 0xff, b'\n', 0xfe]),
        ("self-less", b"198.51.100.1\n198.51.100.2\n".to_vec()),
        ("duplicate", format!("{own}\n{own}\n").into_bytes()),
        ("placeholder", b"0.0.0.0\n".to_vec()),
        ("100,000 lines", many.into_bytes()),
    ];
    rack.set(0, "BIND_INTERFACE_IP", "");
    for (case, bytes) in cases {
        rack.write_nodes(0, bytes);
        let (code, text) = rack.refused(0);
        assert_eq!(code, 3, "{case}: {text}");
        assert!(text.contains("nodes.cfg"), "{case}: {text}");
        assert!(text.contains("error: "), "{case}: {text}");
    }
}

#[test]
fn a_log_that_is_a_configuration_file_under_another_name_is_refused_and_nothing_is_written() {
    let rack = Rack::new(1);
    let (config, nodes) = (rack.dir(0).join("config.cfg"), rack.dir(0).join("nodes.cfg"));
    let link = rack.dir(0).join("link.log");
    std::os::unix::fs::symlink(&nodes, &link).unwrap();
    let around = rack.dir(0).join("..").join(rack.dir(0).file_name().unwrap()).join("config.cfg");
    for (log, purpose) in [(&link, "IMEX_NODE_CONFIG_FILE"), (&around, "the configuration file")] {
        rack.set(0, "LOG_FILE_NAME", log.to_str().unwrap());
        let told = format!("error: LOG_FILE_NAME: {} is {purpose} (", log.display());
        let (code, text) = rack.refused(0);
        assert!(code == 3 && text.contains(&told), "{code}: {text}");
        for file in [&config, &nodes] {
            assert!(!fs::read_to_string(file).unwrap().contains("IMEX Log"), "{}", file.display());
        }
        let (code, text) = rack.check(0);
        assert!(code == 3 && text.contains(&told), "{code}: {text}");
    }
}

#[test]
fn a_missing_node_map_is_named() {
    let rack = Rack::new(1);
    fs::remove_file(rack.dir(0).join("nodes.cfg")).unwrap();
    let (code, text) = rack.refused(0);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("nodes.cfg"), "{text}");
}

#[test]
fn an_unreadable_node_map_is_named() {
    let rack = Rack::new(1);
    let file = rack.dir(0).join("nodes.cfg");
    // Root may read everything but a directory.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&file).is_ok() {
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
    }
    let (code, text) = rack.refused(0);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("nodes.cfg"), "{text}");
}

#[test]
fn a_node_map_that_this_user_may_not_read_is_named_with_the_reason() {
    let rack = Rack::new(1);
    let mut plain = std::process::Command::new("setpriv");
    plain.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    let unprivileged = |command: &std::process::Command| {
        let mut unprivileged = std::process::Command::new(plain.get_program());
        unprivileged.args(plain.get_args()).arg(command.get_program()).args(command.get_args());
        unprivileged
    };
    if !run(unprivileged(&imexd()).arg("--version")).status.success() {
        namespace::skip("setpriv, and a built program that every user may run");
        return;
    }
    let node_file = rack.dir(0).join("nodes.cfg");
    let mode =
        |path: &std::path::Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    mode(rack.dir(0).parent().unwrap(), 0o755);
    mode(&node_file, 0o600);
    let output = run(&mut unprivileged(&rack.command(0)));
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.contains("nodes.cfg") && text.contains("permission to read the file is denied"), "{text}");
}

#[test]
fn line_ends_of_another_system_do_not_change_the_map() {
    let rack = Rack::new(2);
    let map = [0, 1].map(|k| format!("{}\r\n", rack.address(k))).concat();
    rack.write_nodes(1, map);
    let nodes = rack.start_all();
    nodes[0].await_domain(DomainState::Up);
}

#[test]
fn a_missing_configuration_file_is_named() {
    let output = run(imexd().args(["--nogpu", "-c", "/nonexistent/config.cfg"]));
    assert_eq!(output.status.code(), Some(3));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("/nonexistent/config.cfg"), "{text}");
}

#[test]
fn unknown_keys_are_warnings_in_the_log_and_failures_of_a_check() {
    let rack = Rack::new(1);
    rack.set(0, "IMEX_WAIT_FOR_QUORUMS", "NONE");
    let check = run(rack.command(0).arg("--check"));
    assert_eq!(check.status.code(), Some(3));
    let text = String::from_utf8(check.stdout).unwrap();
    assert!(text.contains("warning: ") && text.contains("IMEX_WAIT_FOR_QUORUM"), "{text}");
    let mut node = rack.start(0);
    node.await_state(NodeState::Ready);
    node.await_log("[WARNING]");
    node.stop();
}

#[test]
fn all_malformed_values_are_reported_in_one_run() {
    let rack = Rack::new(1);
    rack.set(0, "SERVER_PORT", "seventy");
    rack.set(0, "LOG_LEVEL", "9");
    rack.set(0, "IMEX_NODE_DISCONNECTED_GRACE_TIME", "-2");
    let (code, text) = rack.refused(0);
    assert_eq!(code, 3, "{text}");
    for key in ["SERVER_PORT", "LOG_LEVEL", "IMEX_NODE_DISCONNECTED_GRACE_TIME"] {
        assert!(text.contains(key), "no {key} in {text}");
    }
}

#[test]
fn a_check_of_good_files_says_nothing_and_takes_no_port() {
    let rack = Rack::new(1);
    let mut node = rack.start(0);
    node.await_state(NodeState::Ready);
    let output = run(rack.command(0).arg("--check"));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    node.stop();
}

#[test]
fn two_nodes_with_one_id_do_not_both_belong() {
    let rack = Rack::new(3);
    let usurper = format!("{}\n{}\n{}\n", rack.address(0), rack.address(2), rack.address(1));
    let nodes = [rack.start(0), rack.start(1)];
    rack.write_nodes(2, usurper);
    let third = rack.start(2);
    third.await_log("Node configuration mapping mismatch");
    nodes[0].await_log("Node configuration mapping mismatch");
    nodes[0].await_link(1, imex_core::LinkState::Connected);
    nodes[0].await_link(2, imex_core::LinkState::MapMismatch);
}
