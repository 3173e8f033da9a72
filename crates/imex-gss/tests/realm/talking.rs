//! When all is well.

use std::time::Duration;

use imex_gss::{Protection, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::story::{echo, host, link, load, tell};

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
