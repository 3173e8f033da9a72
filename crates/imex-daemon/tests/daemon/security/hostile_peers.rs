//! Strangers at the peers' door, and a member that breaks the rules.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use imex_core::hello::{Introduction, PROTOCOL_VERSION};
use imex_core::message::Report;
use imex_core::{
    BootId, DomainState, DomainToken, Hello, InstanceId, NodeId, NodeMap, NodeState, PeerMessage,
};
use imex_wire::{DialTarget, Dialled, Link, LinkLimits, SendError};

use crate::support::{Node, PATIENCE, Rack, Stopwatch, block_on, eventually};

/// What an HTTP/2 client sends first (RFC 9113, section 3.4), with empty settings.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";

#[test]
fn strangers_are_put_out_counted_and_never_in_the_way_of_a_domain() {
    let rack = Rack::new(2);
    rack.set_all("OPENIMEX_STATS_INTERVAL_SEC", 1);
    let first = rack.start(0);
    first.await_state(NodeState::Ready);
    let address = rack.peer_address(0);
    let silent = knock(address, b"");
    let garbage = knock(address, &[0xa5; 100_000]);
    let half = knock(address, PREFACE);
    let endless = std::thread::spawn(move || pour(address));
    let second = rack.start(1);
    first.await_domain(DomainState::Up);
    second.await_domain(DomainState::Up);
    for stream in [silent, garbage, half] {
        assert_closed(stream);
    }
    endless.join().unwrap();
    assert!(eventually(|| {
        let stats = first.file("stats");
        stats.contains("StrangersSilent") && stats.contains("StrangersMalformed")
    }));
    assert_alive(&first);
}

#[test]
fn whoever_says_nothing_is_put_out_after_two_seconds_and_counted_as_silent() {
    let rack = Rack::new(2);
    rack.set_all("OPENIMEX_STATS_INTERVAL_SEC", 1);
    let first = rack.start(0);
    first.await_state(NodeState::Ready);
    let watch = Stopwatch::start();
    assert_closed(knock(rack.peer_address(0), b""));
    assert!(watch.elapsed() > Duration::from_millis(1900), "{:?}", watch.elapsed());
    // Not as one who authenticates, which may take longer.
    assert!(eventually(|| first.file("stats").contains("StrangersSilent")));
    assert!(!first.file("stats").contains("StrangersUnauthenticated"), "{}", first.file("stats"));
}

#[test]
fn one_source_cannot_hold_more_than_its_share_of_the_door() {
    let rack = Rack::new(2);
    rack.set_all("OPENIMEX_STATS_INTERVAL_SEC", 1);
    let first = rack.start(0);
    first.await_state(NodeState::Ready);
    let crowd: Vec<TcpStream> = (0..200).map(|_| knock(rack.peer_address(0), b"")).collect();
    let second = rack.start(1);
    second.await_domain(DomainState::Up);
    assert!(eventually(|| first.file("stats").contains("StrangersTurnedAway")));
    drop(crowd);
}

#[test]
fn a_hello_from_another_address_is_refused() {
    let rack = Rack::new(2);
    let first = rack.start(0);
    first.await_state(NodeState::Ready);
    let answer = dial_as(&rack, 1, 0, DomainToken::default());
    assert!(matches!(answer, Dialled::Refused(imex_core::Refusal::NotAtItsAddress { .. }, _)), "{answer:?}");
    first.await_log("Node configuration mapping mismatch with a connection that calls itself node 1");
    let answer = dial_as(&rack, 1, 5, DomainToken::default());
    assert!(matches!(answer, Dialled::Refused(imex_core::Refusal::AddressUnknown, _)), "{answer:?}");
    first.await_log("Refused a connection from an address that is not in the node map");
    let other = dial_as(&rack, 1, 5, DomainToken::new("other").unwrap());
    assert!(matches!(other, Dialled::Refused(imex_core::Refusal::OtherDomain, _)), "{other:?}");
}

