//! Whatever is in the files, there is an answer: settings or an error, and never a panic.

use imex_config::{Overrides, ServiceFile, Severity, Written, keys, parse_nodes, resolve};
use proptest::prelude::*;

use crate::fake::{FakeMachine, written};

proptest! {
    #[test]
    fn a_node_file_of_any_bytes_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(file) = parse_nodes(&bytes) {
            prop_assert_eq!(file.map().is_some(), file.faults().is_empty());
        }
    }

    #[test]
    fn a_map_holds_the_lines_that_are_no_comment_as_written(lines in proptest::collection::vec(node_line(), 1..30)) {
        let file = parse_nodes(lines.join("\n").as_bytes()).unwrap();
        let expected: Vec<_> = lines.iter().map(|line| line.trim()).filter(|line| is_entry(line)).collect();
        if let Some(map) = file.map() {
            let found: Vec<_> = map.iter().map(|(_, entry)| entry).collect();
            prop_assert_eq!(found, expected);
        } else {
            let count = file.entries().len() + file.faults().len();
            prop_assert!(count == expected.len() || expected.is_empty(), "each line is an entry or has a fault");
        }
    }

    #[test]
    fn any_values_give_settings_or_an_error(
        assignments in proptest::collection::vec((0..keys::ALL.len(), value()), 0..12),
        nodes in prop_oneof![Just("10.0.0.1\n"), Just("127.0.0.1\n127.0.0.2\n"), Just("fe80::1\n"), Just("gone\n")],
    ) {
        let lines = assignments.iter().map(|(key, value)| format!("{}={value}\n", keys::ALL[*key].name));
        let text: String = lines.collect();
        let written = written(text.as_bytes(), nodes.as_bytes());
        let (settings, problems) = resolve(&written, &Overrides::default(), &FakeMachine::default());
        prop_assert_eq!(settings.is_some(), problems.worst() != Some(Severity::Error), "{}\n{}", text, problems);
    }

    #[test]
    fn any_two_files_give_settings_or_an_error(
        config in proptest::collection::vec(any::<u8>(), 0..200),
        nodes in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let (Ok(service), Ok(nodes)) = (ServiceFile::parse(&config), parse_nodes(&nodes)) else {
            return Ok(());
        };
        let written = Written {
            service_path: "config.cfg".into(),
            service,
            nodes_path: "nodes_config.cfg".into(),
            nodes: Some(nodes),
        };
        let (settings, problems) = resolve(&written, &Overrides::default(), &FakeMachine::default());
        prop_assert_eq!(settings.is_some(), problems.worst() != Some(Severity::Error));
    }
}

fn is_entry(line: &str) -> bool {
    !line.is_empty() && !line.starts_with('#')
}

fn node_line() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (0..=255_u8, 0..=255_u8).prop_map(|(a, b)| format!("10.0.{a}.{b}")),
        4 => "[a-z]{1,3}-[0-9]{1,3}",
        2 => " {0,2}#? ?[a-z]{0,4} {0,2}",
        1 => "[0-9a-f:.%]{1,8}",
    ]
}

/// Values that are right for one kind of key and wrong for most.
fn value() -> impl Strategy<Value = String> {
    let known = [
        "",
        "0",
        "1",
        "-1",
        "-0",
        "00",
        "007",
        "+1",
        "660",
        "0660",
        "65535",
        "65536",
        "9223372036854775808",
        "NONE",
        "FULL",
        "SSL_TLS",
        "GSS_AUTH_ONLY",
        "FILE",
        "ENV_VAL",
        "SERVER_KEY",
        "/",
        "/dev/null",
        "/a",
        "a",
        "eth0",
        "eth1",
        "10.0.0.1",
        "10.1.0.1",
        "127.0.0.2",
        "0.0.0.0",
        "::",
        "::1",
        "fe80::1",
        "fe80::1%eth0",
        "fe80::1%9",
        "\"x\"",
        "é",
    ];
    prop_oneof![4 => proptest::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => "[ -~]{0,10}"]
}
