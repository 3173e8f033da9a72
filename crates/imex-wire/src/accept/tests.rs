use std::net::SocketAddr;
use std::time::Duration;

use imex_core::{NodeMap, PeerMessage};
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tonic::transport::Channel;

use super::*;
use crate::link::LinkEnd;
use crate::proto::peer_client::PeerClient;
use crate::proto::peer_frame::Content;
use crate::proto::{self, PeerFrame};
use crate::samples::{hello_of, one_hello};

/// Far more than anything here takes; a test that waits longer has found a fault.
const PATIENCE: Duration = Duration::from_secs(60);

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

#[tokio::test]
async fn any_grpc_client_can_open_a_link() {
    let (address, accepted) = accept_one().await;
    let first = [hello_frame(), ping_frame(5)];
    let (frames, answers) = call(address, &first).await;
    let mut link = timeout(PATIENCE, accepted).await.unwrap().unwrap().unwrap().admit(&hello_of(2, 20));
    let served = tokio::spawn(async move {
        let received = link.receiver.recv().await;
        link.sender.send(&PeerMessage::Pong(5)).unwrap();
        drop(link.sender);
        (received, link.receiver.recv().await)
    });
    let mut answers = answers.await.unwrap();
    assert_eq!(answers.message().await.unwrap(), Some(peer::hello_frame(&hello_of(2, 20), None)));
    assert_eq!(answers.message().await.unwrap(), Some(peer::message_frame(&PeerMessage::Pong(5))));
    assert_eq!(answers.message().await.unwrap(), None, "the stream ends with status OK");
    drop((frames, answers));
    let (received, end) = timeout(PATIENCE, served).await.unwrap().unwrap();
    assert_eq!(received, Ok(PeerMessage::Ping(5)));
    assert_eq!(end, Err(LinkEnd::Finished));
}

#[tokio::test]
async fn a_refusal_reaches_any_grpc_client_and_closes_the_connection() {
    let (address, accepted) = accept_one().await;
    let (_frames, answers) = call(address, &[hello_frame()]).await;
    let incoming = timeout(PATIENCE, accepted).await.unwrap().unwrap().unwrap();
    let by = Arc::new(one_hello());
    let entries = vec!["x".repeat(NodeMap::MAX_ENTRY_BYTES); 129].into();
    let refusal = Refusal::Map { by, entries, len: 65_534 };
    let wanted = peer::refusal_frame(&refusal, None);
    let refused = tokio::spawn(async move { incoming.refuse(&refusal).await });
    let mut answers = answers.await.unwrap();
    assert_eq!(answers.message().await.unwrap(), Some(wanted));
    assert_eq!(answers.message().await.unwrap(), None);
    timeout(PATIENCE, refused).await.unwrap().unwrap();
}

#[tokio::test]
async fn only_a_hello_within_its_bounds_opens_a_link() {
    let mut foreign = hello_frame();
    let Some(Content::Hello(hello)) = &mut foreign.content else { panic!("no hello") };
    hello.node = 65_534;
    let mut large = hello_frame();
    let Some(Content::Hello(hello)) = &mut large.content else { panic!("no hello") };
    hello.software = "x".repeat(5_000);
    let refusal = peer::refusal_frame(&Refusal::Leaving, None);
    for (first, word) in [
        (ping_frame(1), "no-hello"),
        (refusal, "stray-refusal"),
        (foreign, "malformed"),
        (large, "too-large"),
        (PeerFrame { content: None }, "malformed"),
    ] {
        let (address, accepted) = accept_one().await;
        let (_frames, _answers) = call(address, &[first]).await;
        let error = timeout(PATIENCE, accepted).await.unwrap().unwrap().unwrap_err();
        assert_eq!(name(&error), word, "{error:?}");
    }
}

