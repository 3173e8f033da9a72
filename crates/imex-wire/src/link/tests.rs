use std::sync::Arc;
use std::time::Duration;

use imex_core::message::Report;
use imex_core::{Cause, LinkReport, LinkState, MapDifference, NodeMap, NodeState};
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::*;
use crate::samples::hello_of;
use crate::{DialTarget, Dialled, accept, dial};

/// Far more than anything here takes; a test that waits longer has found a fault.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn messages_arrive_in_order_both_ways() {
    let (mut dialled, mut accepted) = pair(18).await;
    for number in 1..=100 {
        dialled.sender.send(&PeerMessage::Ping(number)).unwrap();
    }
    for number in 1..=100 {
        assert_eq!(exchange(&mut accepted, &mut dialled).await, Ok(PeerMessage::Ping(number)));
    }
    for number in 1..=100 {
        accepted.sender.send(&PeerMessage::Pong(number)).unwrap();
    }
    for number in 1..=100 {
        assert_eq!(exchange(&mut dialled, &mut accepted).await, Ok(PeerMessage::Pong(number)));
    }
}

#[tokio::test]
async fn a_dropped_receiver_closes_the_link_at_once() {
    let (dialled, mut accepted) = pair(18).await;
    let Link { sender, receiver } = dialled;
    drop(receiver);
    assert_eq!(received(&mut accepted).await, Err(LinkEnd::Reset));
    assert_eq!(received(&mut accepted).await, Err(LinkEnd::Reset), "the end stays the same");
    assert_eq!(sender.send(&PeerMessage::Ping(1)), Err(SendError::Closed));
}

#[tokio::test]
async fn what_was_queued_before_the_last_sender_was_dropped_still_arrives() {
    for dialler_leaves in [true, false] {
        let (dialled, accepted) = pair(18).await;
        let (leaver, mut stayer) = if dialler_leaves { (dialled, accepted) } else { (accepted, dialled) };
        let Link { sender, mut receiver } = leaver;
        // Something unread on the leaver's side must not turn its farewell into a reset.
        stayer.sender.send(&PeerMessage::Ping(1)).unwrap();
        let farewell = PeerMessage::Leaving { instance: imex_core::InstanceId::new(7) };
        sender.clone().send(&farewell).unwrap();
        drop(sender);
        let leaving = tokio::spawn(async move {
            loop {
                if let Err(end) = receiver.recv().await {
                    return end;
                }
            }
        });
        assert_eq!(received(&mut stayer).await, Ok(farewell));
        assert_eq!(received(&mut stayer).await, Err(LinkEnd::Reset));
        drop(stayer);
        let end = timeout(PATIENCE, leaving).await.unwrap().unwrap();
        assert_eq!(end, LinkEnd::Finished);
        assert_eq!(end.closure(), None);
    }
}

#[tokio::test]
async fn a_peer_that_does_not_read_fills_the_queue_and_costs_no_more() {
    let (mut dialled, accepted) = pair(18).await;
    let report = PeerMessage::Report(Report { number: 1, state: NodeState::Ready, missing: 1 });
    let mut sent = 0;
    let full = loop {
        match dialled.sender.send(&report) {
            Ok(()) => sent += 1,
            Err(error) => break error,
        }
        if sent % 1000 == 0 {
            // Lets the link move what it can.
            let _ = timeout(Duration::from_millis(2), dialled.receiver.recv()).await;
        }
        assert!(sent < 1_000_000, "the queue has no bound");
    };
    assert_eq!(full, SendError::Full);
    drop(accepted);
}

#[tokio::test]
async fn the_row_of_a_large_map_passes_through_a_small_window() {
    const NODES: usize = 1_000;
    let (mut dialled, mut accepted) = pair(NODES).await;
    let row = PeerMessage::Row { question: 1, state: NodeState::Ready, links: largest_row(NODES) };
    dialled.sender.send(&row).unwrap();
    assert_eq!(exchange(&mut accepted, &mut dialled).await, Ok(row));
}

