//! Strangers at a member's address who never stop: its domain stays UP, and a real member joins meanwhile within a second.
//! `hostile_tls` has the same for TLS.

use std::collections::VecDeque;
use std::io::Write;
use std::net::{IpAddr, SocketAddr, TcpStream};

use imex_core::LinkState;
use imex_tls::RunEnds;
use imex_wire::{Credential, DialTarget, LinkLimits};

use super::hostile_peers::{PREFACE, hello};
use crate::support::flood::{Domain, Hostile, restarted};
use crate::support::realm::{Cell, LONG, Realm};
use crate::support::{Node, Rack, block_on, eventually};

/// How many nodes; the last one joins.
const NODES: usize = 3;
const LAST: usize = NODES - 1;

/// How many connections those hold that are slow.
const HELD: usize = 300;

#[test]
fn without_security_a_member_joins_beside_strangers_that_say_nothing_half_of_it_or_another_domains_name() {
    let rack = Rack::new(NODES);
    let (doors, source) = (doors(&rack), rack.address(1));
    let hello = hello(&rack, 1, imex_core::DomainToken::new("other").unwrap());
    let foreign = doors.clone();
    let introduce = move || {
        for address in &foreign {
            let target = DialTarget { address: *address, source: Some(source) };
            // Whoever comes too fast is closed.
            let _ = block_on(imex_wire::dial(target, &hello, LinkLimits::for_nodes(NODES)));
        }
    };
    withstand(
        &rack,
        "StrangersTurnedAway",
        vec![
            ("silence", held(&doors, source, b"".to_vec())),
            ("half of HTTP/2", held(&doors, source, PREFACE.to_vec())),
            ("noise", said(&doors, source, vec![vec![0xa5; 4096]])),
            ("hellos of another domain", Box::new(introduce)),
        ],
    );
}

#[test]
fn with_kerberos_a_member_joins_beside_slow_strangers_and_beside_those_that_try_everything() {
    let Some(realm) = Realm::start("RACK.TEST", LONG) else { return };
    let rack = Rack::new(NODES);
    realm.admit_all(&rack, NODES, "GSS_AUTH_ENCRYPT");
    let (doors, source) = (doors(&rack), rack.address(1));
    let preface = |mode: u8| [b"IMEX-GSS\x01", &[mode][..]].concat();
    let everything = vec![
        // No authentication at all, and another kind.
        PREFACE.to_vec(),
        CLIENT_HELLO.to_vec(),
        // Less of it.
        [preface(1), b"\x01\x00\x00\x04junk".to_vec()].concat(),
        // A record before the token; a token that is too long, cut short, of noughts.
        [preface(2), b"\x03\x00\x00\x04junk".to_vec()].concat(),
        [preface(2), b"\x01\x01\x00\x01".to_vec()].concat(),
        [preface(2), b"\x01\x00\x10\x00".to_vec(), vec![0x60; 100]].concat(),
        [preface(2), b"\x01\x00\x10\x00".to_vec(), vec![0; 4096]].concat(),
    ];
    withstand(
        &rack,
        "StrangersUnauthenticated",
        vec![
            ("those that have said that they begin, and no more", held(&doors, source, preface(2))),
            ("everything that is wrong", said(&doors, source, everything)),
        ],
    );
}

#[test]
fn with_munge_a_member_joins_beside_slow_strangers_and_beside_those_without_a_credential() {
    let Some(cell) = Cell::start("site") else { return };
    let rack = Rack::new(NODES);
    (0..NODES).for_each(|k| cell.admit(&rack, k));
    rack.set_all("OPENIMEX_RECONNECT_MAX_MS", 300);
    let (doors, source) = (doors(&rack), rack.address(1));
    let hello = hello(&rack, 1, imex_core::DomainToken::default());
    let (ends, secured) = (RunEnds::new().unwrap(), doors.clone());
    // Each costs the daemon a handshake and its munged a look.
    let introduce = move || {
        for address in &secured {
            let target = DialTarget { address: *address, source: Some(source) };
            block_on(async {
                let Ok(tcp) = imex_wire::connect(target).await else { return };
                let Ok(secured) = ends.connect(tcp).await else { return };
                let proof = Credential::new(b"MUNGE:AAAA:".to_vec()).unwrap();
                let limits = LinkLimits::for_nodes(NODES);
                let _ = imex_wire::introduce(secured.io, &hello, Some(&proof), limits).await;
            });
        }
    };
    withstand(
        &rack,
        "RefusedUnproven",
        vec![
            ("half of a handshake", held(&doors, source, CLIENT_HELLO.to_vec())),
            ("noise, and no authentication", said(&doors, source, vec![vec![0xa5; 4096], PREFACE.to_vec()])),
            ("handshakes without a credential", Box::new(introduce)),
        ],
    );
}

/// The beginning of a TLS handshake.
const CLIENT_HELLO: &[u8] = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";

/// All nodes but the last are connected and bear the floods; one of them has counted something of it.
fn withstand(rack: &Rack, counter: &str, floods: Vec<Hostile<'_>>) {
    rack.set_all("OPENIMEX_STATS_INTERVAL_SEC", 1);
    let mut members: Vec<Node> = (0..LAST).map(|k| rack.start(k)).collect();
    members.iter_mut().for_each(|member| member.expect_error(&restarted(LAST)));
    for member in &members {
        (0..LAST).for_each(|k| member.await_link(k, LinkState::Connected));
    }
    Domain { rack, members: &members }.bears(floods);
    let counted = || members.iter().any(|member| member.file("stats").contains(counter));
    assert!(eventually(counted), "{counter}\n{}", members[0].file("stats"));
}

/// Where the members take connections.
fn doors(rack: &Rack) -> Vec<SocketAddr> {
    (0..LAST).map(|k| rack.peer_address(k)).collect()
}

/// Connections that are held after a few words.
fn held(doors: &[SocketAddr], source: IpAddr, words: Vec<u8>) -> Box<dyn FnMut() + Send> {
    let (doors, mut held) = (doors.to_owned(), VecDeque::new());
    Box::new(move || {
        held.extend(doors.iter().filter_map(|door| knock(source, *door, &words)));
        held.drain(..held.len().saturating_sub(HELD));
    })
}

/// Connections that end after some words or others.
fn said(doors: &[SocketAddr], source: IpAddr, words: Vec<Vec<u8>>) -> Box<dyn FnMut() + Send> {
    let doors = doors.to_owned();
    Box::new(move || {
        for (door, words) in doors.iter().flat_map(|door| words.iter().map(move |words| (door, words))) {
            drop(knock(source, *door, words));
        }
    })
}

fn knock(source: IpAddr, address: SocketAddr, words: &[u8]) -> Option<TcpStream> {
    let target = DialTarget { address, source: Some(source) };
    let connected = block_on(async { imex_wire::connect(target).await.ok()?.into_std().ok() });
    let mut stream = connected?;
    stream.set_nonblocking(false).ok()?;
    // It may have been put out already.
    let _ = stream.write_all(words);
    Some(stream)
}
