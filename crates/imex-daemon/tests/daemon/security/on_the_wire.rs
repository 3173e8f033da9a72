//! Which certificates are on the wire before and after SIGUSR1, as whoever connects to the daemons sees them, and as a
//! node sees them that the daemons dial.

use std::collections::BTreeMap;
use std::net::{IpAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use imex_tls::certificate::Fingerprint;
use imex_tls::{Certificate, Ends, PeerName};
use imex_wire::DialTarget;
use nix::sys::signal::Signal;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::hostile_tls::ends_of;
use crate::support::pki::{Authority, SIDES};
use crate::support::{Node, Rack, block_on, eventually};

/// How many daemons run.
const DAEMONS: usize = 3;

/// The node whose place the test takes: it is dialled by all daemons and dials them.
const OURS: usize = DAEMONS;

#[test]
fn after_usr1_on_one_node_every_node_shows_its_new_certificates_and_no_old_one() {
    let site = Site::new();
    let old = site.filed_by_all();
    assert_eq!(site.shown_by_all(), old);
    site.rack.secure_all(DAEMONS, &site.authority);
    let new = site.filed_by_all();
    assert!(old.iter().zip(&new).all(|(old, new)| old.server != new.server && old.client != new.client));
    // Files alone change nothing.
    assert_eq!(site.shown_by_all(), old);
    site.nodes[0].signal(Signal::SIGUSR1);
    site.nodes.iter().for_each(|node| node.await_log("New credentials are in use"));
    assert_eq!(site.shown_by_all(), new);
    for node in &site.nodes[1..] {
        assert!(node.log().contains("Node 0 says that its credentials were replaced"), "{}", node.log());
    }
    site.await_links();
}

#[test]
fn a_bad_new_file_leaves_the_old_certificates_on_the_wire_and_tells_nobody() {
    let mut site = Site::new();
    let old = site.filed_by_all();
    site.rack.secure_all(DAEMONS, &site.authority);
    site.spoil(0);
    site.nodes[0].signal(Signal::SIGUSR1);
    site.nodes[0].await_log("The new credentials cannot be used");
    assert_eq!(site.shown_by_all(), old);
    for node in &site.nodes[1..] {
        assert!(!node.log().contains("credentials were replaced"), "{}", node.log());
    }
    site.await_links();
}

#[test]
fn a_member_with_a_bad_new_file_shows_the_old_certificates_while_the_others_show_new_ones() {
    let mut site = Site::new();
    let old = site.filed_by_all();
    site.rack.secure_all(DAEMONS, &site.authority);
    let new = site.filed_by_all();
    site.spoil(1);
    site.nodes[0].signal(Signal::SIGUSR1);
    site.nodes[1].await_log("The new credentials cannot be used");
    [0, 2].iter().for_each(|k| site.nodes[*k].await_log("New credentials are in use"));
    assert_eq!(site.shown_by_all(), [new[0], old[1], new[2]]);
    site.await_links();
}

/// The certificates of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Certificates {
    /// What it shows to those who dial it.
    server: Fingerprint,
    /// What it shows to those whom it dials.
    client: Fingerprint,
}

/// Daemons that are connected with each other, and a node of theirs that is no daemon.
struct Site {
    rack: Rack,
    authority: Authority,
    nodes: Vec<Node>,
    ends: Ends,
    seen: Arc<Seen>,
}

impl Site {
    fn new() -> Self {
        let rack = Rack::new(DAEMONS + 1);
        let authority = Authority::new("site");
        rack.secure_all(DAEMONS + 1, &authority);
        // The node that is none refuses all that follows the handshake, and is dialled again soon.
        rack.set_all("OPENIMEX_RECONNECT_MAX_MS", 300);
        let ends = ends_of(&rack, OURS);
        let seen = Arc::new(Seen::default());
        let listener = TcpListener::bind(rack.peer_address(OURS)).unwrap();
        let taker = (ends.clone(), Arc::clone(&seen));
        thread::spawn(move || taker.1.take(&listener, &taker.0));
        let nodes = (0..DAEMONS).map(|k| rack.start(k)).collect();
        let site = Site { rack, authority, nodes, ends, seen };
        site.await_links();
        site
    }

