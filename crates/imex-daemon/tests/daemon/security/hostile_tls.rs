//! Strangers, and members with more in mind than they should have, at a port where TLS is spoken.
//!
//! Each test has members that are UP throughout, and a real one that joins while it lasts, and soon.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread;

use imex_config::{Security, ThisMachine, load_client};
use imex_core::hello::{Introduction, PROTOCOL_VERSION};
use imex_core::{BootId, DomainToken, Hello, InstanceId, NodeId, NodeMap, Refusal};
use imex_tls::{Ends, PeerName, Secured};
use imex_wire::{Credential, DialTarget, Dialled, LinkLimits};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::io::AsyncWriteExt;

use crate::support::flood::{Domain, restarted};
use crate::support::pki::{Authority, Terms};
use crate::support::{Node, PATIENCE, Rack, block_on, eventually};

/// How many nodes; the last one joins while something hostile goes on.
const NODES: usize = 4;
const LAST: usize = NODES - 1;

/// How many connections the floods hold.
const FLOOD: usize = 300;

#[test]
fn whoever_does_not_authenticate_is_put_out_counted_and_in_nobodys_way() {
    let scene = Scene::new();
    let address = scene.rack.peer_address(0);
    let source = scene.rack.address(1);
    // No authentication at all: HTTP/2 and a hello where TLS is due.
    let hello = scene.hello(1);
    let target = DialTarget { address, source: Some(source) };
    let plain = block_on(imex_wire::dial(target, &hello, LinkLimits::for_nodes(NODES)));
    assert!(plain.is_err(), "{plain:?}");
    // A client hello cut short, a record longer than any may be, bytes of no protocol.
    let recorded = scene.record();
    for (name, bytes) in [
        ("truncated", &recorded[..recorded.len() / 3]),
        ("oversized", &[&[22, 3, 1, 0xff, 0xff][..], &[0x5a; 70_000]].concat()),
        ("noise", &[0xa5; 4096]),
        ("alert", &[21, 3, 3, 0, 2, 2, 40]),
    ] {
        let say = |stream: &mut TcpStream| {
            // The daemon may have closed already.
            let _ = stream.write_all(bytes);
            let _ = stream.shutdown(std::net::Shutdown::Write);
        };
        assert!(is_closed_at_once(source, address, say), "{name}");
    }
    // A whole handshake of a member, said again.
    assert!(is_closed_at_once(source, address, |stream| {
        let _ = stream.write_all(&recorded);
    }));
    scene.joins();
    scene.await_counter("StrangersUnauthenticated");
}

#[test]
fn an_address_outside_the_map_is_closed_before_it_can_begin() {
    let scene = Scene::new();
    let mut stream = knock(scene.rack.address(100), scene.rack.peer_address(0));
    assert!(is_closed(&mut stream));
    scene.await_counter("StrangersForeign");
    scene.nodes[0].await_log("Refused a connection from an address that is not in the node map");
}

#[test]
fn a_member_cannot_be_another_one() {
    let scene = Scene::new();
    let ends = scene.ends(1);
    // With its own certificate, from the other's address, under the other's name.
    let answer = scene.introduce(&ends, 2, scene.rack.address(2), None);
    assert!(matches!(answer, Ok(Dialled::Refused(Refusal::Unproven, _))), "{answer:?}");
    scene.await_counter("RefusedUnproven");
    // From its own address, under the other's name.
    let answer = scene.introduce(&ends, 2, scene.rack.address(1), None);
    assert!(matches!(answer, Ok(Dialled::Refused(Refusal::Unproven, _))), "{answer:?}");
    // With a proof that nobody asked for.
    let proof = Credential::new(vec![7; 100]).unwrap();
    let answer = scene.introduce(&ends, 1, scene.rack.address(1), Some(&proof));
    assert!(matches!(answer, Ok(Dialled::Refused(Refusal::Unproven, _))), "{answer:?}");
    scene.joins();
}

#[test]
fn a_certificate_of_another_authority_is_refused_by_an_alert() {
    let scene = Scene::new();
    // Everything but the authority is as it should be; the stranger trusts the site.
    let stranger = Rack::new(NODES);
    stranger.secure(1, &Authority::new("strangers"), &Terms::good(scene.rack.address(1)));
    stranger.trust(1, scene.site.pem());
    drop(stranger.command(1));
    let answer = scene.introduce(&ends_of(&stranger, 1), 1, scene.rack.address(1), None);
    assert!(answer.is_err(), "{answer:?}");
    scene.await_counter("StrangersUnauthenticated");
}

