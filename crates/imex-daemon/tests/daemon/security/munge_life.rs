//! MUNGE over the life of a domain, and those who have no part in it.

use std::net::{IpAddr, TcpListener};
use std::process::Command;
use std::sync::Arc;

use imex_core::hello::{Introduction, PROTOCOL_VERSION};
use imex_core::{
    BootId, DomainState, DomainToken, Hello, InstanceId, LinkState, NodeId, NodeMap, NodeState, Refusal,
};
use imex_munge::{Claim, Munge, Role};
use imex_tls::RunEnds;
use imex_wire::{Credential, DialTarget, Dialled, LinkLimits};

use crate::support::realm::Cell;
use crate::support::{Node, Rack, block_on, namespace};

#[test]
fn a_munged_that_is_down_at_the_start_is_waited_for() {
    let Some(mut cell) = Cell::start("site") else { return };
    cell.munged.stop();
    let rack = rack(&cell, 3);
    // One that was killed leaves its socket behind.
    std::fs::remove_file(cell.munged.socket()).unwrap();
    let (code, told) = rack.check(0);
    assert_eq!(code, 3, "{told}");
    assert!(told.contains("warning: there is no socket of munged's at"), "{told}");
    let nodes: Vec<Node> = (0..3).map(|k| rack.start(k)).collect();
    for node in &nodes {
        node.await_log("MUNGE does not work yet");
        node.await_log("start munged on this machine");
        assert_eq!(node.status().map(|status| status.state), Some(NodeState::StartingAuthServer));
    }
    cell.munged.start().unwrap();
    nodes.iter().for_each(|node| node.await_domain(DomainState::Up));
}

#[test]
fn a_munged_that_ends_later_harms_no_link_and_whoever_comes_meanwhile_is_let_in_when_it_is_back() {
    let Some(mut cell) = Cell::start("site") else { return };
    let rack = rack(&cell, 3);
    let members = [rack.start(0), rack.start(1)];
    members.iter().for_each(|node| node.await_link(1, LinkState::Connected));
    members.iter().for_each(|node| node.await_link(0, LinkState::Connected));
    cell.munged.stop();
    let late = rack.start(2);
    late.await_log("MUNGE does not work yet");
    members.iter().for_each(|node| assert_eq!(node.link(0), Some(LinkState::Connected)));
    cell.munged.start().unwrap();
    late.await_domain(DomainState::Up);
    members.iter().for_each(|node| node.await_domain(DomainState::Up));
}

#[test]
fn a_daemon_of_another_user_than_configured_does_not_start() {
    let Some(cell) = Cell::start("site") else { return };
    let rack = rack(&cell, 1);
    rack.set(0, "OPENIMEX_MUNGE_UID", 4711);
    let (code, told) = rack.refused(0);
    assert_eq!(code, 8, "{told}");
    assert!(told.contains("OPENIMEX_MUNGE_UID is 4711, but this daemon runs as user"), "{told}");
}

