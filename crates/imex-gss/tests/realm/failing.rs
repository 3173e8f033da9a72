//! When something is wrong: each fault has its name, on the side that can know it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use imex_gss::{AuthError, Blame, Fault, Kerberos, Peer, PrincipalError, Settings, Store};
use imex_lab::Kdc;

use super::story::{Realm, chain, failure, host, link, load, meet, settings, tell};

const LONG: Duration = Duration::from_secs(36_000);

#[test]
fn a_node_of_a_realm_without_trust_gets_no_ticket() {
    tell(LONG, |realm| async move {
        let other = other_realm(&realm, "");
        other.is_known();
        let three = load(named(&realm.kdc, "three.rack"));
        let (near, _) = meet(&load(other.settings.clone()), &three).await;
        let near = failure(near);
        assert_eq!(
            (near.fault(), near.blame()),
            (Some(Fault::ServiceUnknown), Blame::Peer),
            "{}",
            chain(&near)
        );
    });
}

#[test]
fn a_node_of_a_trusted_realm_that_is_not_the_domains_is_refused_by_its_realm() {
    tell(LONG, |realm| async move {
        let (other, three) = trusted_realm(&realm);
        // Kerberos is content: the ticket is good.
        other.is_known();
        let (_near, far) = link(&load(other.settings.clone()), &three).await;
        assert_eq!(far.peer().principal(), "host/two.rack@OTHER.TEST");
        // On the acceptor's machine nothing says that this node should be of another realm.
        other.is_unknown().await;
        let error = far.peer().check(&three.expected("two.rack").await.unwrap()).unwrap_err();
        assert!(
            matches!(&error, PrincipalError::Realm { expected, .. } if expected == "RACK.TEST"),
            "{error}"
        );
    });
}

#[test]
fn a_host_that_came_to_a_wrong_principal_once_is_asked_for_again_when_another_comes() {
    tell(LONG, |realm| async move {
        let (other, three) = trusted_realm(&realm);
        other.is_known();
        let (_near, far) = link(&load(other.settings.clone()), &three).await;
        other.is_unknown().await;
        let wrong = three.judge(far.peer(), "two.rack").await.unwrap_err();
        assert!(matches!(wrong, AuthError::Principal(PrincipalError::Realm { .. })), "{}", chain(&wrong));
        other.is_known_again().await;
        // Whoever comes as somebody else again and again does not have it asked for each time.
        three.judge(far.peer(), "two.rack").await.unwrap_err();
        tokio::time::advance(Duration::from_secs(10)).await;
        three.judge(far.peer(), "two.rack").await.unwrap();
    });
}

#[test]
fn a_principal_that_is_not_the_nodes_is_refused_by_name() {
    tell(LONG, |realm| async move {
        // A node with a good ticket, which is another one than it claims.
        let (three, four) = (load(realm.node(3)), load(realm.node(4)));
        let (_near, far) = link(&four, &three).await;
        let error = far.peer().check(&three.expected(&host(2)).await.unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "it is host/127.0.0.4@RACK.TEST, not host/127.0.0.2@RACK.TEST");
    });
}

#[test]
fn an_acceptor_without_its_key_says_so_and_the_initiator_learns_that_it_cannot() {
    tell(LONG, |realm| async move {
        let two = load(realm.node(2));
        let wrong = Settings { store: realm.node(4).store, ..realm.node(3) };
        let (near, far) = meet(&two, &load(wrong)).await;
        let (near, far) = (failure(near), failure(far));
        assert!(matches!(far, AuthError::Key { .. }), "{}", chain(&far));
        assert_eq!((far.fault(), far.blame()), (Some(Fault::NoKey), Blame::Own), "{}", chain(&far));
        assert_eq!(near.to_string(), "be accepted by the peer: it cannot authenticate anybody now");
    });
}

#[test]
fn an_acceptor_whose_key_was_changed_since_refuses_and_both_know_why() {
    tell(LONG, |realm| async move {
        // The KDC has a new key; the node still has the old one.
        realm.kdc.administer("cpw -randkey host/127.0.0.3\n").unwrap();
        let (two, three) = (load(realm.node(2)), load(realm.node(3)));
        let (near, far) = meet(&two, &three).await;
        let (near, far) = (failure(near), failure(far));
        assert!(matches!(far.fault(), Some(Fault::WrongKey | Fault::NoKey)), "{}", chain(&far));
        assert_eq!(far.blame(), Blame::Peer);
        assert!(matches!(near, AuthError::Answer(_)), "{}", chain(&near));
        // As an initiator the node with the old key is at fault itself.
        let (near, _) = meet(&three, &two).await;
        let near = failure(near);
        assert_eq!((near.fault(), near.blame()), (Some(Fault::WrongKey), Blame::Own), "{}", chain(&near));
    });
}

