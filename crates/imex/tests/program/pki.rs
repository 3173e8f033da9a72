//! Golden files of `imex pki`, and what its files are good for.

mod control;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::program::{imex, redactions, run, transcript, until};

#[test]
fn help_and_wrong_command_lines_of_pki_are_as_recorded() {
    let _redacted = redactions();
    let dir = Path::new("/nowhere");
    for (name, words) in [
        ("pki-help", "pki"),
        ("pki-init-help", "pki init --help"),
        ("pki-issue-help", "pki issue --help"),
        ("pki-show-help", "pki show --help"),
        ("pki-issue-nobody", "pki issue"),
        ("pki-issue-two", "pki issue --nodes x --node y"),
        ("pki-issue-no-days", "pki issue --node y --days 0"),
    ] {
        golden(name, words, dir);
    }
}

#[test]
fn security_is_two_commands_and_each_says_what_it_did() {
    let _redacted = redactions();
    let _times = times();
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("nodes.cfg"), "# the rack\n10.0.0.1\n2001:db8::2\nnode-3\n").unwrap();
    fs::write(temp.path().join("wrong.cfg"), "10.0.0.1\n10.0.0.1\n").unwrap();
    for (name, words) in [
        ("pki-issue-without-authority", "pki issue --dir DIR/pki --nodes DIR/nodes.cfg"),
        ("pki-init", "pki init --dir DIR/pki"),
        ("pki-init-again", "pki init --dir DIR/pki"),
        ("pki-init-force-json", "pki init --dir DIR/pki --force --name Rack --days 400 --json"),
        ("pki-issue", "pki issue --dir DIR/pki --nodes DIR/nodes.cfg --days 20"),
        ("pki-issue-again", "pki issue --dir DIR/pki --nodes DIR/nodes.cfg"),
        ("pki-issue-wrong-list", "pki issue --dir DIR/pki --nodes DIR/wrong.cfg"),
        ("pki-issue-wrong-name", "pki issue --dir DIR/pki --node a/../b"),
        (
            "pki-issue-one-json",
            "pki issue --dir DIR/pki --node node-9 --address 10.9.0.1 --installed /opt/tls --json",
        ),
        ("pki-show", "pki show DIR/pki/ca.crt DIR/pki/nodes/node-3/server.crt"),
        ("pki-show-json", "pki show DIR/pki/nodes/node-9/client.crt --json"),
        ("pki-show-key", "pki show DIR/pki/ca.key"),
    ] {
        golden(name, words, temp.path());
    }
}

#[test]
fn keys_are_closed_to_others_and_a_key_that_was_opened_is_not_used() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("pki");
    let pki = |words: &[&str]| run(imex(&["pki"]).args(words).arg("--dir").arg(&dir));
    assert_eq!(pki(&["init"]).code, 0);
    assert_eq!(pki(&["issue", "--node", "10.0.0.1"]).code, 0);
    for key in ["ca.key", "nodes/10.0.0.1/server.key", "nodes/10.0.0.1/client.key"] {
        let mode = fs::metadata(dir.join(key)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{key}");
    }
    fs::set_permissions(dir.join("ca.key"), fs::Permissions::from_mode(0o644)).unwrap();
    let said = pki(&["issue", "--node", "10.0.0.2"]);
    assert_eq!(said.code, 112, "{}", said.err);
    assert!(said.err.contains("mode 0644 lets others read this private key"), "{}", said.err);
}

#[test]
fn an_authority_whose_key_is_another_or_that_ends_too_soon_issues_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let (dir, other) = (temp.path().join("pki"), temp.path().join("other"));
    let pki = |dir: &Path, words: &[&str]| run(imex(&["pki"]).args(words).arg("--dir").arg(dir));
    assert_eq!(pki(&dir, &["init", "--days", "20"]).code, 0);
    assert_eq!(pki(&other, &["init"]).code, 0);
    let said = pki(&dir, &["issue", "--node", "10.0.0.1"]);
    assert_eq!(said.code, 112, "{}", said.err);
    assert!(said.err.contains("less than 365 days"), "{}", said.err);
    assert!(said.err.contains("--days 19 is the most"), "{}", said.err);
    assert_eq!(pki(&dir, &["issue", "--node", "10.0.0.1", "--days", "19"]).code, 0);
    fs::copy(other.join("ca.key"), dir.join("ca.key")).unwrap();
    let said = pki(&dir, &["issue", "--node", "10.0.0.2", "--days", "19"]);
    assert_eq!(said.code, 112, "{}", said.err);
    assert!(said.err.contains("does not fit the certificate in"), "{}", said.err);
    assert!(!dir.join("nodes/10.0.0.2").exists());
}

