//! Mutual TLS between real daemons: taking new credentials into use, certificates near their end, questions over TCP.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use imex_core::DomainState;
use imex_tls::PeerName;
use imex_wire::{CommandClient, Endpoint, Secure};
use nix::sys::signal::Signal;

use super::hostile_tls::ends_of;
use crate::support::pki::{Authority, SIDES, Terms};
use crate::support::{Node, PATIENCE, Rack, block_on, eventually};

const NODES: usize = 8;

#[test]
fn new_credentials_are_in_use_everywhere_though_one_node_is_told_and_nothing_is_lost() {
    let rack = Rack::new(NODES);
    let site = Authority::new("site");
    rack.secure_all(NODES, &site);
    let nodes = rack.start_all();
    rack.secure_all(NODES, &site);
    let watch = Watch::of(&nodes[5]);
    nodes[0].signal(Signal::SIGUSR1);
    for node in &nodes {
        node.await_log("New credentials are in use for every connection from now on");
        node.await_log("Dialling every node anew");
    }
    for node in &nodes {
        node.await_domain(DomainState::Up);
        assert!(!node.log().contains("Connection lost"), "{}", node.log());
    }
    assert_eq!(watch.end(), 0, "the domain was not UP all the time");
    assert!(nodes[1].log().contains("Node 0 says that its credentials were replaced"), "{}", nodes[1].log());
}

#[test]
fn credentials_that_have_not_changed_are_nobody_elses_business() {
    let rack = Rack::new(3);
    let site = Authority::new("site");
    rack.secure_all(3, &site);
    let nodes = rack.start_all();
    nodes[0].signal(Signal::SIGUSR1);
    nodes[0].await_log("This node's credentials have not changed; the other members are not told");
    nodes[0].await_log("Dialling every node anew");
    nodes.iter().for_each(|node| node.await_domain(DomainState::Up));
    // Those that do change are told of; word of the others would have come before.
    rack.secure_all(3, &site);
    nodes[0].signal(Signal::SIGUSR1);
    for node in &nodes[1..] {
        node.await_log("Dialling every node anew");
        assert_eq!(count(node, "Dialling every node anew"), 1, "{}", node.log());
        assert_eq!(count(node, "says that its credentials were replaced"), 1, "{}", node.log());
    }
}

#[test]
fn a_member_whose_own_files_have_not_changed_dials_nobody_when_it_is_told() {
    let rack = Rack::new(3);
    let site = Authority::new("site");
    rack.secure_all(3, &site);
    let nodes = rack.start_all();
    rack.secure(0, &site, &Terms::good(rack.address(0)));
    nodes[0].signal(Signal::SIGUSR1);
    nodes[0].await_log("Dialling every node anew");
    for node in &nodes[1..] {
        node.await_log("Node 0 says that its credentials were replaced");
        // After which it does nothing.
        node.await_verbose("This node's credentials have not changed");
    }
    for node in &nodes {
        node.await_domain(DomainState::Up);
        assert!(!node.log().contains("Connection lost"), "{}", node.log());
    }
    for node in &nodes[1..] {
        assert_eq!(count(node, "New credentials are in use"), 0, "{}", node.log());
        assert_eq!(count(node, "Dialling every node anew"), 0, "{}", node.log());
    }
}

#[test]
fn an_authority_is_replaced_under_a_running_domain() {
    let rack = Rack::new(3);
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    rack.secure_all(3, &old);
    let nodes = rack.start_all();
    // First both are trusted, and shown is the new one's; then only the new one is.
    let steps = [format!("{}{}", old.pem(), new.pem()), new.pem().to_owned()];
    for (done, trusted) in steps.iter().enumerate() {
        for k in 0..3 {
            rack.secure(k, &new, &Terms::good(rack.address(k)));
            rack.trust(k, trusted);
        }
        nodes[2].signal(Signal::SIGUSR1);
        let taken = || nodes.iter().all(|node| count(node, "Dialling every node anew") > done);
        assert!(eventually(taken));
        nodes.iter().for_each(|node| node.await_domain(DomainState::Up));
        nodes.iter().for_each(|node| assert!(!node.log().contains("Connection lost"), "{}", node.log()));
    }
}