#[test]
fn a_ticket_is_thrown_away_for_a_refusal_only_after_the_peer_has_shown_itself_and_no_other_with_it() {
    tell(LONG, |realm| async move {
        let (two, three, four) = (load(realm.node(2)), load(realm.node(3)), load(realm.node(4)));
        // Whoever does not have node 3's new key is a stranger, and refuses with Kerberos's words.
        realm.kdc.administer("cpw -randkey host/127.0.0.3\n").unwrap();
        link(&two, &four).await;
        let before = asked(&realm);
        let refused = async || {
            for _ in 0..5 {
                let (near, _) = meet(&two, &three).await;
                assert!(matches!(failure(near).fault(), Some(Fault::WrongKey | Fault::NoKey)));
            }
            link(&two, &four).await;
        };
        refused().await;
        // One ticket for node 3, and nothing that was there before once more.
        assert_eq!(asked_since(&realm, before), (0, 1));

        // It has shown itself, as it does by dialling when it has its key again.
        let shows_itself = || two.met(&Peer::new("host/127.0.0.3@RACK.TEST", "host/127.0.0.2@RACK.TEST"));
        shows_itself();
        refused().await;
        // New tickets: one for the realm, one for node 3; no more of them for the other refusals, and none for node 4.
        assert_eq!(asked_since(&realm, before), (1, 2));
        shows_itself();
        refused().await;
        // Not again so soon.
        assert_eq!(asked_since(&realm, before), (1, 2));
        tokio::time::advance(Duration::from_secs(15)).await;
        refused().await;
        assert_eq!(asked_since(&realm, before), (2, 3));
    });
}

/// How many tickets for the realm and for services the KDC has given.
pub(crate) fn asked(realm: &Realm) -> (usize, usize) {
    let log = std::fs::read_to_string(realm.path("kdc.log")).unwrap();
    let given = |request| log.lines().filter(|line| line.contains(request) && line.contains("ISSUE")).count();
    (given("AS_REQ"), given("TGS_REQ"))
}

pub(crate) fn asked_since(realm: &Realm, before: (usize, usize)) -> (usize, usize) {
    let now = asked(realm);
    (now.0 - before.0, now.1 - before.1)
}

#[test]
fn a_peer_that_the_kdc_does_not_know_gets_no_ticket() {
    tell(LONG, |realm| async move {
        let two = load(realm.node(2));
        let nobody = load(Settings { host: host(77), ..realm.node(3) });
        let (near, _) = meet(&two, &nobody).await;
        let near = failure(near);
        assert_eq!(
            (near.fault(), near.blame()),
            (Some(Fault::ServiceUnknown), Blame::Peer),
            "{}",
            chain(&near)
        );
    });
}

#[test]
fn a_node_without_a_key_table_is_told_what_it_lacks() {
    tell(LONG, |realm| async move {
        let nowhere = Some("FILE:/nonexistent/keytab".to_owned());
        let store = Store { client_key_table: nowhere.clone(), key_table: nowhere, ticket_cache: None };
        let two = load(Settings { store, ..realm.node(2) });
        let (near, _) = meet(&two, &load(realm.node(3))).await;
        let near = failure(near);
        assert!(matches!(near.fault(), Some(Fault::NoCredential | Fault::NoKey)), "{}", chain(&near));
        assert_eq!(near.blame(), Blame::Own);
        assert!(near.hint().is_some());
        let checked = two.check().await.unwrap_err();
        assert!(matches!(checked, AuthError::Key { .. }), "{}", chain(&checked));
    });
}

#[test]
fn a_ticket_that_has_expired_is_told_by_name() {
    tell(Duration::from_secs(1), |realm| async move {
        let two = with_tickets(&realm, 2, &[]);
        pass(Duration::from_millis(2100)).await;
        let (near, _) = meet(&load(two), &load(realm.node(3))).await;
        let near = failure(near);
        assert_eq!((near.fault(), near.blame()), (Some(Fault::Expired), Blame::Kdc), "{}", chain(&near));
    });
}