#[test]
fn of_two_that_make_an_authority_at_once_one_does_and_its_key_fits() {
    let temp = tempfile::tempdir().unwrap();
    for round in 0..5 {
        let dir = temp.path().join(round.to_string());
        let init = || imex(&["pki", "init", "--dir", dir.to_str().unwrap()]).output();
        let codes = std::thread::scope(|scope| {
            let other = scope.spawn(init);
            [init(), other.join().unwrap()].map(|ended| ended.unwrap().status.code().unwrap())
        });
        assert!(codes == [0, 111] || codes == [111, 0], "{codes:?}");
        let issued = run(imex(&["pki", "issue", "--node", "10.0.0.1", "--dir"]).arg(&dir));
        assert_eq!(issued.code, 0, "{}", issued.err);
    }
}

#[test]
fn a_run_waits_for_another_that_is_at_work_in_the_folder() {
    let temp = tempfile::tempdir().unwrap();
    let (dir, node) = (temp.path().join("pki"), temp.path().join("pki/nodes/10.0.0.1"));
    assert_eq!(run(imex(&["pki", "init", "--dir"]).arg(&dir)).code, 0);
    let other = fs::File::open(&dir).unwrap();
    other.lock().unwrap();
    let mut issue = imex(&["pki", "issue", "--node", "10.0.0.1", "--dir"]);
    let mut waiting = issue.arg(&dir).stdout(std::process::Stdio::null()).spawn().unwrap();
    // It has opened the folder, and has neither written nor ended.
    let holds = || {
        let open = fs::read_dir(format!("/proc/{}/fd", waiting.id())).into_iter().flatten().flatten();
        open.filter_map(|entry| entry.path().read_link().ok()).any(|open| open == dir)
    };
    until("the run has opened the folder", holds);
    assert!(!node.exists());
    assert!(waiting.try_wait().unwrap().is_none());
    drop(other);
    assert!(waiting.wait().unwrap().success());
    assert!(node.join("server.key").exists());
}

#[test]
fn of_a_list_with_new_entries_it_is_said_which_they_are_and_the_system_speaks_in_words() {
    let temp = tempfile::tempdir().unwrap();
    let (dir, map) = (temp.path().join("pki"), temp.path().join("nodes.cfg"));
    let pki = |words: &[&str]| run(imex(&["pki"]).args(words).arg("--dir").arg(&dir));
    assert_eq!(pki(&["init"]).code, 0);
    assert_eq!(pki(&["issue", "--node", "10.0.0.1"]).code, 0);
    fs::write(&map, "10.0.0.1\n10.0.0.2\nnode-3\n").unwrap();
    let said = pki(&["issue", "--nodes", map.to_str().unwrap()]);
    assert_eq!(said.code, 111, "{}", said.err);
    assert!(said.err.contains("only 10.0.0.2, node-3 are new; --node ENTRY issues to one"), "{}", said.err);
    let said = run(&mut imex(&["pki", "show", dir.to_str().unwrap()]));
    assert!(said.err.contains(": is a directory\n"), "{}", said.err);
}

#[test]
fn a_daemon_finds_nothing_wrong_with_what_was_issued_for_it() {
    let temp = tempfile::tempdir().unwrap();
    let (dir, map) = (temp.path().join("pki"), temp.path().join("nodes.cfg"));
    fs::write(&map, "127.9.8.7\n127.9.8.6\n").unwrap();
    let node = dir.join("nodes/127.9.8.7");
    let pki = |words: &[&str]| run(imex(&["pki"]).args(words).arg("--dir").arg(&dir));
    assert_eq!(pki(&["init"]).code, 0);
    let said = pki(&["issue", "--nodes", map.to_str().unwrap(), "--installed", node.to_str().unwrap()]);
    assert_eq!(said.code, 0, "{}", said.err);
    let lines: String =
        said.out.lines().filter(|line| line.starts_with("IMEX_")).map(|line| format!("{line}\n")).collect();
    let config = temp.path().join("config.cfg");
    let files = format!("IMEX_NODE_CONFIG_FILE={}\nBIND_INTERFACE_IP=127.9.8.7\n", map.display());
    fs::write(&config, lines + &files).unwrap();
    let imexd = temp.path().join("imexd");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_imex"), &imexd).unwrap();
    let checked = run(std::process::Command::new(imexd).arg("--check").arg("-c").arg(&config));
    assert_eq!((checked.code, checked.out.as_str()), (0, ""), "{}", checked.err);
}

fn golden(name: &str, words: &str, dir: &Path) {
    let words: Vec<String> =
        words.split(' ').map(|word| word.replace("DIR", dir.to_str().unwrap())).collect();
    insta::assert_snapshot!(name, transcript(&mut imex(&words), dir));
}

fn times() -> insta::internals::SettingsBindDropGuard {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME");
    settings.add_filter(r"(?:[0-9A-F]{2}:){31}[0-9A-F]{2}", "FINGERPRINT");
    settings.bind_to_scope()
}