#[test]
fn a_certificate_near_its_end_is_warned_of_and_serves() {
    let rack = Rack::new(1);
    let terms = Terms { ends: time::Duration::days(3), ..Terms::good(rack.address(0)) };
    rack.secure(0, &Authority::new("site"), &terms);
    rack.set(0, "OPENIMEX_STATS_INTERVAL_SEC", 1);
    let (code, told) = rack.check(0);
    assert_eq!(code, 3, "a strict check fails on a warning: {told}");
    assert!(told.contains("server.crt expires in 2 days, at "), "{told}");
    let nodes = rack.start_all();
    nodes[0].await_log("client.crt expires in 2 days, at ");
    assert!(eventually(|| nodes[0].file("stats").contains(r#""notAfter": "#)), "{}", nodes[0].file("stats"));
}

#[test]
fn no_log_and_no_statistics_hold_a_secret() {
    let rack = Rack::new(2);
    rack.secure_all(2, &Authority::new("site"));
    rack.set_all("OPENIMEX_STATS_INTERVAL_SEC", 1);
    let mut nodes = rack.start_all();
    nodes[0].signal(Signal::SIGUSR1);
    nodes[0].await_log("Dialling every node anew");
    nodes[1].expect_error("Node disconnect event detected for node 0");
    nodes[0].signal(Signal::SIGHUP);
    assert!(eventually(|| !nodes[0].file("stats").is_empty()));
    nodes[0].stop();
    let keys = SIDES.map(|side| std::fs::read_to_string(rack.credential(0, side, "key")).unwrap());
    let secrets: Vec<&str> =
        keys.iter().flat_map(|key| key.lines()).filter(|line| !line.is_empty()).collect();
    for file in ["log", "verbose", "stats", "stderr"] {
        let text = nodes[0].file(file);
        assert!(!secrets.iter().any(|secret| text.contains(secret)), "{file}: {text}");
    }
}

#[test]
fn questions_over_tcp_are_answered_to_holders_of_a_certificate_only() {
    let rack = Rack::new(1);
    rack.secure_all(1, &Authority::new("site"));
    rack.set(0, "IMEX_CMD_ENABLED", 1);
    rack.set(0, "IMEX_CMD_BIND_INTERFACE_IP", rack.address(0));
    let _nodes = rack.start_all();
    let endpoint = Endpoint::Tcp((rack.address(0), 50005).into());
    let plain = block_on(async { CommandClient::connect(&endpoint, PATIENCE).await?.get_node().await });
    assert!(plain.is_err(), "{plain:?}");
    let holder = Holder(ends_of(&rack, 0), PeerName::of_ip(rack.address(0)));
    let answer = block_on(async {
        CommandClient::connect_through(&endpoint, PATIENCE, &holder).await?.get_node().await
    });
    assert_eq!(answer.unwrap().node, imex_core::NodeId::new(0));
    // The socket is as it always was: closed to other users by its mode.
    let endpoint = Endpoint::Unix(rack.dir(0).join("socket"));
    let answer = block_on(async { CommandClient::connect(&endpoint, PATIENCE).await?.get_node().await });
    assert!(answer.is_ok(), "{answer:?}");
}

/// A tool with a certificate.
struct Holder(imex_tls::Ends, PeerName);

impl Secure for Holder {
    type Io = imex_tls::Io;

    async fn secure(&self, tcp: tokio::net::TcpStream) -> std::io::Result<imex_tls::Io> {
        let secured = self.0.connect(tcp, &self.1).await;
        secured.map(|secured| secured.io).map_err(std::io::Error::other)
    }

    fn is_distrust(error: &std::io::Error) -> bool {
        imex_tls::TlsError::in_io(error).is_some()
    }
}

fn count(node: &Node, text: &str) -> usize {
    node.log().matches(text).count()
}

/// Counts how often a node did not see the domain UP.
struct Watch {
    over: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<usize>,
}

impl Watch {
    fn of(node: &Node) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let endpoint = Endpoint::Unix(node.socket());
        let ended = Arc::clone(&over);
        let thread = std::thread::spawn(move || block_on(not_up(endpoint, ended)));
        Watch { over, thread }
    }

    fn end(self) -> usize {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

async fn not_up(endpoint: Endpoint, over: Arc<AtomicBool>) -> usize {
    let mut client = CommandClient::connect(&endpoint, PATIENCE).await.unwrap();
    let mut changes = client.watch_domain().await.unwrap();
    let mut seen = 0;
    while !over.load(Ordering::Relaxed) {
        let Ok(change) = tokio::time::timeout(Duration::from_millis(10), changes.next()).await else {
            continue;
        };
        seen += usize::from(change.unwrap().unwrap().state != DomainState::Up);
    }
    seen
}
