//! `-q` and `-s`: one daemon's state.

use std::net::SocketAddr;
use std::process::Output;

use imex_core::NodeState;
use insta::assert_snapshot;

use crate::fake::{Canned, Fake, Manner};
use crate::rig::{Rig, without_reason};
use crate::sample::connected;

#[test]
fn a_ready_daemon_is_exactly_one_word_and_a_newline() {
    let rig = Rig::new(&connected(1));
    let _fake = Fake::on_socket(&rig.socket(), answering(NodeState::Ready));
    for line in ["-q -c DIR/config.cfg", "-q -u DIR/imex.sock", "-a -q --u=DIR/imex.sock"] {
        let Output { status, stdout, stderr } = rig.command(line).output().unwrap();
        assert_eq!((&*stdout, &*stderr, status.code()), (&b"READY\n"[..], &b""[..], Some(0)), "{line}");
    }
}

#[test]
fn a_daemon_answers_on_its_port_too() {
    let rig = Rig::new(&connected(1));
    let address = SocketAddr::from(([127, 0, 0, 1], rig.port));
    let _fake = Fake::on_port(address, answering(NodeState::InitGpu));
    assert_snapshot!(rig.session("-q -i 127.0.0.1 PORT"));
}

#[test]
fn a_daemon_whose_socket_is_gone_is_found_on_the_port_of_its_configuration() {
    let rig = Rig::with_port(&connected(1));
    let address = SocketAddr::from(([127, 0, 0, 1], rig.port));
    let _fake = Fake::on_port(address, answering(NodeState::Ready));
    assert_snapshot!(rig.session("-q -c DIR/config.cfg"));
}

#[test]
fn nobody_is_asked_over_tcp_in_the_clear_where_security_is_asked_for() {
    for lines in [
        "IMEX_ENABLE_AUTH_ENCRYPTION=1",
        "IMEX_ENABLE_AUTH_ENCRYPTION=yes",
        "IMEX_ENABLE_AUTH_ENCRYPTION=1\nIMEX_AUTH_ENCRYPTION_MODE=SLL_TLS",
        "IMEX_ENABLE_AUTH_ENCRYPTION=1\nIMEX_AUTH_ENCRYPTION_MODE=GSS_AUTH_ENCRYPT",
        "OPENIMEX_AUTH=mung",
        "OPENIMEX_AUTH=munge",
    ] {
        let rig = Rig::secured(&connected(1), lines);
        // Somebody else who holds the port would say anything.
        let address = SocketAddr::from(([127, 0, 0, 1], rig.port));
        let _impostor = Fake::on_port(address, answering(NodeState::Ready));
        let Output { status, stdout, .. } = rig.command("-q -c DIR/config.cfg").output().unwrap();
        assert_eq!((&*stdout, status.success()), (&b"UNAVAILABLE\n"[..], false), "{lines}");
    }
}

#[test]
fn every_state_of_a_daemon_has_its_word() {
    let words = NodeState::ALL.into_iter().filter(|&state| state != NodeState::Unavailable);
    let words = words.map(|state| {
        let rig = Rig::new(&connected(1));
        let _fake = Fake::on_socket(&rig.socket(), answering(state));
        rig.session("-q -c DIR/config.cfg")
    });
    assert_snapshot!(words.collect::<Vec<_>>().join("\n"));
}

#[test]
fn no_daemon() {
    assert_snapshot!(both(&Rig::new(&connected(1))));
}

#[test]
fn a_daemon_that_hangs() {
    let rig = Rig::new(&connected(1));
    let _fake = Fake::on_socket(&rig.socket(), Manner::Hang);
    assert_snapshot!(both(&rig));
}

#[test]
fn something_that_is_no_daemon() {
    let rig = Rig::new(&connected(1));
    let _fake = Fake::on_socket(&rig.socket(), Manner::Garbage);
    assert_snapshot!(without_reason(&both(&rig)));
}

#[test]
fn a_daemon_that_closes_at_once() {
    let rig = Rig::new(&connected(1));
    let _fake = Fake::on_socket(&rig.socket(), Manner::Close);
    assert_snapshot!(both(&rig));
}

#[test]
fn no_configuration() {
    assert_snapshot!(Rig::new(&connected(1)).session("-q -c DIR/other.cfg"));
}

#[test]
fn no_node_map() {
    let rig = Rig::new(&connected(1));
    std::fs::remove_file(rig.path("nodes_config.cfg")).unwrap();
    assert_snapshot!(rig.session("-q -c DIR/config.cfg"));
}

fn both(rig: &Rig) -> String {
    ["-q -c DIR/config.cfg", "-s -u DIR/imex.sock"].map(|line| rig.session(line)).join("\n\n")
}

fn answering(state: NodeState) -> Manner {
    let mut table = connected(1);
    table.rows[0].state = state;
    Manner::Answer(Canned::new(0, table))
}
