use imex_core::cause::Violation;
use proptest::prelude::*;
use prost::Message;

use super::*;
use crate::samples;

proptest! {
    #[test]
    fn every_frame_comes_back_as_itself(frame in samples::frame()) {
        prop_assert_eq!(decode_frame(&encode_frame(&frame)), Ok(frame));
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        let _ = decode_frame(&bytes);
    }

    #[test]
    fn a_damaged_frame_is_decoded_or_refused(frame in samples::frame(), at: prop::sample::Index, to: u8) {
        let mut bytes = encode_frame(&frame);
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = to;
        }
        if let Ok(frame) = decode_frame(&bytes) {
            // Whatever passes is within its bounds, so it can be sent on.
            prop_assert_eq!(decode_frame(&encode_frame(&frame)), Ok(frame));
        }
    }

    #[test]
    fn no_frame_exceeds_the_limits_of_a_link(frame in samples::frame()) {
        let cells = match &frame {
            Frame::Message(PeerMessage::Row { links, .. }) => links.len(),
            Frame::Message(_) | Frame::Hello(..) | Frame::Refusal(..) => 0,
        };
        prop_assert!(encode_frame(&frame).len() <= crate::LinkLimits::for_nodes(cells).message());
    }
}

#[test]
fn a_frame_without_known_content_is_refused() {
    assert_eq!(decode_frame(&[]), Err(FrameError::Empty));
    // Field 15, a number: from a later version.
    assert_eq!(decode_frame(&[15 << 3, 1]), Err(FrameError::Empty));
}

#[test]
fn unknown_fields_are_ignored() {
    let mut bytes = Vec::new();
    let ping = [8, 7, 15 << 3, 1];
    bytes.extend([4 << 3 | 2, 4]);
    bytes.extend(ping);
    assert_eq!(decode_frame(&bytes), Ok(Frame::Message(PeerMessage::Ping(7))));
}

#[test]
fn a_hello_is_refused_at_each_bound() {
    type Change = fn(&mut proto::Hello);
    let changes: [(Change, &str); 9] = [
        (|hello| hello.node = 65_534, "node is 65534, not in 0 to 65533"),
        (|hello| hello.instance = vec![1; 15], "instance has 15 bytes instead of 16"),
        (|hello| hello.boot = vec![], "boot has 0 bytes instead of 16"),
        (|hello| hello.map_digest = vec![1; 33], "map digest has 33 bytes instead of 32"),
        (
            |hello| hello.software = String::new(),
            "software version \"\" is not 1 to 64 printable ASCII characters",
        ),
        (
            |hello| hello.driver = "\u{1b}[2J".into(),
            "driver version \"\\u{1b}[2J\" is not 1 to 64 printable ASCII characters",
        ),
        (
            |hello| hello.driver = "x".repeat(65),
            "driver version \"xxxxxxxxxxxxxxxx\" is not 1 to 64 printable ASCII characters",
        ),
        (
            |hello| hello.domain_token = "a b".into(),
            "domain token has ' ' at byte 1, only printable ASCII without blanks is allowed",
        ),
        (
            |hello| hello.host_name = "a\n".into(),
            "host name \"a\\n\" is not at most 253 printable ASCII characters",
        ),
    ];
    for (change, wanted) in changes {
        let mut hello = hello_out(&samples::one_hello());
        change(&mut hello);
        assert_eq!(refused(Content::Hello(hello)), wanted);
    }
}

#[test]
fn a_credential_is_refused_over_its_bound_in_a_hello_and_in_a_refusal() {
    let mut hello = hello_out(&samples::one_hello());
    hello.credential = vec![1; Credential::MAX_BYTES + 1];
    let long = refused(Content::Hello(hello.clone()));
    assert_eq!(long, "credential has 2049 bytes, at most 2048 are allowed");
    let refusal = proto::Refusal {
        by: Some(hello),
        ..refusal_out(&Refusal::NotAtItsAddress { by: Arc::new(samples::one_hello()) })
    };
    assert_eq!(refused(Content::Refusal(refusal)), long);
}