#[test]
fn a_member_that_says_something_else_first_is_put_out() {
    let scene = Scene::new();
    let ends = scene.ends(1);
    block_on(async {
        let Secured { mut io, session } = scene.secured(&ends, scene.rack.address(1)).await;
        io.write_all(b"GET / HTTP/1.1\r\nHost: imex\r\n\r\n").await.unwrap();
        io.flush().await.unwrap();
        let mut rest = Vec::new();
        // Closed in one way or the other.
        let _ = tokio::io::AsyncReadExt::read_to_end(&mut io, &mut rest).await;
        drop(session);
    });
    scene.await_counter("StrangersMalformed");
    scene.joins();
}

#[test]
fn whoever_shows_no_certificate_is_refused() {
    let scene = Scene::new();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(scene.roots())
        .with_no_client_auth();
    let name = rustls::pki_types::ServerName::from(scene.rack.address(0));
    let mut client = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut tcp = knock(scene.rack.address(1), scene.rack.peer_address(0));
    while client.is_handshaking() {
        client.complete_io(&mut tcp).unwrap();
    }
    // A client is done first; what the server makes of it comes with the next bytes.
    let told = loop {
        match client.complete_io(&mut tcp) {
            Ok(_) => {}
            Err(error) => break error.to_string(),
        }
    };
    assert!(told.contains("CertificateRequired"), "{told}");
    scene.await_counter("StrangersUnauthenticated");
    scene.nodes[0].await_log("it shows no credential");
}

#[test]
fn whole_handshakes_without_end_neither_part_the_members_nor_keep_one_out() {
    let scene = Scene::new();
    let recorded = Arc::new(scene.record());
    // Each costs the daemon its part of a handshake. They come from a member's address until the other one has joined.
    let (source, doors) = (scene.rack.address(1), (0..LAST).map(|k| scene.rack.peer_address(k)));
    let doors: Vec<SocketAddr> = doors.collect();
    scene.bears("whole handshakes", move || {
        for door in &doors {
            if let Ok(mut stream) = connect(source, *door) {
                let _ = stream.write_all(&recorded);
            }
        }
    });
    scene.await_counter("StrangersTurnedAway");
}

#[test]
fn hundreds_of_slow_handshakes_neither_part_the_members_nor_keep_one_out() {
    let scene = Scene::new();
    let recorded = scene.record();
    let joiner = scene.rack.address(LAST);
    // From the very address of the one that is to join, and from a member's.
    let mut held = VecDeque::new();
    let (member, doors) = (scene.rack.address(1), (0..LAST).map(|k| scene.rack.peer_address(k)));
    let doors: Vec<SocketAddr> = doors.collect();
    let mut hold = move |from: IpAddr| {
        for door in &doors {
            if let Ok(mut stream) = connect(from, *door) {
                let _ = stream.write_all(&recorded[..20]);
                held.push_back(stream);
            }
        }
        held.drain(..held.len().saturating_sub(FLOOD));
    };
    (0..FLOOD / LAST).for_each(|_| hold(joiner));
    // Who comes from the very address of the one that joins, and faster than it may, keeps it out: see the threat model.
    scene.bears("slow handshakes", move || hold(member));
    scene.await_counter("StrangersTurnedAway");
}

struct Scene {
    // First, because their logs are looked at in the end, and go with the rack.
    nodes: Vec<Node>,
    site: Authority,
    rack: Rack,
}

impl Scene {
    /// All nodes but the last are UP as far as they can be.
    fn new() -> Self {
        let rack = Rack::new(NODES);
        let site = Authority::new("site");
        rack.secure_all(NODES, &site);
        rack.set_all("OPENIMEX_STATS_INTERVAL_SEC", 1);
        let mut nodes: Vec<Node> = (0..LAST).map(|k| rack.start(k)).collect();
        nodes.iter_mut().for_each(|node| node.expect_error(&restarted(LAST)));
        let scene = Scene { rack, site, nodes };
        let met = |node: &Node| {
            let status = node.status();
            status.is_some_and(|status| (0..LAST).all(|k| status.links[k].state.letter() == "C"))
        };
        assert!(eventually(|| scene.nodes.iter().all(met)));
        scene
    }

    /// The last node joins, in time, and beside what goes on; the others lose nobody.
    fn bears(&self, name: &str, go_on: impl FnMut() + Send + 'static) {
        self.domain().bears(vec![(name, Box::new(go_on))]);
    }

    /// The last node joins; the others lose nobody.
    fn joins(&self) {
        self.domain().join();
        self.domain().lost_nobody();
    }