#[test]
fn a_member_of_another_domain_is_told_nothing() {
    let rack = Rack::new(2);
    let first = rack.start(0);
    first.await_state(NodeState::Ready);
    let answer = dial_as(&rack, 1, 1, DomainToken::new("other").unwrap());
    assert!(matches!(answer, Dialled::Refused(imex_core::Refusal::OtherDomain, _)), "{answer:?}");
}

#[test]
fn a_member_that_does_not_read_is_put_out_and_the_daemon_keeps_its_memory() {
    let rack = Rack::new(2);
    rack.set(0, "OPENIMEX_STATS_INTERVAL_SEC", 1);
    let first = rack.start(0);
    first.await_state(NodeState::Ready);
    let before = resident_kib(&first);
    std::thread::spawn({
        let (address, source) = (rack.peer_address(0), rack.address(1));
        let hello = hello(&rack, 1, DomainToken::default());
        move || block_on(ask_without_reading(DialTarget { address, source: Some(source) }, hello))
    })
    .join()
    .unwrap();
    assert!(eventually(|| first.file("stats").contains(r#""Violations": "#)), "{}", first.file("stats"));
    assert!(resident_kib(&first) < before + 8 * 1024, "{before} KiB before, {} after", resident_kib(&first));
    assert_alive(&first);
}

/// Asks for rows as fast as it can, and takes one answer for many questions.
async fn ask_without_reading(target: DialTarget, hello: Hello) {
    let dialled = imex_wire::dial(target, &hello, LinkLimits::for_nodes(2)).await.unwrap();
    let Dialled::Admitted { link: Link { sender, mut receiver }, .. } = dialled else {
        panic!("{dialled:?}")
    };
    let report = Report { number: 1, state: NodeState::Ready, missing: 1 };
    sender.send(&PeerMessage::Report(report)).unwrap();
    for question in 0.. {
        match sender.send(&PeerMessage::RowRequest { question }) {
            Ok(()) => {}
            Err(SendError::Closed) => return,
            Err(SendError::Full) => {
                // Lets the questions leave and takes one answer.
                if let Ok(Err(_)) = tokio::time::timeout(Duration::from_millis(1), receiver.recv()).await {
                    return;
                }
            }
        }
    }
}

pub(super) fn hello(rack: &Rack, node: u16, token: DomainToken) -> Hello {
    let map = std::fs::read_to_string(rack.dir(0).join("nodes.cfg")).unwrap();
    Hello::check(Introduction {
        protocol: PROTOCOL_VERSION,
        software: "test".into(),
        driver: Hello::NO_GPU.into(),
        node: NodeId::new(node),
        instance: InstanceId::new(7),
        boot: BootId::default(),
        digest: NodeMap::new(map.lines()).unwrap().digest(),
        token,
        host: "".into(),
    })
    .unwrap()
}

/// Says that it is `node`, from the address of node `from`.
fn dial_as(rack: &Rack, node: u16, from: usize, token: DomainToken) -> Dialled {
    let target = DialTarget { address: rack.peer_address(0), source: Some(rack.address(from)) };
    let hello = hello(rack, node, token);
    block_on(async { imex_wire::dial(target, &hello, LinkLimits::for_nodes(2)).await.unwrap() })
}

fn knock(address: SocketAddr, words: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // The daemon may have closed already.
    let _ = stream.write_all(words);
    stream
}

/// Pours one endless message until the daemon closes.
fn pour(address: SocketAddr) {
    let mut stream = knock(address, PREFACE);
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    // A HEADERS frame that never says that the headers end, then continuations (RFC 9113, section 6.10).
    let header = |kind| [0x00, 0x40, 0x00, kind, 0x00, 0x00, 0x00, 0x00, 0x01];
    let block = [0x00; 0x4000];
    let mut open = stream.write_all(&header(0x01)).and_then(|()| stream.write_all(&block)).is_ok();
    while open {
        open = stream.write_all(&header(0x09)).and_then(|()| stream.write_all(&block)).is_ok();
    }
}

fn assert_closed(mut stream: TcpStream) {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
    }
}

fn assert_alive(node: &Node) {
    assert_eq!(node.status().map(|status| status.state), Some(NodeState::Ready));
}

fn resident_kib(node: &Node) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", node.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}
