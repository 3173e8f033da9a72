//! When all is well.

use std::time::Duration;

use imex_gss::{AuthError, Fault, Protection, Settings, Store};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::story::{echo, failure, host, link, load, meet, tell};

const LONG: Duration = Duration::from_secs(36_000);

#[test]
fn two_nodes_know_each_other_and_talk() {
    tell(LONG, |realm| async move {
        for protection in [Protection::Integrity, Protection::Privacy] {
            let node = |node| load(Settings { protection, ..realm.node(node) });
            let (two, three) = (node(2), node(3));
            let (mut near, mut far) = link(&two, &three).await;
            assert_eq!(near.peer().principal(), "host/127.0.0.3@RACK.TEST");
            assert_eq!(far.peer().principal(), "host/127.0.0.2@RACK.TEST");
            far.peer().check(&three.expected(&host(2)).await.unwrap()).unwrap();
            echo(&mut near, &mut far, "hello").await;
            // More than one record, and more than the pipe takes at once.
            echo(&mut near, &mut far, &"0123456789abcdef".repeat(200_000)).await;
        }
    });
}

#[test]
fn a_node_dials_itself_too() {
    tell(LONG, |realm| async move {
        let two = load(realm.node(2));
        let (mut near, mut far) = link(&two, &two).await;
        echo(&mut near, &mut far, "hello").await;
    });
}

#[test]
fn what_is_private_cannot_be_read_on_the_wire_and_what_is_only_intact_can() {
    tell(LONG, |realm| async move {
        let secret = b"a secret of some length";
        for (protection, readable) in [(Protection::Privacy, false), (Protection::Integrity, true)] {
            let node = |node| load(Settings { protection, ..realm.node(node) });
            let (two, three) = (node(2), node(3));
            let (near, mut wire_near) = tokio::io::duplex(1 << 16);
            let (mut wire_far, far) = tokio::io::duplex(1 << 16);
            let authenticate = async { tokio::join!(two.initiate(near, "127.0.0.3"), three.accept(far)) };
            let carry = tokio::io::copy_bidirectional(&mut wire_near, &mut wire_far);
            let (mut near, _far) = tokio::select! {
                ends = authenticate => (ends.0.unwrap(), ends.1.unwrap()),
                _ = carry => unreachable!("both ends are open"),
            };
            near.write_all(secret).await.unwrap();
            near.flush().await.unwrap();
            let mut seen = vec![0; 4096];
            let length = wire_near.read(&mut seen).await.unwrap();
            let found = seen[..length].windows(secret.len()).any(|window| window == secret);
            assert_eq!(found, readable, "{protection:?}");
        }
    });
}

#[test]
fn a_node_that_is_told_to_reload_asks_the_kdc_again_and_keeps_nothing_of_before() {
    tell(LONG, |mut realm| async move {
        // The first cache of this process is number 0.
        let (two, three) = (load(realm.node(2)), load(realm.node(3)));
        link(&two, &three).await;
        realm.kdc.stop();
        // With the tickets that it has no KDC is needed, and they stay where there is none to give others.
        link(&two, &three).await;
        assert_eq!(two.reload().await.unwrap_err().fault(), Some(Fault::KdcUnreachable));
        link(&two, &three).await;
        realm.kdc.start().unwrap();
        two.reload().await.unwrap();
        realm.kdc.stop();
        let (near, _) = meet(&two, &three).await;
        assert_eq!(failure(near).fault(), Some(Fault::KdcUnreachable));
        // The cache of before is gone: whoever names it finds no ticket in it.
        let cache = Some("MEMORY:imexd-0".to_owned());
        let nothing = Some("FILE:/nonexistent/keytab".to_owned());
        let store = Store { ticket_cache: cache, client_key_table: nothing, ..realm.node(2).store };
        let (near, _) = meet(&load(Settings { store, ..realm.node(2) }), &three).await;
        assert!(matches!(failure(near).fault(), Some(Fault::NoCredential | Fault::NoKey)));
    });
}

#[test]
fn a_reload_without_the_key_changes_nothing() {
    tell(LONG, |realm| async move {
        let (two, three) = (load(realm.node(2)), load(realm.node(3)));
        link(&two, &three).await;
        let table = realm.node(2).store.key_table.unwrap();
        std::fs::rename(&table, realm.path("kept")).unwrap();
        assert!(matches!(two.reload().await, Err(AuthError::Key { .. })));
        link(&two, &three).await;
        std::fs::rename(realm.path("kept"), &table).unwrap();
        two.reload().await.unwrap();
        link(&two, &three).await;
        link(&three, &two).await;
    });
}
