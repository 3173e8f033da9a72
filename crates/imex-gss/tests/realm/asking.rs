//! A KDC that is down, slow or of another realm: whom it keeps waiting, and when it is asked again.

use std::cell::Cell;
use std::io::{ErrorKind, Read};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use imex_gss::{AuthError, Blame, Fault, GssStream, Kerberos, Settings};
use imex_lab::Kdc;
use tokio::io::DuplexStream;
use tokio::time::{Instant, sleep};

use super::failing::with_tickets;
use super::story::{Realm, chain, echo, failure, host, link, load, meet, tell};

/// An end of a link.
type Link = GssStream<DuplexStream>;

const LONG: Duration = Duration::from_secs(36_000);

/// An interval between two tries that no story waits for.
const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn a_kdc_that_is_down_is_told_by_name_and_used_as_soon_as_it_is_back() {
    tell(LONG, |mut realm| async move {
        realm.kdc.stop();
        let two = load(Settings { retry_interval: HOUR, ..realm.node(2) });
        let three = load(realm.node(3));
        let near = failure(meet(&two, &three).await.0);
        assert_eq!(
            (near.fault(), near.blame()),
            (Some(Fault::KdcUnreachable), Blame::Kdc),
            "{}",
            chain(&near)
        );
        realm.kdc.start().unwrap();
        let (mut near, mut far) = link(&two, &three).await;
        echo(&mut near, &mut far, "hello").await;
    });
}

#[test]
fn a_kdc_that_refuses_this_machines_key_is_not_asked_again_until_the_interval_has_passed() {
    tell(LONG, |realm| async move {
        // The KDC has a new key; the node still has the old one.
        realm.kdc.administer("cpw -randkey host/127.0.0.2\n").unwrap();
        let two = load(Settings { retry_interval: HOUR, ..realm.node(2) });
        let three = load(realm.node(3));
        for _ in 0..2 {
            let near = failure(meet(&two, &three).await.0);
            assert_eq!((near.fault(), near.blame()), (Some(Fault::WrongKey), Blame::Own), "{}", chain(&near));
        }
        let once = requests(&realm);
        assert!(once > 0);
        failure(meet(&two, &three).await.0);
        assert_eq!(requests(&realm), once);
        sleep(HOUR).await;
        failure(meet(&two, &three).await.0);
        assert_eq!(requests(&realm), 2 * once);
    });
}

#[test]
fn a_kdc_that_is_silent_holds_up_neither_the_caller_nor_those_with_tickets() {
    tell(LONG, |mut realm| async move {
        // Nobody but the clock ends a call that hangs.
        tokio::time::resume();
        let cached = load(with_tickets(&realm, 2, &["host/127.0.0.3"]));
        realm.kdc.stop();
        let silent = silent(&realm.kdc);
        let (four, three) = (load(realm.node(4)), load(realm.node(3)));
        let dial = tokio::spawn(async move {
            let (near, _far) = tokio::io::duplex(1 << 16);
            four.initiate(near, &host(3)).await
        });
        let mut asking = tokio::task::spawn_blocking(move || silent.accept().unwrap().0).await.unwrap();
        let (mut near, mut far) = link_soon(&cached, &three).await;
        echo(&mut near, &mut far, "hello").await;
        assert!(is_open(&mut asking), "the library has given up, and no longer waits for the KDC");
        assert!(matches!(failure(dial.await.unwrap()), AuthError::Silent { .. }));
        assert!(is_open(&mut asking), "the library has given up, and no longer waits for the KDC");
    });
}