    /// All daemons are connected with each other, and have lost nobody.
    fn await_links(&self) {
        let connected = |node: &Node| {
            let status = node.status();
            status.is_some_and(|status| (0..DAEMONS).all(|k| status.links[k].state.letter() == "C"))
        };
        assert!(eventually(|| self.nodes.iter().all(connected)));
        for node in &self.nodes {
            assert!(!node.log().contains("Connection lost"), "{}", node.log());
        }
    }

    /// Gives a node a key that is not that of its certificate.
    fn spoil(&mut self, k: usize) {
        let [server, client] = SIDES.map(|side| self.rack.credential(k, side, "key"));
        std::fs::copy(client, server).unwrap();
        self.nodes[k].expect_error("does not fit the certificate in");
        self.nodes[k].expect_error("The new credentials cannot be used");
    }

    /// What is in the daemons' files.
    fn filed_by_all(&self) -> Vec<Certificates> {
        let filed = |k, side| {
            let file = self.rack.credential(k, side, "crt");
            fingerprint(&CertificateDer::from_pem_file(file).unwrap())
        };
        let filed = |k| Certificates { server: filed(k, "server"), client: filed(k, "client") };
        (0..DAEMONS).map(filed).collect()
    }

    /// What the daemons show from now on.
    fn shown_by_all(&self) -> Vec<Certificates> {
        let shown = |k| Certificates { server: self.answered_by(k), client: self.dialled_by(k) };
        (0..DAEMONS).map(shown).collect()
    }

    /// What a daemon shows to whoever connects.
    fn answered_by(&self, k: usize) -> Fingerprint {
        let (source, name) = (self.rack.address(OURS), PeerName::of_ip(self.rack.address(k)));
        let target = DialTarget { address: self.rack.peer_address(k), source: Some(source) };
        let secured = block_on(async {
            let tcp = imex_wire::connect(target).await.unwrap();
            self.ends.connect(tcp, &name).await.unwrap()
        });
        fingerprint(secured.session.certificate())
    }

    /// What a daemon shows when it dials the next time but one: a dial may be under way.
    fn dialled_by(&self, k: usize) -> Fingerprint {
        let address = self.rack.address(k);
        let dials = || self.seen.by().get(&address).cloned().unwrap_or_default();
        let enough = dials().len() + 2;
        assert!(eventually(|| dials().len() >= enough), "{}", self.nodes[k].log());
        dials()[enough - 1]
    }
}

/// What dialled the node that is none, and showed which certificates, in their order.
#[derive(Default)]
struct Seen(Mutex<BTreeMap<IpAddr, Vec<Fingerprint>>>);

impl Seen {
    fn by(&self) -> MutexGuard<'_, BTreeMap<IpAddr, Vec<Fingerprint>>> {
        self.0.lock().unwrap()
    }

    /// Takes connections as long as the process lives; each ends with its handshake.
    fn take(&self, listener: &TcpListener, ends: &Ends) {
        for tcp in listener.incoming() {
            let tcp = tcp.unwrap();
            let from = tcp.peer_addr().unwrap().ip();
            tcp.set_nonblocking(true).unwrap();
            let accepted = block_on(async {
                let tcp = tokio::net::TcpStream::from_std(tcp).unwrap();
                ends.accept(tcp).await
            });
            if let Ok(secured) = accepted {
                self.by().entry(from).or_default().push(fingerprint(secured.session.certificate()));
            }
        }
    }
}

fn fingerprint(certificate: &CertificateDer<'_>) -> Fingerprint {
    Certificate::read(certificate).unwrap().fingerprint
}