#[test]
fn strangers_with_tls_and_a_hello_but_no_good_credential_are_refused() {
    let Some(cell) = Cell::start("site") else { return };
    let (rack, munge) = (rack(&cell, 3), Munge::load(Some(&cell.munged.socket())).unwrap());
    let members = [rack.start(0), rack.start(1)];
    members.iter().for_each(|node| node.await_link(1, LinkState::Connected));
    let stranger = Stranger { rack: &rack, munge, ends: RunEnds::new().unwrap() };
    let uid = nix::unistd::geteuid().as_raw();
    let made = |claim: &Claim| block_on(stranger.munge.encode(claim.bytes(), uid)).unwrap();

    // The right one gets in: everything below differs from it in one thing.
    let admitted = stranger.dial(&|claim| Some(made(claim)));
    assert!(matches!(admitted, Dialled::Admitted { .. }), "{admitted:?}");

    let others: Vec<(&str, Make<'_>)> = vec![
        ("none", Box::new(|_| None)),
        ("garbage", Box::new(|_| Some(b"MUNGE:AAAA:".to_vec()))),
        ("oversized", Box::new(|_| Some(vec![b'A'; Credential::MAX_BYTES]))),
        ("of another connection", Box::new(|claim| Some(made(&Claim { binding: [7; 32], ..claim.clone() })))),
        ("of the other end", Box::new(|claim| Some(made(&Claim { role: Role::Acceptor, ..claim.clone() })))),
        ("of another node", Box::new(|claim| Some(made(&Claim { from: NodeId::new(1), ..claim.clone() })))),
        ("for another node", Box::new(|claim| Some(made(&Claim { to: NodeId::new(1), ..claim.clone() })))),
        (
            "of another run",
            Box::new(|claim| Some(made(&Claim { instance: InstanceId::new(99), ..claim.clone() }))),
        ),
        (
            "used before",
            Box::new(|claim| {
                let credential = made(claim);
                block_on(stranger.munge.decode(credential.clone())).unwrap();
                Some(credential)
            }),
        ),
        (
            "for another user",
            Box::new(|claim| Some(block_on(stranger.munge.encode(claim.bytes(), uid + 1)).unwrap())),
        ),
    ];
    for (what, credential) in others {
        let answer = stranger.dial(&credential);
        assert!(matches!(answer, Dialled::Refused(Refusal::Unproven, _)), "{what}: {answer:?}");
    }
    if uid == 0 {
        let answer = stranger.dial(&|claim| Some(as_nobody(&cell, claim)));
        assert!(matches!(answer, Dialled::Refused(Refusal::Unproven, _)), "by another user: {answer:?}");
    } else {
        namespace::skip("root, to be another user");
    }

    let joined = rack.start(2);
    joined.await_domain(DomainState::Up);
    members.iter().for_each(|node| node.await_domain(DomainState::Up));
}

#[test]
fn where_it_is_asked_for_a_credential_must_be_made_on_the_machine_with_the_nodes_address() {
    let (Some(mut first), Some(mut second)) = (Cell::start("site"), Cell::start("site")) else { return };
    let rack = rack(&first, 3);
    rack.set_all("OPENIMEX_MUNGE_ORIGIN", "peer");
    for (k, cell) in [&mut first, &mut second].into_iter().enumerate() {
        let IpAddr::V4(address) = rack.address(k) else { panic!("addresses of a rack are of IPv4") };
        cell.munged.stop();
        cell.munged.set_origin(address);
        cell.munged.start().unwrap();
        cell.admit(&rack, k);
    }
    // As root on the second machine would have it.
    second.admit(&rack, 2);
    let nodes: Vec<Node> = (0..3).map(|k| rack.start(k)).collect();
    nodes[0].await_link(1, LinkState::Connected);
    nodes[1].await_link(0, LinkState::Connected);
    let told = format!("its munged calls {}, not {}", rack.address(1), rack.address(2));
    nodes[0].await_log(&told);
    nodes[1].await_log(&told);
    assert!(nodes[..2].iter().all(|node| node.link(2) != Some(LinkState::Connected)));
}

#[test]
fn a_refusal_is_believed_only_from_somebody_who_proves_to_be_a_node() {
    let Some(cell) = Cell::start("site") else { return };
    let (rack, munge) = (rack(&cell, 3), Munge::load(Some(&cell.munged.socket())).unwrap());
    let (mut first, mut known) = (rack.start(0), rack.start(2));
    first.await_link(2, LinkState::Connected);
    known.kill();
    let port = TcpListener::bind(rack.peer_address(2)).unwrap();
    let stranger = Stranger { rack: &rack, munge, ends: RunEnds::new().unwrap() };
    let by = Arc::new(stranger.hello());
    let made_up = [
        Refusal::Version { by: Arc::clone(&by) },
        Refusal::Map { by: Arc::clone(&by), entries: Arc::new(["192.0.2.1".to_owned()]), len: 1 },
        Refusal::NotAtItsAddress { by: Arc::clone(&by) },
        Refusal::AddressUnknown,
    ];
    for refusal in made_up {
        stranger.refuse(&port, &refusal, Shows::Nothing);
        // It dials again only when it has taken the refusal in.
        stranger.refuse(&port, &refusal, Shows::Nothing);
        let link = first.link(2);
        assert!(
            !matches!(link, Some(LinkState::VersionMismatch | LinkState::MapMismatch)),
            "{refusal:?}: {link:?}"
        );
    }
    first.await_log("it refuses this node, and does not prove who it is itself");
    assert!(!first.log().contains("is void"), "{}", first.log());

    first.expect_error("is void because it was restarted");
    stranger.refuse(&port, &Refusal::Version { by }, Shows::Credential);
    first.await_link(2, LinkState::VersionMismatch);
    first.await_log("is void because it was restarted");
}

