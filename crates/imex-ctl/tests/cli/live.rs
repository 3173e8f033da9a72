//! `-n` and `-s`: what goes on until somebody has had enough.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use imex_core::{LinkState, NodeState};
use insta::assert_snapshot;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::fake::{Canned, Fake, Manner};
use crate::rig::{HANG, Rig, end_of};
use crate::sample::{connected, silence};

#[test]
fn a_subscription_prints_a_word_at_each_change_until_the_daemon_ends() {
    let (live, canned) = Live::start(1, "-s -u DIR/imex.sock");
    assert_eq!(live.line(), "READY");
    canned.change(|table| table.rows[0].state = NodeState::WaitingForRecovery);
    assert_eq!(live.line(), "WAITING_FOR_RECOVERY");
    canned.change(|table| table.rows[0].state = NodeState::ShuttingDown);
    assert_eq!(live.line(), "SHUTTING_DOWN");
    assert_eq!(live.after_the_daemon(), (Some(0), String::new()));
}

#[test]
fn a_subscription_ends_when_its_time_is_over() {
    let (mut live, _canned) = Live::start(1, "-s -t 300 -u DIR/imex.sock");
    assert_eq!(live.line(), "READY");
    assert_eq!(live.end(), (Some(0), String::new()));
}

#[test]
fn a_monitor_prints_a_table_at_each_change() {
    let (live, canned) = Live::start(2, "-n -u DIR/imex.sock");
    let first = live.until("Domain State: UP");
    canned.change(|table| {
        table.rows[0].links[1].state = LinkState::Recovering;
        silence(table, 1);
    });
    let second = live.until("Domain State: DEGRADED");
    assert_snapshot!(live.rig.redacted((first + &second).as_bytes()));
}

#[test]
fn a_monitor_sees_a_cell_that_the_summary_does_not_tell_of() {
    let (live, canned) = Live::start(2, "-n -u DIR/imex.sock");
    canned.change_silently(|table| table.rows[0].links[1].state = LinkState::Recovering);
    live.until("       0        C   R");
}

#[test]
fn a_monitor_in_json_flags_what_changed() {
    let (live, canned) = Live::start(2, "-n -j -u DIR/imex.sock");
    live.until("}");
    canned.change(|table| table.rows[0].links[1].state = LinkState::Disconnected);
    assert_snapshot!(live.rig.redacted(live.until("}").as_bytes()));
}

#[test]
fn a_monitor_outlives_the_daemon_and_says_whose_view_it_shows() {
    let (mut live, _canned) = Live::start(2, "-n -c DIR/config.cfg");
    live.until("Domain State: UP");
    live.fake = None;
    live.until("Domain State: DOWN");
    let mut complaint = String::new();
    BufReader::new(live.child.stderr.take().unwrap()).read_line(&mut complaint).unwrap();
    assert_snapshot!(live.rig.redacted(complaint.as_bytes()));
    live.interrupt();
    assert_eq!(end_of(&mut live.child).code(), Some(0));
}

#[test]
fn an_interrupt_ends_both_with_success() {
    let lines = [("-n -u DIR/imex.sock", "Domain State: UP"), ("-s -u DIR/imex.sock", "READY")];
    for (line, last) in lines {
        let (mut live, _canned) = Live::start(1, line);
        live.until(last);
        live.interrupt();
        assert_eq!(live.end(), (Some(0), String::new()), "{line}");
    }
}

#[test]
fn an_interrupt_ends_a_monitor_whose_reader_has_stopped_reading() {
    // More than a pipe holds.
    let table = connected(200);
    let rig = Rig::new(&connected(1));
    let _fake = Fake::on_socket(&rig.socket(), Manner::Answer(Canned::new(0, table)));
    let mut child = rig.command("-n -u DIR/imex.sock").stdout(Stdio::piped()).spawn().unwrap();
    let mut out = child.stdout.take().unwrap();
    out.read_exact(&mut [0]).unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    kill(Pid::from_raw(pid), Signal::SIGINT).unwrap();
    assert_eq!(end_of(&mut child).code(), Some(0));
    drop(out);
}

