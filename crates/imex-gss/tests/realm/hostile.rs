//! Somebody on the wire who changes, repeats, leaves out and invents.

use std::time::Duration;

use imex_gss::frame::{self, FrameError, Spoken};
use imex_gss::stream::StreamError;
use imex_gss::{AuthError, Fault, GssStream, Kerberos, Protection, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::story::{chain, failure, load, tell};

const LONG: Duration = Duration::from_secs(36_000);

#[test]
fn a_token_that_comes_again_is_refused() {
    tell(LONG, |realm| async move {
        let (two, three) = (load(realm.node(2)), load(realm.node(3)));
        let (mut wire, _near, _far) = tapped(&two, &three).await;
        let first = std::mem::take(&mut wire.from_initiator);
        // Nor by a daemon that was restarted since.
        for three in [three, load(realm.node(3))] {
            let (mut again, far) = tokio::io::duplex(1 << 16);
            again.write_all(&first).await.unwrap();
            let error = failure(three.accept(far).await);
            assert_eq!(error.fault(), Some(Fault::Replay), "{}", chain(&error));
        }
        // It is remembered where the environment says, which matters where /var/tmp cannot be written to.
        let remembered = std::fs::read_dir(realm.path(".")).unwrap().filter_map(Result::ok);
        assert!(
            remembered.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().contains("rcache"))
        );
    });
}

#[test]
fn a_token_for_one_node_is_no_use_at_another() {
    tell(LONG, |realm| async move {
        let (two, three, four) = (load(realm.node(2)), load(realm.node(3)), load(realm.node(4)));
        let (wire, _near, _far) = tapped(&two, &three).await;
        let (mut again, far) = tokio::io::duplex(1 << 16);
        again.write_all(&wire.from_initiator).await.unwrap();
        let error = failure(four.accept(far).await);
        assert!(matches!(error.fault(), Some(Fault::NoKey | Fault::WrongKey)), "{}", chain(&error));
    });
}

#[test]
fn a_record_that_is_changed_repeated_or_left_out_ends_the_stream() {
    tell(LONG, |realm| async move {
        for protection in [Protection::Integrity, Protection::Privacy] {
            let node = |node| load(Settings { protection, ..realm.node(node) });
            let (two, three) = (node(2), node(3));
            let cases: [(&str, Meddle, Fault); 4] = [
                ("changed", changed, Fault::BadToken),
                ("repeated", |records| [&records[0][..], &records[0]].concat(), Fault::Replay),
                ("left out", |records| records[1].clone(), Fault::OutOfOrder),
                ("swapped", |records| [&records[1][..], &records[0]].concat(), Fault::OutOfOrder),
            ];
            for (what, meddle, fault) in cases {
                let (mut wire, mut near, mut far) = tapped(&two, &three).await;
                let mut records = Vec::new();
                for text in ["first", "second"] {
                    near.write_all(text.as_bytes()).await.unwrap();
                    records.push(wire.take_record().await);
                }
                wire.to_acceptor.write_all(&meddle(records)).await.unwrap();
                let mut came = vec![0; 11];
                let error = far.read_exact(&mut came).await.unwrap_err();
                let why = error.get_ref().and_then(|why| why.downcast_ref::<StreamError>());
                let Some(StreamError::Record(why)) = why else { panic!("{what}: {error:?}") };
                assert_eq!(why.fault(), fault, "{what}: {why}");
            }
        }
    });
}

#[test]
fn a_peer_that_wants_less_protection_is_refused_and_both_know_why() {
    tell(LONG, |realm| async move {
        let two = load(Settings { protection: Protection::Integrity, ..realm.node(2) });
        let three = load(realm.node(3));
        let (near, far) = super::story::meet(&two, &three).await;
        let (ours, theirs) = (Protection::Privacy, Protection::Integrity);
        assert_eq!(failure(far), AuthError::Frame(FrameError::OtherProtection { ours, theirs }));
        assert_eq!(failure(near).to_string(), "be accepted by the peer: it wants another protection");
    });
}

