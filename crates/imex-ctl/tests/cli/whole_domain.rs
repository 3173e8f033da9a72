//! `-N`: the whole domain, once.

use std::net::SocketAddr;
use std::process::Stdio;
use std::time::{Duration, Instant};

use imex_core::{DomainTable, LinkState, NodeState};
use insta::assert_snapshot;

use crate::fake::{Canned, Fake, Manner};
use crate::rig::{Rig, without_reason};
use crate::sample::{connected, silence};

#[test]
fn one_node() {
    assert_snapshot!(seen_by(0, connected(1)).session("-N -c DIR/config.cfg"));
}

#[test]
fn three_nodes_with_names() {
    assert_snapshot!(seen_by(1, connected(3)).session("-N -H -c DIR/config.cfg"));
}

#[test]
fn a_full_rack() {
    assert_snapshot!(seen_by(4, connected(18)).session("-N -c DIR/config.cfg"));
}

#[test]
fn every_letter() {
    let mut table = connected(8);
    for (from, row) in table.rows.iter_mut().enumerate() {
        for (to, link) in row.links.iter_mut().enumerate() {
            link.state = LinkState::ALL[(from + to) % LinkState::ALL.len()];
        }
    }
    table.rows[3].state = NodeState::WaitingForRecovery;
    table.rows[5].address = "compute-domain-daemon-0005".into();
    table.state = DomainTable::judge(&table.rows);
    assert_snapshot!(seen_by(5, table).session("-N -u DIR/imex.sock"));
}

#[test]
fn as_json() {
    assert_snapshot!(seen_by(0, degraded(2)).session("-N -j -c DIR/config.cfg"));
}

#[test]
fn as_json_with_names() {
    assert_snapshot!(seen_by(0, degraded(2)).session("-NjH -c DIR/config.cfg"));
}

#[test]
fn a_daemon_that_is_dead_leaves_a_table_that_is_down() {
    let rig = Rig::new(&connected(3));
    assert_snapshot!(rig.session("-N -c DIR/config.cfg"));
    assert_snapshot!(rig.session("-N -j -c DIR/config.cfg"));
}

#[test]
fn a_dead_daemon_and_no_node_map_leave_nothing() {
    let rig = Rig::new(&connected(3));
    assert_snapshot!(rig.session("-N -u DIR/imex.sock"));
}

#[test]
fn a_map_that_cannot_be_read_is_255_even_with_a_daemon() {
    let seen = seen_by(0, connected(1));
    std::fs::remove_file(seen.rig.path("nodes_config.cfg")).unwrap();
    assert_snapshot!(seen.session("-N -c DIR/config.cfg"));
}

#[test]
fn a_map_that_makes_no_sense_is_255_and_says_why() {
    let rig = Rig::new(&connected(1));
    let sessions =
        ["", "10.0.0.1\n10.0.0.2\n10.0.0.1\n", "0.0.0.0\n0.0.0.0\n", "10.0.0.1\n\0\0\n"].map(|map| {
            rig.write("nodes_config.cfg", map);
            rig.session("-N -c DIR/config.cfg")
        });
    assert_snapshot!(sessions.join("\n\n"));
}

#[test]
fn a_map_that_is_too_long_for_a_table_is_told_before_memory_ends() {
    let rig = Rig::new(&connected(1));
    let names: String = (0..65_534).map(|id| format!("host{id}\n")).collect();
    rig.write("nodes_config.cfg", &names);
    assert_snapshot!(
        ["-N", "-n -j", "-q"].map(|verb| rig.session(&format!("{verb} -c DIR/config.cfg"))).join("\n\n")
    );
}

#[test]
fn a_daemon_that_hangs_leaves_a_table_in_time() {
    assert_snapshot!(in_time(Manner::Hang));
}

#[test]
fn a_daemon_that_closes_at_once_leaves_a_table() {
    assert_snapshot!(in_time(Manner::Close));
}