    fn domain(&self) -> Domain<'_> {
        Domain { rack: &self.rack, members: &self.nodes }
    }

    fn roots(&self) -> rustls::RootCertStore {
        let mut roots = rustls::RootCertStore::empty();
        let certificate = CertificateDer::from_pem_slice(self.site.pem().as_bytes()).unwrap();
        roots.add(certificate).unwrap();
        roots
    }

    fn await_counter(&self, counter: &str) {
        let counted = || self.nodes.iter().any(|node| node.file("stats").contains(counter));
        assert!(eventually(counted), "{counter}\n{}\n{}", self.nodes[0].file("stats"), self.nodes[0].log());
    }

    fn ends(&self, k: usize) -> Ends {
        ends_of(&self.rack, k)
    }

    async fn secured(&self, ends: &Ends, from: IpAddr) -> Secured {
        let target = DialTarget { address: self.rack.peer_address(0), source: Some(from) };
        let tcp = imex_wire::connect(target).await.unwrap();
        ends.connect(tcp, &PeerName::of_ip(self.rack.address(0))).await.unwrap()
    }

    fn introduce(
        &self,
        ends: &Ends,
        claimed: u16,
        from: IpAddr,
        proof: Option<&Credential>,
    ) -> Result<Dialled, imex_wire::DialError> {
        block_on(async {
            let io = self.secured(ends, from).await.io;
            imex_wire::introduce(io, &self.hello(claimed), proof, LinkLimits::for_nodes(NODES)).await
        })
    }

    fn hello(&self, node: u16) -> Hello {
        let map = std::fs::read_to_string(self.rack.dir(0).join("nodes.cfg")).unwrap();
        Hello::check(Introduction {
            protocol: PROTOCOL_VERSION,
            software: "test".into(),
            driver: Hello::NO_GPU.into(),
            node: NodeId::new(node),
            instance: InstanceId::new(7),
            boot: BootId::default(),
            digest: NodeMap::new(map.lines()).unwrap().digest(),
            token: DomainToken::default(),
            host: "".into(),
        })
        .unwrap()
    }

    /// Everything that a member sends until its hello has been read, taken down on its way.
    fn record(&self) -> Vec<u8> {
        let listener = TcpListener::bind((self.rack.address(101), 0)).unwrap();
        let (middle, source) = (listener.local_addr().unwrap(), self.rack.address(1));
        let daemon = self.rack.peer_address(0);
        let (record, recorded) = mpsc::channel();
        thread::spawn(move || {
            let (client, _) = listener.accept().unwrap();
            let server = connect(source, daemon).unwrap();
            let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
            thread::spawn(move || pass(back.0, back.1, None));
            pass(client, server, Some(record));
        });
        let ends = self.ends(1);
        let name = PeerName::of_ip(self.rack.address(0));
        block_on(async {
            let tcp = tokio::net::TcpStream::connect(middle).await.unwrap();
            let io = ends.connect(tcp, &name).await.unwrap().io;
            let limits = LinkLimits::for_nodes(NODES);
            // A second instance of a node that runs: it is answered one way or the other.
            let _ = imex_wire::introduce(io, &self.hello(2), None, limits).await;
        });
        let recorded: Vec<u8> = recorded.iter().flatten().collect();
        assert!(recorded.len() > 500, "a client hello and a certificate at least: {}", recorded.len());
        recorded
    }
}

/// Passes bytes on until either end closes.
fn pass(mut from: TcpStream, mut to: TcpStream, record: Option<mpsc::Sender<Vec<u8>>>) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        if let Some(record) = &record {
            let _ = record.send(bytes[..read].to_vec());
        }
        if to.write_all(&bytes[..read]).is_err() {
            return;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}

/// The ends of a node whose configuration has been written.
pub(super) fn ends_of(rack: &Rack, k: usize) -> Ends {
    drop(rack.command(k));
    let loaded = load_client(&rack.dir(k).join("config.cfg"), &ThisMachine).unwrap();
    let Ok(Security::Tls(tls)) = loaded.settings.security else { panic!("{}", loaded.problems) };
    Ends::new(&tls).unwrap()
}

fn connect(from: IpAddr, to: SocketAddr) -> std::io::Result<TcpStream> {
    block_on(async {
        let target = DialTarget { address: to, source: Some(from) };
        let tcp = imex_wire::connect(target).await.map_err(std::io::Error::other)?;
        let tcp = tcp.into_std()?;
        tcp.set_nonblocking(false)?;
        Ok(tcp)
    })
}

fn knock(from: IpAddr, to: SocketAddr) -> TcpStream {
    let stream = connect(from, to).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Whether the daemon closes whoever says this before somebody who came earlier and may yet begin a handshake.
fn is_closed_at_once(from: IpAddr, to: SocketAddr, say: impl Fn(&mut TcpStream)) -> bool {
    /// How often it is tried: on a machine that stands still for long enough, both are closed when it is looked.
    const TRIES: usize = 5;
    (0..TRIES).any(|_| {
        let mut earlier = knock(from, to);
        let mut stream = knock(from, to);
        say(&mut stream);
        is_closed(&mut stream) && is_open(&mut earlier)
    })
}

/// Whether the daemon has neither closed nor said anything.
fn is_open(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    stream.read(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

/// Whether the daemon closes.
fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}