#[test]
fn a_preface_that_is_changed_on_its_way_is_found_out() {
    tell(LONG, |realm| async move {
        let two = load(Settings { protection: Protection::Integrity, ..realm.node(2) });
        let three = load(realm.node(3));
        let (near, mut wire) = tokio::io::duplex(1 << 16);
        let (mut on, far) = tokio::io::duplex(1 << 16);
        let meddle = async {
            let mut preface = [0; frame::PREFACE];
            wire.read_exact(&mut preface).await.unwrap();
            on.write_all(&frame::preface(Protection::Privacy)).await.unwrap();
            tokio::io::copy_bidirectional(&mut wire, &mut on).await.ok();
        };
        let (near, far, ()) = tokio::join!(two.initiate(near, "127.0.0.3"), three.accept(far), meddle);
        let error = failure(far);
        assert_eq!(error.fault(), Some(Fault::OtherBinding), "{}", chain(&error));
        failure(near);
    });
}

#[test]
fn what_is_no_authentication_is_refused_at_its_first_bytes() {
    tell(LONG, |realm| async move {
        let three = load(realm.node(3));
        let token = |length: [u8; 3]| [&frame::preface(Protection::Privacy)[..], &[1], &length].concat();
        let cases: [(&str, Vec<u8>, Judge); 6] = [
            ("plain", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), |error| {
                matches!(error, AuthError::Frame(FrameError::OtherProtocol(Spoken::Plain)))
            }),
            ("oversized", token([2, 0, 0]), |error| {
                matches!(error, AuthError::Frame(FrameError::Length { .. }))
            }),
            ("truncated", [token([0, 4, 0]), vec![0x60; 100]].concat(), |error| {
                matches!(error, AuthError::Broken(_))
            }),
            ("garbage", [token([0, 0, 100]), vec![0x60; 100]].concat(), |error| {
                error.fault() == Some(Fault::BadToken)
            }),
            (
                "a record first",
                [&frame::preface(Protection::Privacy)[..], &[3, 0, 0, 1, 0]].concat(),
                |error| matches!(error, AuthError::Frame(FrameError::Unexpected { .. })),
            ),
            ("nothing", Vec::new(), |error| matches!(error, AuthError::Broken(_))),
        ];
        for (what, bytes, is_right) in cases {
            let (mut stranger, far) = tokio::io::duplex(1 << 17);
            let speak = async move {
                stranger.write_all(&bytes).await.unwrap();
                stranger.shutdown().await.unwrap();
                let mut answer = Vec::new();
                stranger.read_to_end(&mut answer).await.ok();
            };
            let (end, ()) = tokio::join!(three.accept(far), speak);
            let error = failure(end);
            assert!(is_right(&error), "{what}: {}", chain(&error));
        }
    });
}

/// What somebody on the wire makes of two records.
type Meddle = fn(Vec<Vec<u8>>) -> Vec<u8>;

/// Whether an error is the right one.
type Judge = fn(&AuthError) -> bool;

/// What passed on a link whose wire is in somebody's hands.
struct Wire {
    from_initiator: Vec<u8>,
    near: DuplexStream,
    to_acceptor: DuplexStream,
}

impl Wire {
    /// Takes the next record from the initiator off the wire.
    async fn take_record(&mut self) -> Vec<u8> {
        let mut record = vec![0; frame::HEADER];
        self.near.read_exact(&mut record).await.unwrap();
        let header = frame::Header::parse(record[..].try_into().unwrap()).unwrap();
        record.resize(frame::HEADER + header.length, 0);
        self.near.read_exact(&mut record[frame::HEADER..]).await.unwrap();
        record
    }
}

type Stream = GssStream<DuplexStream>;

/// An established link, and the wire between its ends with what the initiator has sent.
async fn tapped(initiator: &Kerberos, acceptor: &Kerberos) -> (Wire, Stream, Stream) {
    let (near_end, mut near) = tokio::io::duplex(1 << 16);
    let (mut to_acceptor, far_end) = tokio::io::duplex(1 << 16);
    let mut from_initiator = Vec::new();
    let carry = async {
        let mut first = vec![0; 1 << 16];
        let length = near.read(&mut first).await.unwrap();
        from_initiator.extend_from_slice(&first[..length]);
        to_acceptor.write_all(&from_initiator).await.unwrap();
        let length = to_acceptor.read(&mut first).await.unwrap();
        near.write_all(&first[..length]).await.unwrap();
    };
    let host = &acceptor.settings().host;
    let (near_stream, far_stream, ()) =
        tokio::join!(initiator.initiate(near_end, host), acceptor.accept(far_end), carry);
    (Wire { from_initiator, near, to_acceptor }, near_stream.unwrap(), far_stream.unwrap())
}

fn changed(mut records: Vec<Vec<u8>>) -> Vec<u8> {
    let mut record = records.swap_remove(0);
    *record.last_mut().unwrap() ^= 1;
    record
}
