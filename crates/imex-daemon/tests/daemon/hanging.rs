//! Journals, pipes and service managers that do not read: nobody waits for them. All of them are fakes.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use imex_core::{DomainState, NodeState};
use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::support::namespace;
use crate::support::{PATIENCE, Rack, Stopwatch, die_with_this_process, eventually};

#[test]
fn a_journal_that_does_not_read_holds_nobody_up_and_loses_nothing_that_fits_the_queue() {
    if !namespace::available() {
        return;
    }
    let rack = Rack::new(3);
    rack.set(0, "LOG_USE_SYSLOG", 1);
    let (journal, mut command) = with_fake_journal(&rack);
    let mut first = rack.spawn(0, &mut command);
    let others = [rack.start(1), rack.start(2)];
    for node in [&first, &others[0], &others[1]] {
        node.await_domain(DomainState::Up);
    }
    // Longer than it takes to be found silent.
    std::thread::sleep(Duration::from_secs(4));
    for node in &others {
        assert!(!node.log().contains("Connection lost"), "{}", node.log());
        node.await_domain(DomainState::Up);
    }
    let entries = hear(&journal, "MESSAGE=The domain is UP");
    // More than a datagram socket holds (net.unix.max_dgram_qlen).
    assert!(entries.len() > 20, "{}", entries.len());
    assert!(!entries.iter().any(|entry| entry.contains("could not be written")));
    let up = entries.iter().find(|entry| entry.contains("Connection established to node 1")).unwrap();
    for field in [
        "PRIORITY=6\n",
        "SYSLOG_IDENTIFIER=imexd\n",
        "TARGET=imex",
        "CODE_FILE=",
        "CODE_LINE=",
        "TID=",
        "IMEX_INSTANCE=",
    ] {
        assert!(up.contains(field), "no {field:?} in {up}");
    }
    assert!(
        up.contains(&format!("MESSAGE=Connection established to node 1 with ip address {}", rack.address(1)))
    );
    drop(others);
    first.stop();
}

#[test]
fn a_stop_does_not_wait_long_for_a_journal_that_does_not_read() {
    if !namespace::available() {
        return;
    }
    let rack = Rack::new(1);
    rack.set(0, "LOG_USE_SYSLOG", 1);
    let (_journal, mut command) = with_fake_journal(&rack);
    let mut node = rack.spawn(0, &mut command);
    node.await_state(NodeState::Ready);
    let watch = Stopwatch::start();
    node.stop();
    assert!(watch.elapsed() < Duration::from_secs(10), "{:?}", watch.elapsed());
}

#[test]
fn a_log_and_statistics_that_take_nothing_hold_nobody_up() {
    let rack = Rack::new(2);
    let pipes = ["log", "stats"].map(|name| full_pipe(&rack.dir(0).join(name)));
    rack.set(0, "OPENIMEX_STATS_INTERVAL_SEC", 1);
    let mut first = rack.spawn(0, rack.command(0).arg(die_with_this_process()));
    let mut second = rack.start(1);
    second.await_domain(DomainState::Up);
    second.kill();
    first.await_domain(DomainState::Degraded);
    second = rack.start(1);
    second.await_domain(DomainState::Up);
    std::thread::sleep(Duration::from_secs(4));
    assert!(!second.log().contains("Connection lost"), "{}", second.log());
    second.expect_error("Node disconnect event detected");
    let text = read_until(&pipes[0], "Connection established to node 1");
    assert!(text.contains("IMEX Log initializing at"), "{text}");
    first.stop();
}

#[test]
fn a_log_that_is_a_pipe_without_a_reader_is_not_waited_for() {
    let rack = Rack::new(1);
    mkfifo(&rack.dir(0).join("log"), Mode::S_IRWXU).unwrap();
    let mut node = rack.start(0);
    node.await_state(NodeState::Ready);
    node.stop();
    let text = node.file("stderr");
    assert!(text.starts_with("WARNING: failed to open IMEX log file  errno = No such device"), "{text}");
}

#[test]
fn a_service_manager_that_does_not_read_is_told_later_and_holds_nobody_up() {
    let rack = Rack::new(1);
    let path = rack.dir(0).join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    let filler = UnixDatagram::unbound().unwrap();
    filler.set_nonblocking(true).unwrap();
    while filler.send_to(b"STATUS=filler", &path).is_ok() {}
    let mut command = rack.command(0);
    command.arg(die_with_this_process()).env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "100000");
    let mut node = rack.spawn(0, &mut command);
    node.await_domain(DomainState::Up);
    let heard = hear(&manager, "READY=1");
    assert!(heard.iter().any(|text| text.contains("filler")));
    node.stop();
}

/// A node's command in mounts where the journal's socket is one that this test holds.
fn with_fake_journal(rack: &Rack) -> (UnixDatagram, Command) {
    let run = rack.dir(0).join("run");
    let dir = run.join("systemd/journal");
    fs::create_dir_all(&dir).unwrap();
    let journal = UnixDatagram::bind(dir.join("socket")).unwrap();
    let script = format!("mount --bind {} /run", run.display());
    (journal, namespace::with_mounts(&script, &rack.command(0)))
}

/// Everything up to a datagram with this text.
fn hear(socket: &UnixDatagram, text: &str) -> Vec<String> {
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut heard: Vec<String> = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    while !heard.last().is_some_and(|last| last.contains(text)) {
        let size = socket.recv(&mut buffer).unwrap_or_else(|error| panic!("{error}, only {heard:?}"));
        heard.push(String::from_utf8_lossy(&buffer[..size]).into_owned());
    }
    heard
}

/// A pipe that holds one page, at `path`. It is open at both ends, so that opening it does not wait.
fn full_pipe(path: &Path) -> File {
    mkfifo(path, Mode::S_IRWXU).unwrap();
    let pipe = File::options().read(true).write(true).open(path).unwrap();
    fcntl(&pipe, FcntlArg::F_SETPIPE_SZ(4096)).unwrap();
    pipe
}

fn read_until(mut pipe: &File, text: &str) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    assert!(eventually(|| {
        let size = pipe.read(&mut buffer).unwrap();
        bytes.extend_from_slice(&buffer[..size]);
        String::from_utf8_lossy(&bytes).contains(text)
    }));
    String::from_utf8(bytes).unwrap()
}