#[tokio::test]
async fn a_second_hello_and_a_late_refusal_end_the_link() {
    let refusal = peer::refusal_frame(&Refusal::Leaving, None);
    for (second, breach) in [(hello_frame(), Breach::SecondHello), (refusal, Breach::StrayRefusal)] {
        let (address, accepted) = accept_one().await;
        let (_frames, _answers) = call(address, &[hello_frame(), second]).await;
        let mut link = timeout(PATIENCE, accepted).await.unwrap().unwrap().unwrap().admit(&one_hello());
        let end = timeout(PATIENCE, link.receiver.recv()).await.unwrap();
        assert_eq!(end, Err(LinkEnd::Breach(breach)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_connection_is_closed_at_the_deadline() {
    for sent in [&b""[..], &PREFACE[..10], PREFACE] {
        let (address, accepted) = accept_one().await;
        let mut peer = TcpStream::connect(address).await.unwrap();
        peer.write_all(sent).await.unwrap();
        let error = accepted.await.unwrap().unwrap_err();
        assert_eq!(name(&error), "silent", "{error:?}");
        let mut rest = Vec::new();
        // What was held back is given up with the connection.
        let _ = peer.read_to_end(&mut rest).await;
    }
}

#[tokio::test]
async fn what_is_no_link_is_closed_and_named() {
    let headers = |flags: u8, kind: u8, block: &[u8]| {
        let len = u8::try_from(block.len()).unwrap();
        [&[0, 0, len, kind, flags, 0, 0, 0, 1], block].concat()
    };
    // A header block that never ends: literal fields, new names, in one HEADERS and very many CONTINUATION frames.
    let field = [&[0x00, 0x40][..], &[b'a'; 64], &[0x40], &[b'b'; 64]].concat();
    let mut endless = [PREFACE, &headers(0, 1, &field)].concat();
    endless.extend((0..2_000).flat_map(|_| headers(0, 9, &field)));
    // `:method GET`, `:scheme http`, `:path /`, by the static table of RFC 7541, and END_HEADERS.
    let other = [PREFACE, &headers(4, 1, &[0x82, 0x86, 0x84, 0x41, 1, b'x'])].concat();
    for (sent, word) in [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), "no-http2"),
        (vec![0x16; 300], "no-http2"),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n\r\n\r\n".to_vec(), "no-http2"),
        ([PREFACE, &[0xff; 64]].concat(), "no-http2"),
        (endless, "no-http2"),
        (other, "other-call"),
    ] {
        let (address, accepted) = accept_one().await;
        let mut peer = TcpStream::connect(address).await.unwrap();
        // It may be cut off before it has said everything.
        let _ = peer.write_all(&sent).await;
        let error = timeout(PATIENCE, accepted).await.unwrap().unwrap().unwrap_err();
        assert_eq!(name(&error), word, "{error:?} for {:?}", sent.get(..40));
    }
}

#[tokio::test]
async fn a_peer_that_hangs_up_is_told_from_one_that_is_silent() {
    for sent in [&b""[..], &PREFACE[..10], PREFACE] {
        let (address, accepted) = accept_one().await;
        let mut peer = TcpStream::connect(address).await.unwrap();
        peer.write_all(sent).await.unwrap();
        drop(peer);
        let error = timeout(PATIENCE, accepted).await.unwrap().unwrap().unwrap_err();
        assert_eq!(name(&error), "ended", "{error:?} after {} bytes", sent.len());
    }
}

#[tokio::test]
async fn a_second_call_on_a_connection_ends_it() {
    let (address, accepted) = accept_one().await;
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut requests, connection) = h2::client::handshake(stream).await.unwrap();
    let request = || {
        let request = Request::post("http://imex/imex.v1.Peer/Link").header(CONTENT_TYPE, "application/grpc");
        request.body(()).unwrap()
    };
    // Both leave before the settings, which allow only one, have come.
    let (_answer, mut frames) = requests.send_request(request(), false).unwrap();
    frames.send_data(framed(&hello_frame()), false).unwrap();
    let _second = requests.send_request(request(), false).unwrap();
    let driver = tokio::spawn(connection);
    let breach = match timeout(PATIENCE, accepted).await.unwrap().unwrap() {
        Err(AcceptError::Breach(breach)) => breach,
        Err(other) => panic!("{other:?}"),
        Ok(incoming) => {
            let mut link = incoming.admit(&one_hello());
            match timeout(PATIENCE, link.receiver.recv()).await.unwrap() {
                Err(LinkEnd::Breach(breach)) => breach,
                other => panic!("{other:?}"),
            }
        }
    };
    assert!(matches!(breach, Breach::Http2 { .. }), "{breach:?}");
    driver.abort();
}

/// What an error is, without its details.
fn name(error: &AcceptError) -> &'static str {
    match error {
        AcceptError::Socket(_) => "socket",
        AcceptError::TimedOut => "silent",
        AcceptError::Ended => "ended",
        AcceptError::Breach(Breach::Http2 { .. }) => "no-http2",
        AcceptError::Breach(Breach::OtherCall { .. }) => "other-call",
        AcceptError::Breach(Breach::OtherAnswer { .. }) => "other-answer",
        AcceptError::Breach(Breach::NoAnswer) => "no-answer",
        AcceptError::Breach(Breach::Compressed) => "compressed",
        AcceptError::Breach(Breach::TooLarge { .. }) => "too-large",
        AcceptError::Breach(Breach::Frame(_)) => "malformed",
        AcceptError::Breach(Breach::NoHello) => "no-hello",
        AcceptError::Breach(Breach::SecondHello) => "second-hello",
        AcceptError::Breach(Breach::StrayRefusal) => "stray-refusal",
    }
}

/// A listener that takes one connection.
async fn accept_one() -> (SocketAddr, JoinHandle<Result<Incoming, AcceptError>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let accepted = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        accept(stream, LinkLimits::for_nodes(18)).await
    });
    (address, accepted)
}

type Frames = tokio::sync::mpsc::Sender<PeerFrame>;
type Answers = JoinHandle<tonic::Streaming<PeerFrame>>;

/// A link as the ordinary gRPC client makes it.
async fn call(address: SocketAddr, first: &[PeerFrame]) -> (Frames, Answers) {
    let channel = Channel::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
    let (frames, outgoing) = tokio::sync::mpsc::channel(8);
    for frame in first {
        assert!(frame.encoded_len() < 6_000);
        frames.send(frame.clone()).await.unwrap();
    }
    let outgoing = tokio_stream::wrappers::ReceiverStream::new(outgoing);
    let answers =
        tokio::spawn(async move { PeerClient::new(channel).link(outgoing).await.unwrap().into_inner() });
    (frames, answers)
}

fn hello_frame() -> PeerFrame {
    peer::hello_frame(&one_hello(), None)
}

fn ping_frame(number: u64) -> PeerFrame {
    PeerFrame { content: Some(Content::Ping(proto::Ping { number })) }
}