#[tokio::test]
async fn a_message_over_the_limit_ends_the_link() {
    let (mut large, mut accepted) = connect(LinkLimits::for_nodes(1_000), LinkLimits::for_nodes(1)).await;
    let row = PeerMessage::Row { question: 1, state: NodeState::Ready, links: largest_row(1_000) };
    large.sender.send(&row).unwrap();
    let end = exchange(&mut accepted, &mut large).await.unwrap_err();
    let wanted = LinkLimits::for_nodes(1).message();
    assert!(
        matches!(&end, LinkEnd::Breach(Breach::TooLarge { found, max }) if *found > 1_000_000 && *max == wanted),
        "{end:?}"
    );
}

#[tokio::test]
async fn cancelling_a_receive_loses_nothing() {
    let (mut dialled, mut accepted) = pair(18).await;
    for number in 0..50 {
        dialled.sender.send(&PeerMessage::Ping(number)).unwrap();
        let _ = timeout(Duration::from_micros(50), dialled.receiver.recv()).await;
    }
    for number in 0..50 {
        assert_eq!(exchange(&mut accepted, &mut dialled).await, Ok(PeerMessage::Ping(number)));
    }
}

fn largest_row(nodes: usize) -> Vec<LinkReport> {
    let entry = || Some("x".repeat(NodeMap::MAX_ENTRY_BYTES));
    let difference = MapDifference { index: 65_533, ours: entry(), theirs: entry() };
    let differences: Arc<[MapDifference]> = vec![difference; imex_core::timing::SHOWN_DIFFERENCES].into();
    let cell = LinkReport {
        state: LinkState::MapMismatch,
        cause: Some(Cause::MapDiffers { differences }),
        since: Duration::from_millis(u64::MAX),
    };
    vec![cell; nodes]
}

async fn pair(nodes: usize) -> (Link, Link) {
    let limits = LinkLimits::for_nodes(nodes);
    connect(limits, limits).await
}

/// The dialled and the accepted end of one link.
async fn connect(dialler: LinkLimits, acceptor: LinkLimits) -> (Link, Link) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let accepting = async {
        let (stream, _) = listener.accept().await.unwrap();
        let incoming = accept(stream, acceptor).await.unwrap();
        assert_eq!(**incoming.hello(), hello_of(1, 10));
        let mut link = incoming.admit(&hello_of(2, 20));
        // Drives the answer out until the dialler has it.
        link.sender.send(&PeerMessage::Ping(0)).unwrap();
        let end = timeout(PATIENCE, link.receiver.recv()).await.unwrap();
        assert_eq!(end, Ok(PeerMessage::Pong(0)));
        link
    };
    let dialling = async {
        let target = DialTarget { address, source: None };
        let Dialled::Admitted { hello, mut link, .. } =
            dial(target, &hello_of(1, 10), dialler).await.unwrap()
        else {
            panic!("refused");
        };
        assert_eq!(*hello, hello_of(2, 20));
        assert_eq!(received(&mut link).await, Ok(PeerMessage::Ping(0)));
        link.sender.send(&PeerMessage::Pong(0)).unwrap();
        let _ = timeout(Duration::from_millis(5), link.receiver.recv()).await;
        link
    };
    let (dialled, accepted) = tokio::join!(dialling, accepting);
    (dialled, accepted)
}

async fn received(link: &mut Link) -> Result<PeerMessage, LinkEnd> {
    timeout(PATIENCE, link.receiver.recv()).await.expect("in time")
}

/// What `to` receives while `from` is driven, too.
async fn exchange(to: &mut Link, from: &mut Link) -> Result<PeerMessage, LinkEnd> {
    timeout(PATIENCE, async {
        tokio::select! {
            biased;
            received = to.receiver.recv() => received,
            unexpected = from.receiver.recv() => panic!("{unexpected:?}"),
        }
    })
    .await
    .expect("in time")
}
