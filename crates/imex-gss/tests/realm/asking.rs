//! A KDC that is down, slow or of another realm: whom it keeps waiting, and when it is asked again.

use std::net::TcpListener;
use std::time::Duration;

use imex_gss::{AuthError, Blame, Fault, Kerberos, Settings};
use imex_lab::Kdc;
use tokio::time::{Instant, sleep, timeout};

use super::failing::with_tickets;
use super::story::{Realm, chain, echo, failure, link, load, meet, tell};

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
        let (two, three) = (load(realm.node(2)), load(realm.node(3)));
        for _ in 0..2 {
            let near = failure(meet(&two, &three).await.0);
            assert_eq!((near.fault(), near.blame()), (Some(Fault::WrongKey), Blame::Own), "{}", chain(&near));
        }
        let once = requests(&realm);
        assert!(once > 0);
        failure(meet(&two, &three).await.0);
        assert_eq!(requests(&realm), once);
        sleep(two.settings().retry_interval).await;
        failure(meet(&two, &three).await.0);
        assert_eq!(requests(&realm), 2 * once);
    });
}

#[test]
fn a_kdc_that_is_silent_holds_up_neither_the_caller_nor_those_with_tickets() {
    tell(LONG, |mut realm| async move {
        let cached = with_tickets(&realm, 2, &["host/127.0.0.3"]);
        realm.kdc.stop();
        let _silent = silent(&realm.kdc);
        let (four, three) = (load(realm.node(4)), load(realm.node(3)));
        let begun = Instant::now();
        let soon = async { timeout(Duration::from_secs(1), link(&load(cached), &three)).await.unwrap() };
        let (near, (mut with, mut far)) = tokio::join!(meet(&four, &three), soon);
        assert!(matches!(failure(near.0), AuthError::Silent { .. }));
        assert!(begun.elapsed() < Duration::from_secs(3));
        echo(&mut with, &mut far, "hello").await;
    });
}

#[test]
fn a_peer_of_a_realm_whose_kdc_is_silent_is_alone_with_its_trouble() {
    tell(LONG, |realm| async move {
        let (_other, _silent) = silent_realm(&realm);
        let node = |node, lifetime| {
            let lifetime = Some(Duration::from_secs(lifetime));
            load(Settings { lifetime, retry_interval: HOUR, ..realm.node(node) })
        };
        let (two, three, four) = (node(2, 1), node(3, 3600), node(4, 3600));
        // Two links are renewed again and again.
        let (mut first, mut far_first) = link(&two, &three).await;
        let (mut second, mut far_second) = link(&two, &four).await;
        let begun = Instant::now();
        let stay = async {
            let mut dials = 0;
            while begun.elapsed() < Duration::from_secs(4) {
                echo(&mut first, &mut far_first, "traffic goes on").await;
                echo(&mut second, &mut far_second, "traffic goes on").await;
                // And new ones are made.
                timeout(Duration::from_secs(1), link(&two, &three)).await.unwrap();
                dials += 1;
            }
            dials
        };
        let (silences, dials) = tokio::join!(dial_far(&two, begun), stay);
        assert!(silences > 5, "{silences}");
        assert!(dials > 20, "{dials}");
    });
}

/// Dials many peers of the far realm at once, again and again; returns how often nobody answered.
async fn dial_far(two: &Kerberos, begun: Instant) -> usize {
    let mut silences = 0;
    while begun.elapsed() < Duration::from_secs(4) {
        let dials = (0..4).map(|k| {
            let two = two.clone();
            tokio::spawn(async move {
                let (near, _far) = tokio::io::duplex(1 << 16);
                two.initiate(near, &format!("far-{k}.rack")).await.map(drop)
            })
        });
        for dial in dials.collect::<Vec<_>>() {
            let error = dial.await.unwrap().unwrap_err();
            silences += usize::from(matches!(error, AuthError::Silent { .. }));
        }
    }
    silences
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