/// What a refusal comes with.
#[derive(Clone, Copy)]
enum Shows {
    Nothing,
    Credential,
}

/// What a stranger makes of the claim that would be right.
type Make<'a> = Box<dyn Fn(&Claim) -> Option<Vec<u8>> + Sync + 'a>;

/// A credential that another user made.
fn as_nobody(cell: &Cell, claim: &Claim) -> Vec<u8> {
    let payload = cell.path("payload");
    std::fs::write(&payload, claim.bytes()).unwrap();
    let made = Command::new("setpriv")
        .args(["--reuid=65534", "--clear-groups", "munge", "--restrict-uid=0", "-S"])
        .arg(cell.munged.socket())
        .arg("-i")
        .arg(payload)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    made.stdout.trim_ascii_end().to_owned()
}

/// Somebody at the address of a node that is not there, who speaks everything but has to find a credential.
struct Stranger<'a> {
    rack: &'a Rack,
    munge: Munge,
    ends: RunEnds,
}

impl Stranger<'_> {
    /// Dials node 0 as node 2, with what is made of the claim that would be right.
    fn dial(&self, credential: &(dyn Fn(&Claim) -> Option<Vec<u8>> + Sync)) -> Dialled {
        let target = DialTarget { address: self.rack.peer_address(0), source: Some(self.rack.address(2)) };
        let hello = self.hello();
        let claim = |binding| Claim {
            role: Role::Dialler,
            from: NodeId::new(2),
            to: NodeId::new(0),
            instance: hello.instance(),
            token: DomainToken::default(),
            binding,
        };
        block_on(async {
            let tcp = imex_wire::connect(target).await.unwrap();
            let secured = self.ends.connect(tcp).await.unwrap();
            let claim = claim(*secured.session.binding());
            // It may run a runtime of its own.
            let made = std::thread::scope(|scope| scope.spawn(|| credential(&claim)).join().unwrap());
            let credential = made.map(|bytes| Credential::new(bytes).unwrap());
            imex_wire::introduce(secured.io, &hello, credential.as_ref(), LinkLimits::for_nodes(3))
                .await
                .unwrap()
        })
    }

    /// Takes node 0's next connection to node 2, and turns it away.
    fn refuse(&self, port: &TcpListener, refusal: &Refusal, shows: Shows) {
        let (tcp, _) = port.accept().unwrap();
        tcp.set_nonblocking(true).unwrap();
        block_on(async {
            let tcp = tokio::net::TcpStream::from_std(tcp).unwrap();
            let secured = self.ends.accept(tcp).await.unwrap();
            let binding = *secured.session.binding();
            let incoming = imex_wire::await_hello(secured.io, LinkLimits::for_nodes(3)).await.unwrap();
            let credential = match shows {
                Shows::Nothing => None,
                Shows::Credential => Some(self.credential(binding).await),
            };
            incoming.answering_with(credential).refuse(refusal).await;
        });
    }

    /// What node 2 would show to node 0 at its own end of a connection.
    async fn credential(&self, binding: [u8; 32]) -> Credential {
        let claim = Claim {
            role: Role::Acceptor,
            from: NodeId::new(2),
            to: NodeId::new(0),
            instance: self.hello().instance(),
            token: DomainToken::default(),
            binding,
        };
        let uid = nix::unistd::geteuid().as_raw();
        Credential::new(self.munge.encode(claim.bytes(), uid).await.unwrap()).unwrap()
    }

    fn hello(&self) -> Hello {
        let map = std::fs::read_to_string(self.rack.dir(0).join("nodes.cfg")).unwrap();
        Hello::check(Introduction {
            protocol: PROTOCOL_VERSION,
            software: "test".into(),
            driver: Hello::NO_GPU.into(),
            node: NodeId::new(2),
            instance: InstanceId::new(42),
            boot: BootId::default(),
            digest: NodeMap::new(map.lines()).unwrap().digest(),
            token: DomainToken::default(),
            host: "".into(),
        })
        .unwrap()
    }
}

fn rack(cell: &Cell, nodes: usize) -> Rack {
    let rack = Rack::new(nodes);
    (0..nodes).for_each(|k| cell.admit(&rack, k));
    rack.set_all("OPENIMEX_RECONNECT_MAX_MS", 300);
    rack
}