#[test]
fn a_peer_of_a_realm_whose_kdc_is_silent_is_alone_with_its_trouble() {
    tell(LONG, |realm| async move {
        // Nobody but the clock ends a call that hangs.
        tokio::time::resume();
        let (_other, _silent) = silent_realm(&realm);
        let node = |node, lifetime| load(Settings { lifetime, retry_interval: HOUR, ..realm.node(node) });
        // Links are renewed again and again, each time with three seconds left for it.
        let short = Duration::from_secs(9);
        let (two, three, four) = (node(2, Some(short)), node(3, Some(HOUR)), node(4, Some(HOUR)));
        let (mut first, mut far_first) = link(&two, &three).await;
        let (mut second, mut far_second) = link(&two, &four).await;
        let silences = Cell::new(0);
        let begun = Instant::now();
        let stay = async {
            let mut dials = 0;
            while begun.elapsed() < 2 * short || dials < 20 || silences.get() < 8 {
                echo(&mut first, &mut far_first, "traffic goes on").await;
                echo(&mut second, &mut far_second, "traffic goes on").await;
                // And new ones are made.
                link_soon(&two, &three).await;
                dials += 1;
            }
        };
        tokio::select! {
            () = stay => {}
            () = dial_far(&two, &silences) => {}
        }
    });
}

/// Dials one that has all it needs. On the real clock a busy machine may take longer than a call may, once or twice; one that
/// waits behind those for the silent KDC comes to nothing each time.
async fn link_soon(two: &Kerberos, three: &Kerberos) -> (Link, Link) {
    let mut failed = Vec::new();
    while failed.len() < 5 {
        match meet(two, three).await {
            (Ok(near), Ok(far)) => return (near, far),
            (near, far) => failed.extend(near.err().or(far.err())),
        }
    }
    panic!("it failed each time: {failed:?}");
}

/// Dials many peers of the far realm at once, again and again, for ever; counts how often nobody answered.
async fn dial_far(two: &Kerberos, silences: &Cell<usize>) {
    loop {
        let dials = (0..4).map(|k| {
            let two = two.clone();
            tokio::spawn(async move {
                let (near, _far) = tokio::io::duplex(1 << 16);
                two.initiate(near, &format!("far-{k}.rack")).await.map(drop)
            })
        });
        for dial in dials.collect::<Vec<_>>() {
            let error = dial.await.unwrap().unwrap_err();
            silences.set(silences.get() + usize::from(matches!(error, AuthError::Silent { .. })));
        }
    }
}

/// Whether the far end of a connection has not closed it, whatever it has sent.
fn is_open(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let mut bytes = [0; 4096];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        }
    }
}

/// Another realm, which this one trusts, and whose KDC takes connections and never answers.
fn silent_realm(realm: &Realm) -> (Kdc, TcpListener) {
    let folder = realm.path("far");
    std::fs::create_dir(&folder).unwrap();
    let kdc = Kdc::create(&folder, "FAR.TEST", LONG).unwrap();
    realm.kdc.administer("addprinc -pw trust krbtgt/FAR.TEST@RACK.TEST\n").unwrap();
    let ours = std::fs::read_to_string(realm.kdc.config()).unwrap();
    let theirs = std::fs::read_to_string(kdc.config()).unwrap();
    let (_, theirs) = theirs.split_once("[realms]\n").unwrap();
    let hosts: String = (0..4).map(|k| format!(" far-{k}.rack = FAR.TEST\n")).collect();
    std::fs::write(realm.kdc.config(), format!("{ours}{theirs}[domain_realm]\n{hosts}")).unwrap();
    let silent = silent(&kdc);
    (kdc, silent)
}

/// Takes a KDC's place, and connections, and never answers.
fn silent(kdc: &Kdc) -> TcpListener {
    let config = std::fs::read_to_string(kdc.config()).unwrap();
    let address = config.lines().rev().find_map(|line| line.trim().strip_prefix("kdc = ")).unwrap();
    TcpListener::bind(address).unwrap()
}

/// How often the KDC was asked for a ticket for the realm.
fn requests(realm: &Realm) -> usize {
    let log = std::fs::read_to_string(realm.path("kdc.log")).unwrap();
    log.lines().filter(|line| line.contains("AS_REQ")).count()
}