#[test]
fn a_refusal_is_refused_at_each_bound() {
    let by = Arc::new(samples::one_hello());
    let refusal = Refusal::Map { by, entries: Arc::new(["a".to_owned()]), len: 1 };
    type Change = fn(&mut proto::Refusal);
    let changes: [(Change, &str); 8] = [
        (|refusal| refusal.reason = 0, "reason has the unknown number 0"),
        (|refusal| refusal.reason = 99, "reason has the unknown number 99"),
        (|refusal| refusal.by = None, "by is missing"),
        (|refusal| refusal.map_len = 0, "map length is 0, not in 1 to 65534"),
        (|refusal| refusal.map_len = 65_535, "map length is 65535, not in 1 to 65534"),
        (|refusal| refusal.map_entries = vec!["\u{7}".into()], "map entry holds a control character"),
        (
            |refusal| refusal.map_entries = vec!["x".repeat(254)],
            "map entry has 254 bytes, at most 253 are allowed",
        ),
        (
            |refusal| {
                refusal.map_entries = vec!["x".repeat(253); 130];
                refusal.map_len = 130;
            },
            "map entries has 32890 bytes, at most 32768 are allowed",
        ),
    ];
    for (change, wanted) in changes {
        let mut refusal = refusal_out(&refusal);
        change(&mut refusal);
        assert_eq!(refused(Content::Refusal(refusal)), wanted);
    }
}

#[test]
fn a_node_does_not_call_itself_unavailable_nor_its_own_cells_invalid() {
    let report = |state: proto::NodeState, number| {
        Content::Report(proto::Report { number, state: state.into(), missing: 0 })
    };
    assert_eq!(refused(report(proto::NodeState::Unavailable, 1)), "node state has the unknown number 8");
    assert_eq!(refused(report(proto::NodeState::Unspecified, 1)), "node state has the unknown number 0");
    assert_eq!(
        refused(report(proto::NodeState::Ready, 0)),
        "report number is 0, not in 1 to 18446744073709551615"
    );
    assert_eq!(refused(row(proto::LinkState::Invalid, None)), "link state has the unknown number 1");
}

#[test]
fn a_cell_is_refused_at_each_bound() {
    let cause = |change: fn(&mut proto::Cause)| {
        let mut cause = proto::Cause { kind: proto::cause::Kind::Silent.into(), ..Default::default() };
        change(&mut cause);
        Some(cause)
    };
    let state = proto::LinkState::Disconnected;
    assert_eq!(
        refused(row(proto::LinkState::Connected, cause(|_| ()))),
        "cause is set where it has no meaning"
    );
    assert_eq!(refused(row(state, cause(|cause| cause.kind = 0))), "cause has the unknown number 0");
    assert_eq!(refused(row(state, cause(|cause| cause.kind = 99))), "cause has the unknown number 99");
    let long = cause(|cause| {
        cause.set_kind(proto::cause::Kind::VersionDiffers);
        cause.ours = "x".repeat(129);
    });
    assert_eq!(refused(row(state, long)), "ours has 129 bytes, at most 128 are allowed");
    let many = cause(|cause| {
        cause.set_kind(proto::cause::Kind::MapDiffers);
        cause.differences = vec![proto::MapDifference::default(); 5];
    });
    assert_eq!(refused(row(state, many)), "differences has 5 elements, at most 4 are allowed");
}

#[test]
fn a_row_longer_than_any_map_is_refused() {
    let link = proto::Link { state: proto::LinkState::Connected.into(), cause: None, since_ms: 0 };
    let row = |len| {
        let links = vec![link.clone(); len];
        Content::Row(proto::Row { question: 1, state: proto::NodeState::Ready.into(), links })
    };
    assert!(decode_frame(&frame_of(row(NodeMap::MAX_ENTRIES)).encode_to_vec()).is_ok());
    assert_eq!(refused(row(NodeMap::MAX_ENTRIES + 1)), "row has 65535 elements, at most 65534 are allowed");
}

#[test]
fn every_unreadable_frame_is_a_malformed_one_to_the_core() {
    let breach = crate::Breach::Frame(FrameError::Empty);
    assert_eq!(breach.violation(), Violation::Malformed);
}

fn row(state: proto::LinkState, cause: Option<proto::Cause>) -> Content {
    let links = vec![proto::Link { state: state.into(), cause, since_ms: 0 }];
    Content::Row(proto::Row { question: 1, state: proto::NodeState::Ready.into(), links })
}

fn refused(content: Content) -> String {
    let bytes = frame_of(content).encode_to_vec();
    decode_frame(&bytes).expect_err("out of bounds").to_string()
}