#[test]
fn something_that_is_no_daemon_leaves_a_table() {
    assert_snapshot!(without_reason(&in_time(Manner::Garbage)));
}

#[test]
fn nodes_that_the_daemon_cannot_speak_for_are_asked_directly() {
    let mut table = loopback(4);
    let asked = table.clone();
    silence(&mut table, 2);
    silence(&mut table, 3);
    let rig = Rig::with_port(&table);
    let _local = Fake::on_socket(&rig.socket(), Manner::Answer(Canned::new(0, table)));
    let _third = Fake::on_port(at(3, rig.port), Manner::Answer(Canned::new(2, asked)));
    assert_snapshot!(rig.session("-N -c DIR/config.cfg"));
}

#[test]
fn with_a_dead_daemon_each_node_speaks_for_itself() {
    let table = loopback(3);
    let rig = Rig::with_port(&table);
    let _second = Fake::on_port(at(2, rig.port), Manner::Answer(Canned::new(1, table)));
    let _third = Fake::on_port(at(3, rig.port), Manner::Hang);
    let begin = now();
    let session = rig.session("-N -c DIR/config.cfg");
    assert!(begin.elapsed() < IN_TIME, "{:?}", begin.elapsed());
    assert_snapshot!(session);
}

#[test]
fn a_node_with_another_map_shows_its_state_but_no_links() {
    let mut table = loopback(2);
    silence(&mut table, 1);
    let rig = Rig::with_port(&table);
    let _local = Fake::on_socket(&rig.socket(), Manner::Answer(Canned::new(0, table)));
    let _other = Fake::on_port(at(2, rig.port), Manner::Answer(Canned::new(1, loopback(5))));
    assert_snapshot!(rig.session("-N -c DIR/config.cfg"));
}

#[test]
fn a_closed_pipe_is_a_quiet_success() {
    let seen = seen_by(0, connected(18));
    let mut command = seen.rig.command("-N -c DIR/config.cfg");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]));
}

#[test]
fn a_full_disk_is_told() {
    let seen = seen_by(0, connected(1));
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = seen.rig.command("-N -c DIR/config.cfg");
    let output = command.stdout(full).output().unwrap();
    assert_snapshot!(seen.rig.told("-N -c DIR/config.cfg > /dev/full", &output));
}

/// The whole deadline, and as much again for a busy machine.
const IN_TIME: Duration = Duration::from_secs(4);

/// A session with a daemon of this manner.
fn in_time(manner: Manner) -> String {
    let rig = Rig::new(&connected(2));
    let _fake = Fake::on_socket(&rig.socket(), manner);
    let begin = now();
    let session = rig.session("-N -c DIR/config.cfg");
    assert!(begin.elapsed() < IN_TIME, "{:?}", begin.elapsed());
    session
}

/// A domain's files, and a fake that answers for one of its nodes.
struct Seen {
    rig: Rig,
    _fake: Fake,
}

impl Seen {
    fn session(&self, line: &str) -> String {
        self.rig.session(line)
    }
}

fn seen_by(node: usize, table: DomainTable) -> Seen {
    let rig = Rig::new(&table);
    let fake = Fake::on_socket(&rig.socket(), Manner::Answer(Canned::new(node, table)));
    Seen { rig, _fake: fake }
}

/// The last node does not answer, and the others have lost it.
fn degraded(nodes: usize) -> DomainTable {
    let mut table = connected(nodes);
    for row in &mut table.rows {
        row.links[nodes - 1].state = LinkState::Recovering;
    }
    silence(&mut table, nodes - 1);
    table
}

/// A domain on the loopback network, from 127.0.0.1 on.
fn loopback(nodes: usize) -> DomainTable {
    let mut table = connected(nodes);
    for (id, row) in table.rows.iter_mut().enumerate() {
        row.address = format!("127.0.0.{}", id + 1).into();
    }
    table
}

fn at(last: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, last], port))
}

#[expect(clippy::disallowed_methods, reason = "a test of how long the real program takes")]
fn now() -> Instant {
    Instant::now()
}
