use std::future::pending;

use imex_core::hello::{Introduction, PROTOCOL_VERSION};
use imex_core::{BootId, DomainToken, InstanceId, NodeMap};

use super::*;
use crate::clock::Clock;

#[tokio::test]
async fn a_place_that_is_being_freed_is_waited_for_before_anybody_is_put_out() {
    let mut door = door().await;
    let (guest, mut held) = fill(&mut door);
    let last = held.pop().unwrap();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(1)).await;
        drop(last);
    });
    assert!(door.place(Whereabouts::Node).await.is_some());
    tokio::task::yield_now().await;
    assert!(!guest.is_finished(), "somebody was put out though a place came free");
}

#[tokio::test]
async fn a_node_gets_the_place_of_whoever_waits_and_others_do_not() {
    let mut door = door().await;
    let (guest, _held) = fill(&mut door);
    assert!(door.place(Whereabouts::Foreign).await.is_none());
    assert!(door.place(Whereabouts::Unknown { unresolved: 1 }).await.is_none());
    assert!(!guest.is_finished());
    assert!(door.place(Whereabouts::Node).await.is_some());
    assert!(guest.is_finished());
}

/// Takes every place; one of them is held by a node that has not introduced itself.
fn fill(door: &mut Door) -> (tokio::task::AbortHandle, Vec<OwnedSemaphorePermit>) {
    let mut held = Vec::new();
    while let Ok(place) = Arc::clone(&door.places).try_acquire_owned() {
        held.push(place);
    }
    let place = held.pop().unwrap();
    let guest = tokio::spawn(async move {
        let _place = place;
        pending::<()>().await;
    });
    let from = Ipv4Addr::LOCALHOST.into();
    door.lobby.take(from, Whereabouts::Node, guest.abort_handle());
    (guest.abort_handle(), held)
}

async fn door() -> Door {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let map = NodeMap::new(["127.0.0.1"]).unwrap();
    let hello = Hello::check(Introduction {
        protocol: PROTOCOL_VERSION,
        software: "test".into(),
        driver: Hello::NO_GPU.into(),
        node: NodeId::new(0),
        instance: InstanceId::new(7),
        boot: BootId::default(),
        digest: map.digest(),
        token: DomainToken::default(),
        host: "".into(),
    });
    let (outlet, _) = Outlet::queue(Clock::start());
    let reception = Reception {
        fence: Fence::Open,
        neighbours: Neighbours::default(),
        hello: Arc::new(hello.unwrap()),
        limits: LinkLimits::for_nodes(1),
        outlet,
    };
    Door::new(listener, 1, reception)
}
