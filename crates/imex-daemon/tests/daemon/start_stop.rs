//! From the command line to READY, and to the end.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;

use imex_core::NodeState;
use nix::sys::signal::Signal;

use crate::support::{PORT, Rack, die_with_this_process, eventually, imexd, lives, run};

#[test]
fn version_prints_the_line_that_scripts_cut() {
    let output = run(imexd().arg("--version"));
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, format!("IMEX version is: {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn help_goes_to_standard_output_and_misuse_to_standard_error() {
    let help = run(imexd().arg("--help"));
    assert_eq!(help.status.code(), Some(0));
    assert!(String::from_utf8(help.stdout).unwrap().contains("--nogpu"));
    let misuse = run(imexd().arg("--no-such-option"));
    assert_eq!(misuse.status.code(), Some(2));
    assert!(misuse.stdout.is_empty());
}

#[test]
fn without_a_driver_and_without_nogpu_it_refuses_in_one_line_with_a_hint() {
    let rack = Rack::new(1);
    drop(rack.command(0));
    let output = run(imexd().arg("-c").arg(rack.dir(0).join("config.cfg")));
    assert_eq!(output.status.code(), Some(5));
    let text = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert!(lines[0].starts_with("imexd: failed to serve this machine's GPUs"), "{text}");
    assert!(lines[1].contains("--nogpu"), "{text}");
}

#[test]
fn both_spellings_of_nogpu_start_a_node() {
    let rack = Rack::new(1);
    drop(rack.command(0));
    let config = rack.dir(0).join("config.cfg");
    let mut node = rack.spawn(0, imexd().arg("-c").arg(&config).arg("-nogpu").arg(die_with_this_process()));
    node.await_state(NodeState::Ready);
    node.stop();
}

#[cfg(not(feature = "gssapi"))]
#[test]
fn security_that_is_not_built_is_refused_and_never_left_out() {
    let rack = Rack::new(1);
    rack.set(0, "IMEX_ENABLE_AUTH_ENCRYPTION", 1);
    rack.set(0, "IMEX_AUTH_ENCRYPTION_MODE", "GSS_AUTH_ENCRYPT");
    let (code, text) = rack.refused(0);
    assert_eq!(code, 6, "{text}");
    assert!(text.contains("IMEX_ENABLE_AUTH_ENCRYPTION"), "{text}");
}

#[test]
fn each_stop_signal_ends_a_node_well_and_removes_its_socket() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGQUIT] {
        let rack = Rack::new(1);
        let mut node = rack.start(0);
        node.await_state(NodeState::Ready);
        assert!(node.socket().exists());
        node.signal(signal);
        assert_eq!(node.await_end(), Some(0));
        assert!(!node.socket().exists(), "{signal}");
    }
}

#[test]
fn the_port_option_overrides_the_file() {
    let rack = Rack::new(1);
    let mut command = rack.command(0);
    let mut node = rack.spawn(0, command.args(["-p", "50123"]).arg(die_with_this_process()));
    node.await_log("bind port = 50123");
    node.await_log("Connection established to node 0");
    node.stop();
}

#[test]
fn a_taken_port_is_refused_with_the_name_of_its_holder() {
    let rack = Rack::new(1);
    let held = TcpListener::bind((rack.address(0), PORT)).unwrap();
    let (code, text) = rack.refused(0);
    assert_eq!(code, 4, "{text}");
    assert!(text.contains(&format!("(process {})", std::process::id())), "{text}");
    drop(held);
}

#[test]
fn a_socket_path_that_does_not_fit_is_refused() {
    let rack = Rack::new(1);
    rack.set(0, "IMEX_CMD_UNIX_DOMAIN_PATH", rack.dir(0).join("s".repeat(108)).display());
    let (code, text) = rack.refused(0);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("107"), "{text}");
}

#[test]
fn a_socket_of_a_live_daemon_is_refused_and_stays_in_service() {
    let rack = Rack::new(2);
    let mut first = rack.start(0);
    first.await_state(NodeState::Ready);
    rack.set(1, "IMEX_CMD_UNIX_DOMAIN_PATH", first.socket().display());
    let (code, text) = rack.refused(1);
    assert_eq!(code, 4, "{text}");
    assert!(text.contains(&format!("another imexd (process {}) serves it", first.pid())), "{text}");
    first.await_state(NodeState::Ready);
    first.stop();
}

#[test]
fn a_socket_left_by_a_killed_daemon_is_replaced_and_has_the_configured_mode() {
    let rack = Rack::new(1);
    rack.set(0, "OPENIMEX_CMD_SOCKET_MODE", "0600");
    let mut node = rack.start(0);
    node.await_state(NodeState::Ready);
    node.kill();
    assert!(node.socket().exists());
    let mut node = rack.start(0);
    node.await_state(NodeState::Ready);
    assert_eq!(fs::metadata(node.socket()).unwrap().permissions().mode() & 0o777, 0o600);
    node.stop();
}

#[test]
fn a_socket_whose_owner_does_not_accept_counts_as_live() {
    let rack = Rack::new(1);
    let held = UnixListener::bind(rack.dir(0).join("socket")).unwrap();
    let (code, text) = rack.refused(0);
    assert_eq!(code, 4, "{text}");
    drop(held);
}

#[test]
fn a_node_ends_with_the_process_that_started_it_if_told_so() {
    let rack = Rack::new(1);
    let mut command = rack.command(0);
    let pid_file = rack.dir(0).join("pid");
    let program = command.arg("--die-with-parent").get_program().to_owned();
    let mut shell = std::process::Command::new("/bin/sh");
    shell
        .args(["-c", r#""$@" $$ & echo $! >"$0"; wait"#])
        .arg(&pid_file)
        .arg(program)
        .args(command.get_args());
    let mut parent = shell.spawn().unwrap();
    let read = || fs::read_to_string(&pid_file).unwrap_or_default();
    assert!(eventually(|| read().ends_with('\n') && rack.dir(0).join("socket").exists()));
    let pid = nix::unistd::Pid::from_raw(read().trim().parse().unwrap());
    assert!(lives(pid));
    parent.kill().unwrap();
    parent.wait().unwrap();
    assert!(eventually(|| !lives(pid)));
}

#[test]
fn a_node_whose_parent_has_ended_before_it_could_look_does_not_start() {
    let rack = Rack::new(1);
    let mut ended = std::process::Command::new("/bin/true").spawn().unwrap();
    ended.wait().unwrap();
    let parent = ended.id().to_string();
    let mut node = rack.spawn(0, rack.command(0).args(["--die-with-parent", &parent]));
    assert_eq!(node.await_end(), Some(1));
}
