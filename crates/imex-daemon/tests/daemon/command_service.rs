//! Questions by tools, and clients that behave badly.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use imex_core::{DomainState, DomainTable, Evidence, LinkState, NodeState};
use imex_wire::{ClientError, CommandClient, CommandError, Endpoint};

use crate::support::{Rack, Stopwatch, block_on, eventually};

#[test]
fn a_node_tells_its_own_state_and_row() {
    let rack = Rack::new(2);
    let nodes = rack.start_all();
    let status = nodes[1].status().unwrap();
    assert_eq!(status.node.number(), 1);
    assert_eq!(*status.address, rack.address(1).to_string());
    assert_eq!(status.state, NodeState::Ready);
    assert_eq!(&*status.version, "NO_GPU");
    assert_eq!(&*status.software, env!("CARGO_PKG_VERSION"));
    assert!(status.links.iter().all(|link| link.state == LinkState::Connected));
}

#[test]
fn a_domain_is_shown_whole_with_its_evidence() {
    let rack = Rack::new(3);
    let mut nodes = rack.start_all();
    nodes[2].kill();
    nodes[0].await_link(2, LinkState::Recovering);
    let table = nodes[0].table().unwrap();
    assert_eq!(table.state, DomainState::Degraded);
    assert_eq!(table.rows[0].evidence, Evidence::Own);
    assert_eq!(table.rows[2].evidence, Evidence::NoAnswer);
    assert_eq!(table.rows[2].links[0].state, LinkState::Invalid);
}

#[test]
fn a_watch_gives_the_state_now_and_at_each_change() {
    let rack = Rack::new(2);
    let mut first = rack.start(0);
    first.await_state(NodeState::Ready);
    let socket = first.socket();
    let second = block_on(async {
        let mut client =
            CommandClient::connect(&Endpoint::Unix(socket), Duration::from_secs(20)).await.unwrap();
        let mut watch = client.watch_domain().await.unwrap();
        assert_eq!(watch.next().await.unwrap().unwrap().state, DomainState::Degraded);
        let second = rack.start(1);
        while watch.next().await.unwrap().unwrap().state != DomainState::Up {}
        second
    });
    drop(second);
    first.kill();
}

#[test]
fn over_tcp_the_same_is_answered_where_configured() {
    let rack = Rack::new(1);
    rack.set(0, "IMEX_CMD_ENABLED", 1);
    rack.set(0, "IMEX_CMD_PORT", 50005);
    rack.set(0, "IMEX_CMD_BIND_INTERFACE_IP", rack.address(0));
    let mut node = rack.start(0);
    node.await_state(NodeState::Ready);
    let endpoint = Endpoint::Tcp((rack.address(0), 50005).into());
    let status =
        block_on(async { CommandClient::connect(&endpoint, Duration::from_secs(5)).await?.get_node().await });
    assert_eq!(status.unwrap().state, NodeState::Ready);
    node.stop();
}

#[test]
fn without_the_key_no_port_is_open() {
    let rack = Rack::new(1);
    let mut node = rack.start(0);
    node.await_state(NodeState::Ready);
    assert!(TcpStream::connect((rack.address(0), 50005)).is_err());
    node.stop();
}

#[test]
fn clients_that_hang_or_talk_nonsense_delay_neither_peers_nor_others() {
    let rack = Rack::new(2);
    let first = rack.start(0);
    first.await_state(NodeState::Ready);
    // More than are served at once, so that some wait in the backlog.
    let mut hanging: Vec<UnixStream> =
        (0..12).map(|_| UnixStream::connect(first.socket()).unwrap()).collect();
    for (n, stream) in hanging.iter_mut().enumerate() {
        let nonsense = if n % 2 == 0 { b"GET / HTTP/1.1\r\n\r\n".as_slice() } else { &[0xff; 4096] };
        // The daemon may have closed already.
        let _ = stream.write_all(nonsense);
    }
    let watch = Stopwatch::start();
    let second = rack.start(1);
    second.await_domain(DomainState::Up);
    first.await_domain(DomainState::Up);
    assert!(watch.elapsed() < Duration::from_secs(10), "{:?}", watch.elapsed());
    for mut stream in hanging {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut answer = Vec::new();
        // Reset or closed: either way the daemon did not keep it.
        let _ = stream.read_to_end(&mut answer);
    }
}

#[test]
fn silent_clients_that_hold_every_place_make_room_at_once() {
    let rack = Rack::new(1);
    let mut node = rack.start(0);
    node.await_state(NodeState::Ready);
    let silent: Vec<UnixStream> = (0..40).map(|_| UnixStream::connect(node.socket()).unwrap()).collect();
    let watch = Stopwatch::start();
    node.await_state(NodeState::Ready);
    assert!(watch.elapsed() < Duration::from_secs(6), "{:?}", watch.elapsed());
    drop(silent);
    node.stop();
}

#[test]
fn clients_that_watch_for_ever_do_not_keep_others_from_asking() {
    let rack = Rack::new(1);
    let mut node = rack.start(0);
    node.await_state(NodeState::Ready);
    let endpoint = Endpoint::Unix(node.socket());
    block_on(async {
        let mut watches = Vec::new();
        for _ in 0..20 {
            let mut client = CommandClient::connect(&endpoint, Duration::from_secs(6)).await.unwrap();
            let mut watch = client.watch_domain().await.unwrap();
            watch.next().await.unwrap();
            watches.push((client, watch));
        }
        let mut client = CommandClient::connect(&endpoint, Duration::from_secs(6)).await.unwrap();
        client.get_domain().await.unwrap();
    });
    node.stop();
}

/// A table has as many cells as the square of the nodes: one question would take gigabytes, and hold up everything else.
#[test]
fn no_table_is_made_of_a_map_that_is_too_long_for_one() {
    let rack = Rack::new(1);
    let others: String =
        (0..DomainTable::MOST_NODES).map(|k| format!("127.250.{}.{}\n", k / 256, k % 256)).collect();
    rack.write_nodes(0, format!("{}\n{others}", rack.address(0)));
    let mut node = rack.start(0);
    let whole = |links: usize| links == DomainTable::MOST_NODES + 1;
    assert!(eventually(|| node.status().is_some_and(|status| whole(status.links.len()))));
    let told = block_on(async {
        let mut client =
            CommandClient::connect(&Endpoint::Unix(node.socket()), Duration::from_secs(6)).await.unwrap();
        client.get_domain().await.unwrap_err()
    });
    assert!(matches!(told, ClientError::Declined { why: CommandError::TooLarge, .. }), "{told:?}");
    node.stop();
}