#[test]
fn clocks_that_differ_too_much_are_told_by_name_on_both_sides() {
    tell(LONG, |realm| async move {
        let two = with_tickets(&realm, 2, &["host/127.0.0.3"]);
        set_clock(&realm.path("node-2.cache"), 600);
        let (near, far) = meet(&load(two), &load(realm.node(3))).await;
        let (near, far) = (failure(near), failure(far));
        assert_eq!(far.fault(), Some(Fault::ClockSkew), "{} {}", chain(&far), chain(&near));
        assert_eq!(near.fault(), Some(Fault::ClockSkew), "{}", chain(&near));
    });
}

/// A node of another realm, with its KDC.
struct Other {
    kdc: Kdc,
    settings: Settings,
    config: PathBuf,
    /// The configuration that knows both realms.
    text: String,
}

impl Other {
    /// As on the machine of the other realm's node: it is of that realm.
    fn is_known(&self) {
        std::fs::write(&self.config, format!("{} two.rack = OTHER.TEST\n", self.text)).unwrap();
    }

    /// The same on a machine that thought otherwise before.
    async fn is_known_again(&self) {
        self.is_known();
        // The library looks for changes of its configuration once a second.
        pass(Duration::from_millis(1100)).await;
    }

    /// As on the machines of the others.
    async fn is_unknown(&self) {
        std::fs::write(&self.config, &self.text).unwrap();
        // The library looks for changes of its configuration once a second.
        pass(Duration::from_millis(1100)).await;
    }
}

/// Lets at least so much time pass on the clock of the machine, by which the library and the KDC go.
async fn pass(time: Duration) {
    tokio::task::spawn_blocking(move || std::thread::sleep(time)).await.unwrap();
}

/// A node with a host name: of addresses, krb5.conf cannot say which realm they are of.
fn named(kdc: &Kdc, name: &str) -> Settings {
    let table = kdc.add(&format!("host/{name}")).unwrap();
    settings(name, &table)
}

/// Another realm with a node, which this one trusts, and a node of this one.
fn trusted_realm(realm: &Realm) -> (Other, Kerberos) {
    let other = other_realm(realm, " three.rack = RACK.TEST\n");
    for kdc in [&realm.kdc, &other.kdc] {
        kdc.administer("addprinc -pw trust krbtgt/RACK.TEST@OTHER.TEST\n").unwrap();
    }
    (other, load(named(&realm.kdc, "three.rack")))
}

/// Makes another realm with a node, and a configuration that knows both realms, and of which realm the `hosts` are.
fn other_realm(realm: &Realm, hosts: &str) -> Other {
    let folder = realm.path("other");
    std::fs::create_dir(&folder).unwrap();
    let mut kdc = Kdc::create(&folder, "OTHER.TEST", LONG).unwrap();
    let settings = named(&kdc, "two.rack");
    kdc.start().unwrap();
    let ours = std::fs::read_to_string(realm.kdc.config()).unwrap();
    let theirs = std::fs::read_to_string(kdc.config()).unwrap();
    let (_, theirs) = theirs.split_once("[realms]\n").unwrap();
    let text = format!("{ours}{theirs}[domain_realm]\n{hosts}");
    Other { kdc, settings, config: realm.kdc.config(), text }
}

/// A node that has nothing but tickets that were got before.
pub(crate) fn with_tickets(realm: &Realm, node: u8, services: &[&str]) -> Settings {
    let settings = realm.node(node);
    let table = settings.store.key_table.clone().unwrap();
    let cache = format!("FILE:{}", realm.path(&format!("node-{node}.cache")).display());
    realm.kdc.ticket(Path::new(&table), &format!("host/127.0.0.{node}"), &cache, services).unwrap();
    let nothing = Some("FILE:/nonexistent/keytab".to_owned());
    let store = Store { client_key_table: nothing, ticket_cache: Some(cache), ..settings.store };
    Settings { store, ..settings }
}

/// Makes a node's clock wrong by some seconds, as far as others can see: what it writes into its tokens is the time of
/// its machine and the difference to the KDC's clock that its ticket cache remembers (MIT's "Credential cache file
/// format", header field 1).
fn set_clock(cache: &Path, seconds: i32) {
    let mut bytes = std::fs::read(cache).unwrap();
    let header = [5, 4, 0, 12, 0, 1, 0, 8];
    assert_eq!(bytes[..8], header, "version 4 with a header that has the difference alone");
    bytes[8..12].copy_from_slice(&seconds.to_be_bytes());
    std::fs::write(cache, bytes).unwrap();
}
