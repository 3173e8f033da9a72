use std::net::Ipv4Addr;
use std::time::Duration;

use imex_core::PeerMessage;
use imex_core::cause::Violation;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Status, Streaming};

use super::*;
use crate::accept;
use crate::proto::PeerFrame;
use crate::proto::peer_server::{Peer, PeerServer};
use crate::samples::{hello_of, one_hello};

/// Far more than anything here takes; a test that waits longer has found a fault.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_link_can_be_opened_to_any_grpc_server() {
    let (listener, target) = listening().await;
    let server = tonic::transport::Server::builder().add_service(PeerServer::new(Mirror));
    let server = tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    let Dialled::Admitted { hello, mut link, .. } = dialled(target).await.unwrap() else { panic!("refused") };
    assert_eq!(*hello, hello_of(1, 10), "a mirror shows one's own face");
    link.sender.send(&PeerMessage::Ping(3)).unwrap();
    assert_eq!(timeout(PATIENCE, link.receiver.recv()).await.unwrap(), Ok(PeerMessage::Ping(3)));
    server.abort();
}

#[tokio::test]
async fn a_grpc_server_without_peer_links_is_told_from_a_lost_connection() {
    let (listener, target) = listening().await;
    let server = tonic::transport::Server::builder().add_service(PeerServer::new(Closed));
    let server = tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    let error = dialled(target).await.unwrap_err();
    assert_eq!(error.failure(), DialFailure::Violation(Violation::NoHello), "{error:?}");
    server.abort();
}

#[test]
fn a_link_local_source_takes_the_interface_of_its_peer() {
    let peer = SocketAddr::V6(SocketAddrV6::new("fe80::2".parse().unwrap(), 50_000, 0, 7));
    let source = any_port("fe80::1".parse().unwrap(), peer);
    assert_eq!(source.to_string(), "[fe80::1%7]:0");
}

#[tokio::test]
async fn a_refusal_is_an_answer() {
    let (listener, target) = listening().await;
    let refusing = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        accept(stream, LinkLimits::for_nodes(2)).await.unwrap().refuse(&Refusal::Leaving).await;
    });
    let answer = dialled(target).await.unwrap();
    assert!(matches!(answer, Dialled::Refused(Refusal::Leaving, None)), "{answer:?}");
    timeout(PATIENCE, refusing).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_closed_port_is_told_from_other_failures() {
    let (listener, target) = listening().await;
    drop(listener);
    let failure = dialled(target).await.unwrap_err().failure();
    assert_eq!(failure, DialFailure::Unreachable(Unreachable::PortClosed));
    let foreign = DialTarget { source: Some(Ipv4Addr::new(192, 0, 2, 1).into()), ..target };
    let failure = dialled(foreign).await.unwrap_err().failure();
    assert_eq!(failure, DialFailure::Unreachable(Unreachable::Local), "no address of this machine");
}

#[tokio::test]
async fn a_peer_that_hangs_up_or_talks_nonsense_is_told_apart() {
    let broken = DialFailure::Unreachable(Unreachable::Broken);
    let malformed = DialFailure::Violation(Violation::Malformed);
    for (answer, wanted) in [
        (&b""[..], broken),
        (b"SSH-2.0-OpenSSH_9.6\r\n", malformed),
        (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", malformed),
        (&[0xff; 64], malformed),
    ] {
        let (listener, target) = listening().await;
        let peer = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            // Takes what there is, so that closing is no reset.
            let _ = stream.read(&mut [0; 1024]).await;
            stream.write_all(answer).await.unwrap();
        });
        assert_eq!(dialled(target).await.unwrap_err().failure(), wanted);
        peer.await.unwrap();
    }
}

#[tokio::test]
async fn a_dial_comes_from_the_address_it_is_told() {
    let (listener, target) = listening().await;
    let source = Ipv4Addr::new(127, 0, 0, 77).into();
    let hello = one_hello();
    let dialling = dial(DialTarget { source: Some(source), ..target }, &hello, LinkLimits::for_nodes(2));
    let accepting = async {
        let (_stream, remote) = listener.accept().await.unwrap();
        remote.ip()
    };
    let (_, from) = timeout(PATIENCE, async { tokio::join!(dialling, accepting) }).await.unwrap();
    assert_eq!(from, source);
}

#[tokio::test]
async fn a_dial_that_is_given_up_closes_its_connection() {
    let (listener, target) = listening().await;
    let hello = one_hello();
    let dialling = timeout(Duration::from_millis(50), dial(target, &hello, LinkLimits::for_nodes(2)));
    let (given_up, accepted) = tokio::join!(dialling, listener.accept());
    assert!(given_up.is_err());
    let (mut stream, _) = accepted.unwrap();
    let mut all = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut all)).await.expect("closed").unwrap();
    assert!(all.starts_with(b"PRI * HTTP/2.0"), "the request had left");
}

async fn dialled(target: DialTarget) -> Result<Dialled, DialError> {
    timeout(PATIENCE, dial(target, &hello_of(1, 10), LinkLimits::for_nodes(2))).await.expect("in time")
}

async fn listening() -> (TcpListener, DialTarget) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, DialTarget { address, source: None })
}

/// Sends everything back.
#[derive(Debug)]
struct Mirror;

#[tonic::async_trait]
impl Peer for Mirror {
    type LinkStream = Streaming<PeerFrame>;

    async fn link(
        &self,
        request: tonic::Request<Streaming<PeerFrame>>,
    ) -> Result<tonic::Response<Self::LinkStream>, Status> {
        Ok(tonic::Response::new(request.into_inner()))
    }
}

/// Takes no calls.
#[derive(Debug)]
struct Closed;

#[tonic::async_trait]
impl Peer for Closed {
    type LinkStream = Streaming<PeerFrame>;

    async fn link(
        &self,
        _: tonic::Request<Streaming<PeerFrame>>,
    ) -> Result<tonic::Response<Self::LinkStream>, Status> {
        Err(Status::unimplemented("no links here"))
    }
}