#[test]
fn a_monitor_that_knows_one_daemon_only_ends_with_it() {
    let (live, _canned) = Live::start(1, "-n -u DIR/imex.sock");
    live.until("Domain State: UP");
    let (code, complaint) = live.after_the_daemon();
    assert_eq!(code, Some(2), "{complaint}");
}

#[test]
fn a_subscription_at_a_daemon_that_hangs_says_so_when_its_time_is_over() {
    let rig = Rig::new(&connected(1));
    let _fake = Fake::on_socket(&rig.socket(), Manner::Hang);
    assert_snapshot!(rig.session("-s -t 100 -u DIR/imex.sock"));
}

#[test]
fn a_closed_pipe_ends_both_with_success_though_nothing_changes() {
    for line in ["-n -u DIR/imex.sock", "-s -u DIR/imex.sock"] {
        let rig = Rig::new(&connected(1));
        let _fake = Fake::on_socket(&rig.socket(), Manner::Answer(Canned::new(0, connected(1))));
        let mut command = rig.command(line);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut first = [0];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        assert_eq!(end_of(&mut child).code(), Some(0), "{line}");
    }
}

#[test]
fn a_terminal_shows_each_table_in_place_of_the_one_before() {
    let rig = Rig::new(&connected(1));
    let _fake = Fake::on_socket(&rig.socket(), Manner::Answer(Canned::new(0, connected(1))));
    let terminal = nix::pty::openpty(None, None).unwrap();
    let mut child = rig.command("-n -u DIR/imex.sock").stdout(terminal.slave).spawn().unwrap();
    let mut begin = [0; 40];
    std::fs::File::from(terminal.master).read_exact(&mut begin).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let begin = String::from_utf8_lossy(&begin);
    assert!(begin.starts_with("\x1b[H\x1b[2JConnectivity Table"), "{begin:?}");
}

/// A running `imexctl`, the fake that it watches, and the lines that it has printed.
struct Live {
    rig: Rig,
    fake: Option<Fake>,
    child: Child,
    lines: Receiver<String>,
}

impl Live {
    fn start(nodes: usize, line: &str) -> (Self, Arc<Canned>) {
        let rig = Rig::new(&connected(nodes));
        let canned = Canned::new(0, connected(nodes));
        let fake = Fake::on_socket(&rig.socket(), Manner::Answer(canned.clone()));
        let mut command = rig.command(line);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program is there");
        let lines = lines_of(child.stdout.take().expect("it is piped"));
        let fake = Some(fake);
        (Live { rig, fake, child, lines }, canned)
    }

    /// The next line.
    fn line(&self) -> String {
        self.lines.recv_timeout(HANG).expect("there is one more line")
    }

    /// The next lines up to one.
    fn until(&self, last: &str) -> String {
        let mut text = String::new();
        loop {
            let line = self.line();
            text += &line;
            text.push('\n');
            if line == last {
                return text;
            }
        }
    }

    fn interrupt(&self) {
        let pid = i32::try_from(self.child.id()).expect("process ids fit");
        kill(Pid::from_raw(pid), Signal::SIGINT).expect("it runs");
    }

    /// Ends the daemon and waits for the end.
    fn after_the_daemon(mut self) -> (Option<i32>, String) {
        self.fake = None;
        self.end()
    }

    /// Waits for the end: no more lines, this exit code, this on standard error.
    fn end(&mut self) -> (Option<i32>, String) {
        assert_eq!(self.lines.recv_timeout(HANG), Err(RecvTimeoutError::Disconnected));
        let mut complaint = String::new();
        let mut stderr = self.child.stderr.take().expect("it is piped");
        stderr.read_to_string(&mut complaint).expect("it is text");
        (end_of(&mut self.child).code(), complaint)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn lines_of(out: ChildStdout) -> Receiver<String> {
    let (send, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines() {
            // Ends with the test that reads them.
            let Ok(Ok(())) = line.map(|line| send.send(line)) else {
                return;
            };
        }
    });
    lines
}
